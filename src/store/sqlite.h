// Declarations that the files of the back end SQLite share. Private to these files.
#pragma once

#include <sqlite3.h>

#include "store/backend.h"
#include "store/sqlite_board.h"
#include "store/sqlite_file.h"

enum { SQLITE_SQL_SIZE = 1024 };

/// Selects the names of all collections: the tables with the columns of documents.
#define SQLITE_COLLECTIONS                                                            \
  "SELECT name FROM sqlite_schema AS t WHERE type = 'table' AND 3 = (SELECT count(*)" \
  " FROM pragma_table_xinfo(t.name) WHERE name IN ('id', 'value', 'schema'))"         \
  " ORDER BY name"

// Statements of the file.
typedef enum FileStatement {
  FILE_BEGIN,
  FILE_BEGIN_READING,
  FILE_COMMIT,
  FILE_ROLLBACK,
  FILE_SAVEPOINT,
  FILE_RELEASE,
  FILE_UNDO,
  FILE_COUNT,
  FILE_STATEMENTS
} FileStatement;

// Statements of one collection.
typedef enum TableStatement {
  TABLE_PUT,
  TABLE_DELETE,
  TABLE_GET,
  TABLE_VERSION,
  TABLE_STATEMENTS
} TableStatement;

/// A collection that was defined.
typedef struct SqliteTable {
  char *name;                                  // owned; NULL: not defined
  char *fields[STORE_INDEXES_MAX + 1];         // owned
  sqlite3_stmt *statements[TABLE_STATEMENTS];  // owned
} SqliteTable;

struct Backend {
  SqliteFile file;
  sqlite3 *db;                                // connection of `file`
  sqlite3_stmt *statements[FILE_STATEMENTS];  // owned
  SqliteTable *tables;                        // by index of the collection; owned
  uint32_t capacity;
  SqliteBoard **boards;  // by index of the board; owned
  uint32_t boards_capacity;
  int64_t version;        // last assigned version
  int64_t saved_version;  // last version in the file
  Buf value;              // value of the last `get`
};

// --- sqlite_call.c ---

/// Returns the code for a result of SQLite.
StoreCode sqlite_code(int result);

/// Sets the fault to the error of the last call.
StoreCode sqlite_fail(sqlite3 *db, StoreFault *fault);

/// Runs a statement without rows.
StoreCode sqlite_run(sqlite3 *db, sqlite3_stmt *statement, StoreFault *fault);
StoreCode sqlite_run_file(Backend *backend, FileStatement which, StoreFault *fault);
StoreCode sqlite_run_text(sqlite3 *db, const char *sql, StoreFault *fault);

StoreCode sqlite_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **statement,
                         StoreFault *fault);

/// Reads one whole number; returns `fallback` if no row exists.
StoreCode sqlite_read_number(sqlite3 *db, const char *sql, int64_t fallback,
                             int64_t *number, StoreFault *fault);

void sqlite_bind(sqlite3_stmt *statement, int at, Text text);
Text sqlite_text(sqlite3_stmt *statement, int column);

// sqlite_table.c: implements functions of BackendOps.
StoreCode sqlite_define(Backend *backend, uint32_t index,
                        const StoreCollection *collection, StoreFault *fault);
StoreCode sqlite_list(Backend *backend,
                      void (*on_collection)(void *data, const StoreCollection *),
                      void *data, StoreFault *fault);
void sqlite_table_free(SqliteTable *table);

// sqlite_find.c: implements functions of BackendOps, but ignores `writes`.
StoreCode sqlite_find(Backend *backend, const StoreQuery *query, BackendOnRow *on_row,
                      void *data, StoreFault *fault);
StoreCode sqlite_count(Backend *backend, const StoreQuery *query, uint64_t *count,
                       StoreFault *fault);
StoreCode sqlite_scan(Backend *backend, const StoreScan *scan, BackendOnRow *on_row,
                      void *data, StoreFault *fault);

// sqlite_sql.c: implements functions of BackendOps.
StoreCode sqlite_sql(Backend *backend, const StoreSql *sql, Buf *rows,
                     StoreFault *fault);
