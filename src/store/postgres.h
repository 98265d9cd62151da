// The back end PostgreSQL, for its own files. See backend.h.
//
// Statements of a transaction are sent without waiting; the store learns of a failure at
// the next call that waits. Then the call returns STORE_AGAIN, and the store repeats the
// units, in the end one by one.
#pragma once

#include "base/buf.h"
#include "store/backend.h"
#include "store/pg.h"

enum { WRITER_SIZE = 37 };  // a UUID as text, with its end

/// A collection. Its prepared statements have the index in their names.
typedef struct PostgresTable {
  char *name;  // owned, as the next ones; NULL: not defined
  char *indexes[STORE_INDEXES_MAX + 1];
} PostgresTable;

struct Backend {
  Pg link;
  BackendUse use;
  PostgresTable *tables;  // by index of the collection; owned
  uint32_t capacity;
  Board *
      boards;  // by index of the board; owned, with their names; without one: undefined
  uint32_t boards_capacity;
  Buf sql;         // statement that is being written
  PqResult *rows;  // of the last call that reads
  // Each connection is a writer of its own, with a row in perigee_writers. A transaction
  // writes its number there, so that `settle` can find out whether it has been committed.
  char writer[WRITER_SIZE];
  int64_t number;      // of the last transaction of the writer
  uint64_t writer_ms;  // time of the last write to the row, monotonic
  char unsettled_writer[WRITER_SIZE];
  int64_t unsettled_number;
  int64_t version;      // next version to give; versions are reserved in blocks
  int64_t version_end;  // first one after the block
  bool is_open;         // a transaction is open
  bool is_broken;       // it cannot be committed, because of `broken`
  StoreFault broken;
  uint32_t units;  // units of the transaction
};

/// postgres_session.c: see BackendOps.
Backend *postgres_open(const char *place, BackendUse use, StoreFault *fault);
void postgres_close(Backend *backend);
StoreCode postgres_begin(Backend *backend, StoreFault *fault);
StoreCode postgres_commit(Backend *backend, StoreFault *fault);
void postgres_rollback(Backend *backend);
StoreCode postgres_settle(Backend *backend, bool *has_happened, StoreFault *fault);

/// Gives the version of the next unit.
StoreCode postgres_next_version(Backend *backend, int64_t *version, StoreFault *fault);

/// Makes sure that the connection works; connects again if necessary. Returns STORE_BUSY
/// if that is not possible now.
StoreCode postgres_ensure(Backend *backend, StoreFault *fault);

/// Makes sure that a read is possible, within the transaction or outside of one.
StoreCode postgres_begin_read(Backend *backend, StoreFault *fault);

/// Waits for what was sent. In a transaction, a failure breaks it.
StoreCode postgres_sync(Backend *backend, StoreFault *fault);

/// Sends a unit's writes.
void postgres_send_writes(Backend *backend, const StoreUnit *unit, int64_t version);

/// postgres_table.c: creates what the store itself needs, and checks its format.
StoreCode postgres_set_up(Backend *backend, StoreFault *fault);
StoreCode postgres_define(Backend *backend, uint32_t index,
                          const StoreCollection *collection, StoreFault *fault);
StoreCode postgres_list(Backend *backend,
                        void (*on_collection)(void *data, const StoreCollection *),
                        void *data, StoreFault *fault);

/// Sends the statements of the session, of all collections and of all boards.
void postgres_prepare(Backend *backend);
void postgres_free_tables(Backend *backend);

/// Appends SQL with a table for `#` and a field for `@`, and a NUL that is not counted.
void postgres_put(Buf *sql, const char *pattern, const char *table, const char *field);

/// Writes the name of a prepared statement of a collection; `kind` is one letter.
enum { STATEMENT_NAME_SIZE = 16 };
const char *postgres_statement(char *name, char kind, uint32_t index);

/// postgres_find.c
StoreCode postgres_find(Backend *backend, const StoreQuery *query, BackendOnRow *on_row,
                        void *data, StoreFault *fault);
StoreCode postgres_count(Backend *backend, const StoreQuery *query, uint64_t *count,
                         StoreFault *fault);
StoreCode postgres_scan(Backend *backend, const StoreScan *scan, BackendOnRow *on_row,
                        void *data, StoreFault *fault);

/// postgres_board.c
void postgres_create_boards(Backend *backend);
void postgres_prepare_boards(Backend *backend);
void postgres_send_score(Backend *backend, const StoreStep *step);
StoreCode postgres_define_board(Backend *backend, uint32_t index, const Board *board,
                                StoreFault *fault);
StoreCode postgres_read_board(Backend *backend, const BoardQuery *query, Buf *out,
                              StoreFault *fault);

/// postgres_sql.c
StoreCode postgres_sql(Backend *backend, const StoreSql *sql, Buf *rows,
                       StoreFault *fault);
