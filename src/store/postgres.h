// The header of the back end PostgreSQL, for its own files. See backend.h.
//
// The back end sends the statements of a transaction without waiting. It notices a
// failure only at the next call that waits. That call returns STORE_AGAIN, and the
// store repeats the units, at last one by one.
#pragma once

#include "base/buf.h"
#include "store/backend.h"
#include "store/pg.h"

enum { WRITER_SIZE = 37 };  // size of a UUID as text, with its NUL

/// A collection. Its prepared statements have the index in their names.
typedef struct PostgresTable {
  char *name;  // owned, like the names below; NULL: not defined
  char *indexes[STORE_INDEXES_MAX + 1];
} PostgresTable;

struct Backend {
  Pg link;
  BackendUse use;
  PostgresTable *tables;  // by index of the collection; owned
  uint32_t capacity;
  Board *boards;  // boards by index; owned, with their names; without a name: undefined
  uint32_t boards_capacity;
  Buf sql;         // statement that is being written
  PqResult *rows;  // result of the last read
  // Each connection is a separate writer, with a row in perigee_writers. Each
  // transaction writes its number to that row, so that `settle` can find out whether it
  // was committed.
  char writer[WRITER_SIZE];
  int64_t number;      // number of the writer's last transaction
  uint64_t writer_ms;  // time of the last write to the row, monotonic
  char unsettled_writer[WRITER_SIZE];
  int64_t unsettled_number;
  int64_t version;      // next version to assign; versions are reserved in blocks
  int64_t version_end;  // end of the reserved block
  bool is_open;         // a transaction is open
  bool is_broken;       // the transaction cannot be committed; `broken` is the reason
  StoreFault broken;
  uint32_t units;  // units in the transaction
};

/// postgres_session.c: implements functions of BackendOps.
Backend *postgres_open(const char *place, BackendUse use, StoreFault *fault);
void postgres_close(Backend *backend);
StoreCode postgres_begin(Backend *backend, StoreFault *fault);
StoreCode postgres_commit(Backend *backend, StoreFault *fault);
void postgres_rollback(Backend *backend);
StoreCode postgres_settle(Backend *backend, bool *has_happened, StoreFault *fault);

/// Assigns the version of the next unit.
StoreCode postgres_next_version(Backend *backend, int64_t *version, StoreFault *fault);

/// Makes sure that the connection works; connects again if necessary. If that is
/// impossible now, returns STORE_BUSY.
StoreCode postgres_ensure(Backend *backend, StoreFault *fault);

/// Makes sure that a read is possible, within the transaction or outside of one.
StoreCode postgres_begin_read(Backend *backend, StoreFault *fault);

/// Waits for all sent statements. In a transaction, a failure breaks the transaction.
StoreCode postgres_sync(Backend *backend, StoreFault *fault);

/// Sends the writes of a unit.
void postgres_send_writes(Backend *backend, const StoreUnit *unit, int64_t version);

/// postgres_table.c: creates the store's own tables, and checks its format.
StoreCode postgres_set_up(Backend *backend, StoreFault *fault);
StoreCode postgres_define(Backend *backend, uint32_t index,
                          const StoreCollection *collection, StoreFault *fault);
StoreCode postgres_list(Backend *backend,
                        void (*on_collection)(void *data, const StoreCollection *),
                        void *data, StoreFault *fault);

/// Prepares the statements of the session, of all collections and of all boards.
void postgres_prepare(Backend *backend);
void postgres_free_tables(Backend *backend);

/// Appends SQL in which a table replaces `#` and a field replaces `@`, and a NUL that
/// `size` does not count.
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
