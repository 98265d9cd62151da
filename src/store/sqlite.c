// The back end SQLite. See backend.h.
//
// The server locks its file for itself (locking_mode stays NORMAL, so that `sqlite3` can
// read beside it), and is the only writer. Versions come from one counter of the file, so
// that no version of a document ever returns, not even after a delete.
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/mem.h"
#include "store/backend.h"
#include "store/sqlite_board.h"

enum {
  APPLICATION_ID = 0x50524749,  // "PRGI"; marks the file as one of this server
  FORMAT = 1,                   // user_version of the file
  BUSY_MS = 250,  // wait for a lock of another program; the store tries again later
  SQL_SIZE = 512,
  SCORES_MAX = 1 << 14,  // more than STORE_WRITES_MAX
};

// Statements of the file.
typedef enum FileStatement {
  FILE_BEGIN,
  FILE_COMMIT,
  FILE_ROLLBACK,
  FILE_SAVEPOINT,
  FILE_RELEASE,
  FILE_UNDO,
  FILE_COUNT,
  FILE_STATEMENTS
} FileStatement;

static const char *const FILE_SQL[FILE_STATEMENTS] = {
    [FILE_BEGIN] = "BEGIN IMMEDIATE",
    [FILE_COMMIT] = "COMMIT",
    [FILE_ROLLBACK] = "ROLLBACK",
    [FILE_SAVEPOINT] = "SAVEPOINT unit",
    [FILE_RELEASE] = "RELEASE unit",
    [FILE_UNDO] = "ROLLBACK TO unit",
    [FILE_COUNT] = "UPDATE perigee_store SET version = ?1",
};

// Statements of one collection.
typedef enum TableStatement {
  TABLE_PUT,
  TABLE_DELETE,
  TABLE_GET,
  TABLE_VERSION,
  TABLE_STATEMENTS
} TableStatement;

static const char *const TABLE_SQL[TABLE_STATEMENTS] = {
    [TABLE_PUT] =
        "INSERT INTO \"%s\" (id, value, version, schema, updated_at)"
        " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO UPDATE SET"
        " value = ?2, version = ?3, schema = ?4, updated_at = ?5",
    [TABLE_DELETE] = "DELETE FROM \"%s\" WHERE id = ?1",
    [TABLE_GET] = "SELECT value, version, schema FROM \"%s\" WHERE id = ?1",
    [TABLE_VERSION] = "SELECT version FROM \"%s\" WHERE id = ?1",
};

typedef struct Table {
  sqlite3_stmt *statements[TABLE_STATEMENTS];  // owned
} Table;

struct Backend {
  sqlite3 *db;
  sqlite3_stmt *statements[FILE_STATEMENTS];  // owned
  Table *tables;                              // by index of the collection; owned
  uint32_t capacity;
  SqliteBoard **boards;  // by index of the board; owned
  uint32_t boards_capacity;
  int64_t version;        // last version that was given
  int64_t saved_version;  // last version in the file
  Buf value;              // value of the last `get`
};

// --- Faults ---

static StoreCode code_of(int result) {
  switch (result & 0xff) {
    case SQLITE_FULL:
      return STORE_FULL;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return STORE_DAMAGED;
    case SQLITE_TOOBIG:
      return STORE_TOO_LARGE;
    case SQLITE_INTERRUPT:
      return STORE_LATE;
    default:
      return STORE_UNAVAILABLE;
  }
}

static StoreCode fail(const Backend *backend, StoreFault *fault) {
  int result = sqlite3_extended_errcode(backend->db);
  return store_fault(fault, code_of(result), "SQLite: %s", sqlite3_errmsg(backend->db));
}

// --- Statements ---

static void bind(sqlite3_stmt *statement, int at, Text text) {
  sqlite3_bind_text(statement, at, text.bytes, (int)text.size, SQLITE_STATIC);
}

// Runs a statement without rows.
static StoreCode run(Backend *backend, sqlite3_stmt *statement, StoreFault *fault) {
  int result = sqlite3_step(statement);
  StoreCode code = result == SQLITE_DONE ? STORE_OK : fail(backend, fault);
  sqlite3_reset(statement);
  return code;
}

static StoreCode run_file(Backend *backend, FileStatement which, StoreFault *fault) {
  return run(backend, backend->statements[which], fault);
}

static StoreCode run_text(Backend *backend, const char *sql, StoreFault *fault) {
  int result = sqlite3_exec(backend->db, sql, NULL, NULL, NULL);
  return result == SQLITE_OK ? STORE_OK : fail(backend, fault);
}

