// Tables in memory: arrays of documents, sorted by id. A transaction stores the
// documents that it replaces, so that it can be rolled back.
#pragma once

#include "store/unit.h"

typedef struct Document {
  int64_t version;
  uint32_t schema;
  uint32_t id_size, value_size;
  char bytes[];  // the id, followed by the value
} Document;

/// A table. A zeroed one is empty.
typedef struct Table {
  Document **documents;  // owned
  uint32_t count, capacity;
} Table;

typedef struct Change {
  Table *table;
  Document *before, *after;  // document before the change; NULL: it did not exist
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

/// Returns the document that a put makes.
Document *document_new(const StoreStep *step, int64_t version);

/// Compares ids by their bytes.
int memory_table_compare_ids(Text a, Text b);

/// Returns the position of the first document whose id is `id` or greater.
uint32_t memory_table_position(const Table *table, Text id);

/// Returns a document, or NULL if it does not exist.
Document *memory_table_find(const Table *table, Text id);

void memory_table_deinit(Table *table);

/// Replaces the document `before` by `after` in the table. NULL means no document.
void changes_make(Changes *changes, Table *table, Document *before, Document *after);

/// Undoes all changes except the first `mark` ones.
void changes_undo(Changes *changes, uint32_t mark);

/// Ends the transaction and keeps its changes.
void changes_keep(Changes *changes);
