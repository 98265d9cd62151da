// Tables in memory: arrays of documents, sorted by id. A transaction keeps what it
// replaces, for its rollback.
#pragma once

#include "store/unit.h"

typedef struct Document {
  int64_t version;
  uint32_t schema;
  uint32_t id_size, value_size;
  char bytes[];  // id, then value
} Document;

/// A zeroed one is empty.
typedef struct Table {
  Document **documents;  // owned
  uint32_t count, capacity;
} Table;

typedef struct Change {
  Table *table;
  Document *before, *after;  // NULL: the document did not, or does not, exist
} Change;

/// The changes of the transaction.
typedef struct Changes {
  Change *list;
  uint32_t count, capacity;
} Changes;

static inline Text document_id(const Document *document) {
  return (Text){document->bytes, document->id_size};
}

static inline Text document_value(const Document *document) {
  return (Text){document->bytes + document->id_size, document->value_size};
}

/// Returns the document that a put writes.
Document *document_new(const StoreStep *step, int64_t version);

/// Compares ids by their bytes.
int memory_table_compare_ids(Text a, Text b);

/// Returns the position of the first document whose id is not before `id`.
uint32_t memory_table_position(const Table *table, Text id);

/// Returns NULL if the document does not exist.
Document *memory_table_find(const Table *table, Text id);

void memory_table_deinit(Table *table);

/// Replaces a document of the table by another one. NULL: no document.
void changes_make(Changes *changes, Table *table, Document *before, Document *after);

/// Undoes the changes behind the first `mark` ones.
void changes_undo(Changes *changes, uint32_t mark);

/// Ends the transaction. Its changes stay.
void changes_keep(Changes *changes);