static StoreCode prepare(Backend *backend, const char *sql, sqlite3_stmt **statement,
                         StoreFault *fault) {
  int result = sqlite3_prepare_v3(backend->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                  statement, NULL);
  return result == SQLITE_OK ? STORE_OK : fail(backend, fault);
}

// Reads one whole number; `fallback` if there is no row.
static StoreCode read_number(Backend *backend, const char *sql, int64_t fallback,
                             int64_t *number, StoreFault *fault) {
  sqlite3_stmt *statement;
  *number = fallback;
  if (prepare(backend, sql, &statement, fault) != STORE_OK) return fault->code;
  int result = sqlite3_step(statement);
  if (result == SQLITE_ROW) *number = sqlite3_column_int64(statement, 0);
  StoreCode code =
      result == SQLITE_ROW || result == SQLITE_DONE ? STORE_OK : fail(backend, fault);
  sqlite3_finalize(statement);
  return code;
}

// --- The file ---

// Refuses files of other programs and of later versions, before anything is changed.
static StoreCode check_owner(Backend *backend, const char *place, StoreFault *fault) {
  int64_t application, format, tables;
  if (read_number(backend, "PRAGMA application_id", 0, &application, fault) ||
      read_number(backend, "PRAGMA user_version", 0, &format, fault) ||
      read_number(backend, "SELECT count(*) FROM sqlite_schema", 0, &tables, fault))
    return fault->code;
  if (tables == 0 && application == 0) return STORE_OK;
  if (application != APPLICATION_ID)
    return store_fault(fault, STORE_UNAVAILABLE,
                       "%s belongs to another program; set `store` to another file",
                       place);
  if (format > FORMAT)
    return store_fault(fault, STORE_UNAVAILABLE,
                       "%s was written by a later version of perigee", place);
  return STORE_OK;
}

static StoreCode set_up(Backend *backend, const char *place, StoreFault *fault) {
  char sql[SQL_SIZE];
  snprintf(sql, sizeof sql,
           "PRAGMA application_id = %d; PRAGMA user_version = %d;"
           "CREATE TABLE IF NOT EXISTS perigee_store (version INTEGER NOT NULL) STRICT;"
           "INSERT INTO perigee_store SELECT 0"
           " WHERE NOT EXISTS (SELECT 1 FROM perigee_store);",
           APPLICATION_ID, FORMAT);
  sqlite3_busy_timeout(backend->db, BUSY_MS);
  sqlite3_extended_result_codes(backend->db, 1);
  if (check_owner(backend, place, fault) ||
      run_text(backend,
               "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
               "PRAGMA wal_autocheckpoint = 1000;"
               "PRAGMA journal_size_limit = 67108864; BEGIN IMMEDIATE",
               fault) ||
      run_text(backend, sql, fault) || run_text(backend, "COMMIT", fault))
    return fault->code;
  for (int i = 0; i < FILE_STATEMENTS; i++)
    if (prepare(backend, FILE_SQL[i], &backend->statements[i], fault))
      return fault->code;
  StoreCode code = read_number(backend, "SELECT version FROM perigee_store", 0,
                               &backend->version, fault);
  backend->saved_version = backend->version;
  return code;
}

static void close_file(Backend *backend) {
  for (uint32_t i = 0; i < backend->capacity; i++)
    for (int j = 0; j < TABLE_STATEMENTS; j++)
      sqlite3_finalize(backend->tables[i].statements[j]);
  for (uint32_t i = 0; i < backend->boards_capacity; i++)
    sqlite_board_free(backend->boards[i]);
  for (int i = 0; i < FILE_STATEMENTS; i++) sqlite3_finalize(backend->statements[i]);
  sqlite3_close(backend->db);
  buf_deinit(&backend->value);
  mem_free(backend->tables);
  mem_free(backend->boards);
  mem_free(backend);
}

