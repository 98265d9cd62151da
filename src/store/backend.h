// A back end keeps the documents: SQLite, PostgreSQL, or memory in a simulation. Only the
// store's thread calls it after `open`, so none of them has locks.
#pragma once

#include "store/fault.h"
#include "store/unit.h"

typedef struct Backend Backend;

enum { STORE_INDEXES_MAX = 16 };

/// A collection as the game declares it.
typedef struct StoreCollection {
  const char *name;  // letters, digits and _, at most 48 bytes; not owned
  const char *indexes[STORE_INDEXES_MAX + 1];  // indexed fields, ended by NULL
} StoreCollection;

/// A document that was read. `value` is valid until the next call of the back end.
typedef struct StoreDocument {
  int64_t version;  // 0: the document does not exist
  uint32_t schema;
  Text value;
} StoreDocument;

typedef struct BackendOps {
  /// Opens the place; returns NULL with a fault.
  Backend *(*open)(const char *place, StoreFault *fault);
  void (*close)(Backend *backend);

  /// Creates or changes a collection's table and indexes. The collection is `index` from
  /// then on.
  StoreCode (*define)(Backend *backend, uint32_t index,
                      const StoreCollection *collection, StoreFault *fault);

  /// Begins a transaction. Until its end, reads see what it has written.
  StoreCode (*begin)(Backend *backend, StoreFault *fault);
  StoreCode (*commit)(Backend *backend, StoreFault *fault);
  void (*rollback)(Backend *backend);

  /// Carries out a unit within the transaction. On failure, nothing of the unit is left,
  /// and the rest of the transaction stays, unless `code` is STORE_UNAVAILABLE,
  /// STORE_FULL or STORE_DAMAGED. `*version` is the version of what it has written.
  StoreCode (*apply)(Backend *backend, const StoreUnit *unit, int64_t *version,
                     StoreFault *fault);

  /// Reads a document, within the transaction or outside of one.
  StoreCode (*get)(Backend *backend, uint32_t collection, Text id,
                   StoreDocument *document, StoreFault *fault);
} BackendOps;

extern const BackendOps backend_sqlite;
