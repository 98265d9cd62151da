// A back end keeps the documents: SQLite, PostgreSQL, or memory in a simulation. Only the
// store's thread calls it after `open`, so none of them has locks.
#pragma once

#include "store/board.h"
#include "store/fault.h"
#include "store/query.h"
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

/// A document that was found. Its texts are valid during the call.
typedef struct BackendRow {
  Text id;
  StoreDocument document;
  StoreValue order;  // value of the field by which the query orders
} BackendRow;

/// Called for each document found. Returns false to stop.
typedef bool BackendOnRow(void *data, const BackendRow *row);

/// A part of a collection, ordered by id: for migrations and exports.
typedef struct StoreScan {
  uint32_t collection;
  uint32_t schema_below;  // only documents of older schemas; UINT32_MAX: all
  uint32_t limit;
  Text after;  // id of the last document before; empty: from the first
} StoreScan;

/// A statement of perigee.store.sql.
typedef struct StoreSql {
  Text text;
  const StoreValue *arguments;
  uint32_t count;        // number of arguments
  uint32_t deadline_ms;  // longest run
} StoreSql;

/// The purpose for which a back end is opened.
typedef enum BackendUse {
  BACKEND_SERVE,  // reads and writes; SQLite: refused if another process serves the file
  BACKEND_READ,   // reads beside a server; creates nothing
} BackendUse;

typedef struct BackendOps {
  bool is_shared;  // other servers write to the same place, so nothing may be cached

  /// Opens the place; returns NULL with a fault.
  Backend *(*open)(const char *place, BackendUse use, StoreFault *fault);
  void (*close)(Backend *backend);

  /// For back ends that wait for another server; NULL for others. Sets the longest time
  /// that a call waits.
  void (*set_timeout)(Backend *backend, uint32_t timeout_ms);

  /// For the same back ends: makes the running call and later ones end before a time of
  /// the monotonic clock, so that the thread can end. Callable from any thread.
  void (*interrupt)(Backend *backend, uint64_t end_ms);

  /// Creates or changes a collection's table and indexes. The collection is `index` from
  /// then on. Indexes that `collection` does not have are removed.
  StoreCode (*define)(Backend *backend, uint32_t index,
                      const StoreCollection *collection, StoreFault *fault);

  /// Begins a transaction. Until its end, reads see what it has written.
  StoreCode (*begin)(Backend *backend, StoreFault *fault);

  /// STORE_UNKNOWN: the transaction may have been committed, or may come back after a
  /// crash; call `settle`.
  StoreCode (*commit)(Backend *backend, StoreFault *fault);
  void (*rollback)(Backend *backend);

  /// Finds out whether a commit that returned STORE_UNKNOWN has happened, and makes sure
  /// that it stays so. On failure it can be called again later.
  StoreCode (*settle)(Backend *backend, bool *has_happened, StoreFault *fault);

  /// Carries out a unit within the transaction: first its checks, then its writes. On
  /// failure, nothing of the unit is left, and the rest of the transaction stays, unless
  /// store_is_of_disk(code). A back end may learn of the failure of a unit without checks
  /// later: then a later call fails, in the end `commit`. `*version` is the version of
  /// what it has written.
  StoreCode (*apply)(Backend *backend, const StoreUnit *unit, int64_t *version,
                     StoreFault *fault);

  /// The following read, within the transaction or outside of one.
  StoreCode (*get)(Backend *backend, uint32_t collection, Text id,
                   StoreDocument *document, StoreFault *fault);
  StoreCode (*find)(Backend *backend, const StoreQuery *query, BackendOnRow *on_row,
                    void *data, StoreFault *fault);
  StoreCode (*count)(Backend *backend, const StoreQuery *query, uint64_t *count,
                     StoreFault *fault);
  StoreCode (*scan)(Backend *backend, const StoreScan *scan, BackendOnRow *on_row,
                    void *data, StoreFault *fault);

  /// Creates a leaderboard. The board is `index` from then on; boards and collections
  /// have indexes of their own.
  StoreCode (*define_board)(Backend *backend, uint32_t index, const Board *board,
                            StoreFault *fault);

  /// Appends the entries that a query finds to `out`, as a list in JSON.
  StoreCode (*read_board)(Backend *backend, const BoardQuery *query, Buf *out,
                          StoreFault *fault);

  /// Calls `on_collection` for each collection of the place, by name.
  StoreCode (*list)(Backend *backend,
                    void (*on_collection)(void *data, const StoreCollection *),
                    void *data, StoreFault *fault);

  /// Runs a statement that reads, on a back end opened with BACKEND_READ. Appends the rows
  /// as JSON, a list of objects; at most STORE_ROWS_MAX rows and STORE_FOUND_MAX bytes.
  /// NULL: not possible.
  StoreCode (*sql)(Backend *backend, const StoreSql *sql, Buf *rows, StoreFault *fault);
} BackendOps;

extern const BackendOps backend_sqlite;
extern const BackendOps backend_memory;
extern const BackendOps backend_postgres;

/// Returns the back end of a place: the path of a file, ":memory:", or a URL of
/// PostgreSQL.
const BackendOps *backend_of(const char *place);
