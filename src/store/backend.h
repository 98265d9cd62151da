// A back end stores the documents: SQLite, PostgreSQL, or memory in a simulation. Only
// the store's thread calls it after `open`, so back ends have no locks.
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
  // Names of the indexed fields, ended by NULL.
  const char *indexes[STORE_INDEXES_MAX + 1];
} StoreCollection;

/// A document that was read. `value` is valid until the next call of the back end.
typedef struct StoreDocument {
  int64_t version;  // version; 0: the document does not exist
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
  // Upper limit of the schema, exclusive; UINT32_MAX: all documents.
  uint32_t schema_below;
  uint32_t limit;
  Text after;  // id behind which the scan begins; empty: the first document
} StoreScan;

/// A statement of perigee.store.sql.
typedef struct StoreSql {
  Text text;
  const StoreValue *arguments;
  uint32_t count;        // number of `arguments`
  uint32_t deadline_ms;  // time limit of the statement
} StoreSql;

/// The purpose for which a back end is opened.
typedef enum BackendUse {
  BACKEND_SERVE,  // reads and writes; SQLite refuses if another process serves the file
  BACKEND_READ,   // only reads, beside a server; creates nothing
} BackendUse;

typedef struct BackendOps {
  bool is_shared;  // other servers write to the same place, so nothing may be cached

  /// Opens the place. On failure, returns NULL and sets the fault.
  Backend *(*open)(const char *place, BackendUse use, StoreFault *fault);
  void (*close)(Backend *backend);

  /// Sets the limit of the time that a call waits. NULL in back ends that do not wait
  /// for another server.
  void (*set_timeout)(Backend *backend, uint32_t timeout_ms);

  /// Makes the running call and later ones end before a time of the monotonic clock, so
  /// that the thread can end. Callable from any thread. NULL in back ends that do not
  /// wait for another server.
  void (*interrupt)(Backend *backend, uint64_t end_ms);

  /// Creates or changes a collection's table and indexes. Later calls identify the
  /// collection by `index`. Removes indexes that `collection` does not name.
  StoreCode (*define)(Backend *backend, uint32_t index,
                      const StoreCollection *collection, StoreFault *fault);

  /// Begins a transaction. Until it ends, reads see its own writes. With SQLite and
  /// BACKEND_READ, reads see one moment until it ends, and a server beside is not delayed.
  StoreCode (*begin)(Backend *backend, StoreFault *fault);

  /// Ends the transaction. STORE_UNKNOWN: the transaction may have been committed, or
  /// may return after a crash; call `settle` next.
  StoreCode (*commit)(Backend *backend, StoreFault *fault);
  void (*rollback)(Backend *backend);

  /// Finds out, after a commit that returned STORE_UNKNOWN, whether the commit has
  /// happened, and makes that final. After a failure, it can be called again later.
  StoreCode (*settle)(Backend *backend, bool *has_happened, StoreFault *fault);

  /// Carries out a unit within the transaction: first its checks, then its writes. If
  /// the unit fails, it has no effect, and the rest of the transaction stays, unless
  /// store_is_of_disk(code). A back end may notice the failure of a unit without checks
  /// late. In that case a later call fails, at the latest `commit`. Sets `*version` to
  /// the version of the unit's writes.
  StoreCode (*apply)(Backend *backend, const StoreUnit *unit, int64_t *version,
                     StoreFault *fault);

  /// Begins a group of gets, which are then faster. Until end_gets, the gets see one
  /// moment, and the back end makes no other call. NULL if the back end gains nothing
  /// by a group.
  void (*begin_gets)(Backend *backend);
  void (*end_gets)(Backend *backend);

  /// Reads, within the transaction or outside of one.
  StoreCode (*get)(Backend *backend, uint32_t collection, Text id,
                   StoreDocument *document, StoreFault *fault);
  StoreCode (*find)(Backend *backend, const StoreQuery *query, BackendOnRow *on_row,
                    void *data, StoreFault *fault);
  StoreCode (*count)(Backend *backend, const StoreQuery *query, uint64_t *count,
                     StoreFault *fault);
  StoreCode (*scan)(Backend *backend, const StoreScan *scan, BackendOnRow *on_row,
                    void *data, StoreFault *fault);

  /// Creates a leaderboard. Later calls identify the board by `index`; the indexes of
  /// boards are independent of those of collections.
  StoreCode (*define_board)(Backend *backend, uint32_t index, const Board *board,
                            StoreFault *fault);

  /// Appends the entries that a query finds to `out`, as a JSON list.
  StoreCode (*read_board)(Backend *backend, const BoardQuery *query, Buf *out,
                          StoreFault *fault);

  /// Calls `on_collection` for each collection of the place, in the order of names.
  StoreCode (*list)(Backend *backend,
                    void (*on_collection)(void *data, const StoreCollection *),
                    void *data, StoreFault *fault);

  /// Runs a reading statement, on a back end that was opened with BACKEND_READ. Appends
  /// the rows as a JSON list of objects; at most STORE_ROWS_MAX rows and
  /// STORE_FOUND_MAX bytes. NULL: the back end has no SQL.
  StoreCode (*sql)(Backend *backend, const StoreSql *sql, Buf *rows, StoreFault *fault);
} BackendOps;

extern const BackendOps backend_sqlite;
extern const BackendOps backend_memory;
extern const BackendOps backend_postgres;

/// Returns the back end of a place: the path of a file, ":memory:", or a URL of
/// PostgreSQL.
const BackendOps *backend_of(const char *place);