static Backend *open_file(const char *place, BackendUse use, StoreFault *fault) {
  (void)use;
  Backend *backend = mem_zalloc(sizeof *backend);
  int result = sqlite3_open_v2(
      place, &backend->db,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
  StoreCode code = result == SQLITE_OK
                       ? set_up(backend, place, fault)
                       : store_fault(fault, code_of(result), "cannot open %s: %s",
                                     place, sqlite3_errmsg(backend->db));
  if (code == STORE_OK) return backend;
  close_file(backend);
  return NULL;
}

// --- Collections ---

static StoreCode add_index(Backend *backend, const char *table, const char *field,
                           StoreFault *fault) {
  char sql[SQL_SIZE];
  int64_t has;
  snprintf(sql, sizeof sql,
           "SELECT count(*) FROM pragma_table_xinfo('%s') WHERE name = 'i_%s'", table,
           field);
  if (read_number(backend, sql, 0, &has, fault)) return fault->code;
  if (has > 0) return STORE_OK;
  snprintf(sql, sizeof sql,
           "ALTER TABLE \"%s\" ADD COLUMN \"i_%s\" ANY GENERATED ALWAYS AS"
           " (json_extract(value, '$.\"%s\"')) VIRTUAL;"
           "CREATE INDEX \"%s.%s\" ON \"%s\" (\"i_%s\", id)",
           table, field, field, table, field, table, field);
  return run_text(backend, sql, fault);
}

static StoreCode create(Backend *backend, const StoreCollection *collection,
                        StoreFault *fault) {
  char sql[SQL_SIZE];
  snprintf(sql, sizeof sql,
           "CREATE TABLE IF NOT EXISTS \"%s\" (id TEXT PRIMARY KEY NOT NULL,"
           " value TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,"
           " updated_at INTEGER NOT NULL) STRICT",
           collection->name);
  StoreCode code = run_text(backend, sql, fault);
  for (const char *const *field = collection->indexes; code == STORE_OK && *field;
       field++)
    code = add_index(backend, collection->name, *field, fault);
  return code;
}

static StoreCode define(Backend *backend, uint32_t index,
                        const StoreCollection *collection, StoreFault *fault) {
  char sql[SQL_SIZE];
  backend->capacity =
      index < backend->capacity
          ? backend->capacity
          : array_reach(&backend->tables, backend->capacity, sizeof(Table), index);
  if (run_file(backend, FILE_BEGIN, fault)) return fault->code;
  if (create(backend, collection, fault) || run_file(backend, FILE_COMMIT, fault)) {
    StoreFault ignored;
    run_file(backend, FILE_ROLLBACK, &ignored);
    return fault->code;
  }
  for (int i = 0; i < TABLE_STATEMENTS; i++) {
    sqlite3_stmt **statement = &backend->tables[index].statements[i];
    sqlite3_finalize(*statement);
    *statement = NULL;
    snprintf(sql, sizeof sql, TABLE_SQL[i], collection->name);
    if (prepare(backend, sql, statement, fault)) return fault->code;
  }
  return STORE_OK;
}

static StoreCode define_board(Backend *backend, uint32_t index, const Board *board,
                              StoreFault *fault) {
  if (index >= backend->boards_capacity)
    backend->boards_capacity = array_reach(&backend->boards, backend->boards_capacity,
                                           sizeof(SqliteBoard *), index);
  if (run_file(backend, FILE_BEGIN, fault)) return fault->code;
  SqliteBoard *defined = sqlite_board_new(backend->db, board, fault);
  if (defined == NULL || run_file(backend, FILE_COMMIT, fault)) {
    StoreFault ignored;
    sqlite_board_free(defined);
    run_file(backend, FILE_ROLLBACK, &ignored);
    return fault->code;
  }
  sqlite_board_free(backend->boards[index]);
  backend->boards[index] = defined;
  return STORE_OK;
}

// --- Transactions ---

static StoreCode begin(Backend *backend, StoreFault *fault) {
  return run_file(backend, FILE_BEGIN, fault);
}

// SQLite may have rolled back already, after an error of the disk.
static void rollback(Backend *backend) {
  StoreFault ignored;
  if (!sqlite3_get_autocommit(backend->db)) run_file(backend, FILE_ROLLBACK, &ignored);
}

static StoreCode commit(Backend *backend, StoreFault *fault) {
  if (backend->version > backend->saved_version) {
    sqlite3_bind_int64(backend->statements[FILE_COUNT], 1, backend->version);
    if (run_file(backend, FILE_COUNT, fault)) return fault->code;
  }
  if (run_file(backend, FILE_COMMIT, fault)) return fault->code;
  backend->saved_version = backend->version;
  return STORE_OK;
}

static StoreCode check(Backend *backend, const StoreStep *step, StoreFault *fault) {
  sqlite3_stmt *statement = backend->tables[step->collection].statements[TABLE_VERSION];
  bind(statement, 1, step->id);
  int result = sqlite3_step(statement);
  int64_t version = result == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
  StoreCode code = STORE_OK;
  if (result != SQLITE_ROW && result != SQLITE_DONE)
    code = fail(backend, fault);
  else if (version != step->version)
    code = store_fault(fault, STORE_CONFLICT, "another write came first");
  sqlite3_reset(statement);
  return code;
}

static StoreCode put(Backend *backend, const StoreStep *step, StoreFault *fault) {
  sqlite3_stmt *statement = backend->tables[step->collection].statements[TABLE_PUT];
  bind(statement, 1, step->id);
  bind(statement, 2, step->value);
  sqlite3_bind_int64(statement, 3, backend->version);
  sqlite3_bind_int64(statement, 4, step->schema);
  sqlite3_bind_int64(statement, 5, time(NULL));
  return run(backend, statement, fault);
}

static StoreCode end_board(int result, StoreFault *fault) {
  if (result == SQLITE_OK) return STORE_OK;
  if (result == SQLITE_TOOBIG)
    return store_fault(fault, STORE_TOO_LARGE, "the sum of the scores is too large");
  return store_fault(fault, code_of(result), "SQLite: %s", sqlite3_errstr(result));
}

// The n-th score of a unit. Its sequence follows from the unit's version.
static StoreCode score(Backend *backend, const StoreStep *step, uint32_t n,
                       StoreFault *fault) {
  int64_t sequence = backend->version * SCORES_MAX + n;
  return end_board(
      sqlite_board_apply(backend->boards[step->collection], step, sequence), fault);
}

static StoreCode carry_out(Backend *backend, const StoreStep *step, uint32_t n,
                           StoreFault *fault) {
  switch ((StoreStepType)step->type) {
    case STORE_CHECK:
      return check(backend, step, fault);
    case STORE_CHECK_FOUND:
      return STORE_INVALID;
    case STORE_PUT:
      return put(backend, step, fault);
    case STORE_DELETE: {
      sqlite3_stmt *statement =
          backend->tables[step->collection].statements[TABLE_DELETE];
      bind(statement, 1, step->id);
      return run(backend, statement, fault);
    }
    case STORE_SCORE:
    case STORE_REMOVE_SCORE:
      return score(backend, step, n, fault);
  }
  return STORE_INVALID;
}

// A unit of one statement needs no savepoint, because a statement is atomic.
static StoreCode apply(Backend *backend, const StoreUnit *unit, int64_t *version,
                       StoreFault *fault) {
  StoreStep step;
  StoreCode code = STORE_OK;
  size_t at = 0;
  uint32_t n = 0;
  bool is_one =
      unit_next(unit, &at, &step) && at == unit->size && step.type < STORE_SCORE;
  if (!is_one && run_file(backend, FILE_SAVEPOINT, fault)) return fault->code;
  *version = ++backend->version;
  for (at = 0; code == STORE_OK && unit_next(unit, &at, &step);)
    code = carry_out(backend, &step, n++, fault);
  if (is_one || sqlite3_get_autocommit(backend->db)) return code;
  StoreFault ignored;
  if (code != STORE_OK) run_file(backend, FILE_UNDO, &ignored);
  run_file(backend, FILE_RELEASE, &ignored);
  return code;
}

static StoreCode get(Backend *backend, uint32_t collection, Text id,
                     StoreDocument *document, StoreFault *fault) {
  sqlite3_stmt *statement = backend->tables[collection].statements[TABLE_GET];
  *document = (StoreDocument){0};
  bind(statement, 1, id);
  int result = sqlite3_step(statement);
  StoreCode code = STORE_OK;
  if (result == SQLITE_ROW) {
    const void *bytes = sqlite3_column_text(statement, 0);
    uint32_t size = (uint32_t)sqlite3_column_bytes(statement, 0);
    backend->value.size = 0;
    buf_append(&backend->value, bytes, size);
    *document = (StoreDocument){
        .version = sqlite3_column_int64(statement, 1),
        .schema = (uint32_t)sqlite3_column_int64(statement, 2),
        .value = {(const char *)backend->value.data, size},
    };
  } else if (result != SQLITE_DONE) {
    code = fail(backend, fault);
  }
  sqlite3_reset(statement);
  return code;
}

static StoreCode read_board(Backend *backend, const BoardQuery *query, Buf *out,
                            StoreFault *fault) {
  return end_board(sqlite_board_read(backend->boards[query->board], query, out), fault);
}

const BackendOps backend_sqlite = {
    .open = open_file,
    .close = close_file,
    .define = define,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .apply = apply,
    .get = get,
    .define_board = define_board,
    .read_board = read_board,
};
