// The back end SQLite. See backend.h.
//
// The server is the only writer of the file. locking_mode stays NORMAL, so that
// `sqlite3` can read the file at the same time. One counter of the file provides all
// versions, so that no version of a document returns, even after a delete.
#include "store/sqlite.h"

#include <time.h>

#include "base/array.h"
#include "base/mem.h"
#include "store/found.h"

enum {
  // Time to wait for a lock of another program. After that time, the store tries again.
  BUSY_MS = 250,
  SCORES_MAX = 1 << 14,  // sequences for one version; more than STORE_WRITES_MAX
};

static const char *const FILE_SQL[FILE_STATEMENTS] = {
    [FILE_BEGIN] = "BEGIN IMMEDIATE",
    [FILE_BEGIN_READING] = "BEGIN",
    [FILE_COMMIT] = "COMMIT",
    [FILE_ROLLBACK] = "ROLLBACK",
    [FILE_SAVEPOINT] = "SAVEPOINT unit",
    [FILE_RELEASE] = "RELEASE unit",
    [FILE_UNDO] = "ROLLBACK TO unit",
    [FILE_COUNT] = "UPDATE perigee_store SET version = ?1",
};

// --- Opening and closing ---

static StoreCode set_up(Backend *backend, StoreFault *fault) {
  sqlite3_busy_timeout(backend->db, BUSY_MS);
  for (int i = 0; i < FILE_STATEMENTS; i++) {
    bool reads = i == FILE_BEGIN && backend->file.lock < 0;
    if (sqlite_prepare(backend->db, reads ? "BEGIN" : FILE_SQL[i],
                       &backend->statements[i], fault))
      return fault->code;
  }
  StoreCode code = sqlite_read_number(backend->db, "SELECT version FROM perigee_store",
                                      0, &backend->version, fault);
  backend->saved_version = backend->version;
  return code;
}

static void close_file(Backend *backend) {
  for (uint32_t i = 0; i < backend->capacity; i++)
    sqlite_table_free(&backend->tables[i]);
  for (uint32_t i = 0; i < backend->boards_capacity; i++)
    sqlite_board_free(backend->boards[i]);
  for (int i = 0; i < FILE_STATEMENTS; i++) sqlite3_finalize(backend->statements[i]);
  sqlite_file_close(&backend->file);
  buf_deinit(&backend->value);
  mem_free(backend->tables);
  mem_free(backend->boards);
  mem_free(backend);
}

static Backend *open_file(const char *place, BackendUse use, StoreFault *fault) {
  Backend *backend = mem_zalloc(sizeof *backend);
  StoreCode code = sqlite_file_open(&backend->file, place, use, fault);
  backend->db = backend->file.db;
  if (code == STORE_OK && set_up(backend, fault) == STORE_OK) return backend;
  close_file(backend);
  return NULL;
}

static StoreCode define_board(Backend *backend, uint32_t index, const Board *board,
                              StoreFault *fault) {
  if (index >= backend->boards_capacity)
    backend->boards_capacity = array_reach(&backend->boards, backend->boards_capacity,
                                           sizeof(SqliteBoard *), index);
  if (sqlite_run_file(backend, FILE_BEGIN, fault)) return fault->code;
  SqliteBoard *defined = sqlite_board_new(backend->db, board, fault);
  if (defined == NULL || sqlite_run_file(backend, FILE_COMMIT, fault)) {
    StoreFault ignored;
    sqlite_board_free(defined);
    sqlite_run_file(backend, FILE_ROLLBACK, &ignored);
    return fault->code;
  }
  sqlite_board_free(backend->boards[index]);
  backend->boards[index] = defined;
  return STORE_OK;
}

// --- Transactions ---

static StoreCode begin(Backend *backend, StoreFault *fault) {
  return sqlite_run_file(backend, FILE_BEGIN, fault);
}

// Rolls the transaction back, unless SQLite has already done so after a disk error.
static void rollback(Backend *backend) {
  StoreFault ignored;
  if (!sqlite3_get_autocommit(backend->db))
    sqlite_run_file(backend, FILE_ROLLBACK, &ignored);
}

// Returns whether the file was deleted, moved or replaced. Commits to such a file would
// be lost when the process ends.
static bool is_gone(const Backend *backend) {
  int has_moved = 0;
  sqlite3_file_control(backend->db, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
  return has_moved != 0;
}

static StoreCode commit(Backend *backend, StoreFault *fault) {
  if (is_gone(backend))
    return store_fault(fault, STORE_UNAVAILABLE,
                       "the file of the store was deleted, moved or replaced; restart"
                       " the server");
  if (backend->version > backend->saved_version) {
    sqlite3_bind_int64(backend->statements[FILE_COUNT], 1, backend->version);
    if (sqlite_run_file(backend, FILE_COUNT, fault)) return fault->code;
  }
  if (sqlite_run_file(backend, FILE_COMMIT, fault) == STORE_OK) {
    backend->saved_version = backend->version;
    return STORE_OK;
  }
  int result = sqlite3_extended_errcode(backend->db);
  if (result == SQLITE_IOERR_FSYNC) fault->code = STORE_UNKNOWN;
  return fault->code;
}

// Reports that the commit has not happened, and makes that final. After a failed fsync,
// the log may contain the transaction, so a crash could make it return. The next commit
// overwrites it in the log.
static StoreCode settle(Backend *backend, bool *has_happened, StoreFault *fault) {
  *has_happened = false;
  rollback(backend);
  if (begin(backend, fault)) return fault->code;
  backend->saved_version = -1;
  StoreCode code = commit(backend, fault);
  if (code != STORE_OK) rollback(backend);
  return code;
}

static StoreCode check(Backend *backend, const StoreStep *step, StoreFault *fault) {
  if (step->type == STORE_CHECK_FOUND)
    return found_check(&backend_sqlite, backend, step, fault);
  if (step->type != STORE_CHECK) return STORE_OK;
  sqlite3_stmt *statement = backend->tables[step->collection].statements[TABLE_VERSION];
  sqlite_bind(statement, 1, step->id);
  int result = sqlite3_step(statement);
  int64_t version = result == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
  StoreCode code = STORE_OK;
  if (result != SQLITE_ROW && result != SQLITE_DONE)
    code = sqlite_fail(backend->db, fault);
  else if (version != step->version)
    code = store_fault(fault, STORE_CONFLICT, "another write came first");
  sqlite3_reset(statement);
  return code;
}

static StoreCode put(Backend *backend, const StoreStep *step, StoreFault *fault) {
  sqlite3_stmt *statement = backend->tables[step->collection].statements[TABLE_PUT];
  sqlite_bind(statement, 1, step->id);
  sqlite_bind(statement, 2, step->value);
  sqlite3_bind_int64(statement, 3, backend->version);
  sqlite3_bind_int64(statement, 4, step->schema);
  sqlite3_bind_int64(statement, 5, time(NULL));
  if (sqlite_run(backend->db, statement, fault)) return fault->code;
  if (sqlite3_changes(backend->db) > 0) return STORE_OK;
  return store_fault(fault, STORE_NEWER,
                     "a later version of the game wrote the document");
}

static StoreCode end_board(int result, StoreFault *fault) {
  if (result == SQLITE_OK) return STORE_OK;
  if (result == SQLITE_TOOBIG) return board_fail_sum(fault);
  return store_fault(fault, sqlite_code(result), "SQLite: %s", sqlite3_errstr(result));
}

// Carries out the n-th step of a unit if it is a write.
static StoreCode write(Backend *backend, const StoreStep *step, uint32_t n,
                       StoreFault *fault) {
  switch ((StoreStepType)step->type) {
    case STORE_CHECK:
    case STORE_CHECK_FOUND:
      return STORE_OK;
    case STORE_PUT:
      return put(backend, step, fault);
    case STORE_DELETE: {
      sqlite3_stmt *statement =
          backend->tables[step->collection].statements[TABLE_DELETE];
      sqlite_bind(statement, 1, step->id);
      return sqlite_run(backend->db, statement, fault);
    }
    case STORE_SCORE:
    case STORE_REMOVE_SCORE: {
      SqliteBoard *board = backend->boards[step->collection];
      int64_t sequence = backend->version * SCORES_MAX + n;
      return end_board(sqlite_board_apply(board, step, sequence), fault);
    }
  }
  return STORE_INVALID;
}

static StoreCode carry_out(Backend *backend, const StoreUnit *unit, StoreFault *fault) {
  StoreStep step;
  StoreCode code = STORE_OK;
  uint32_t n = 0;
  for (size_t at = 0; code == STORE_OK && unit_next(unit, &at, &step);)
    code = check(backend, &step, fault);
  for (size_t at = 0; code == STORE_OK && unit_next(unit, &at, &step);)
    code = write(backend, &step, n++, fault);
  return code;
}

// Ends the savepoint. After a disk error, SQLite may already have rolled the whole
// transaction back.
static void end_savepoint(Backend *backend, bool is_undone) {
  StoreFault ignored;
  if (sqlite3_get_autocommit(backend->db)) return;
  if (is_undone) sqlite_run_file(backend, FILE_UNDO, &ignored);
  sqlite_run_file(backend, FILE_RELEASE, &ignored);
}

// Carries out a unit. A unit of one statement needs no savepoint, because a statement
// is atomic.
static StoreCode apply(Backend *backend, const StoreUnit *unit, int64_t *version,
                       StoreFault *fault) {
  StoreStep step;
  size_t at = 0;
  bool is_one =
      unit_next(unit, &at, &step) && at == unit->size && step.type < STORE_SCORE;
  if (!is_one && sqlite_run_file(backend, FILE_SAVEPOINT, fault)) return fault->code;
  *version = ++backend->version;
  StoreCode code = carry_out(backend, unit, fault);
  if (!is_one) end_savepoint(backend, code != STORE_OK);
  return code;
}

// Makes the writes visible to the following read, until end_ahead.
static StoreCode write_ahead(Backend *backend, const StoreUnit *writes,
                             StoreFault *fault) {
  if (writes == NULL) return STORE_OK;
  if (sqlite_run_file(backend, FILE_SAVEPOINT, fault)) return fault->code;
  return carry_out(backend, writes, fault);
}

static void end_ahead(Backend *backend, const StoreUnit *writes) {
  if (writes != NULL) end_savepoint(backend, true);
}

static StoreCode find(Backend *backend, const StoreQuery *query, BackendOnRow *on_row,
                      void *data, StoreFault *fault) {
  StoreCode code = write_ahead(backend, query->writes, fault);
  if (code == STORE_OK) code = sqlite_find(backend, query, on_row, data, fault);
  end_ahead(backend, query->writes);
  return code;
}

static StoreCode count(Backend *backend, const StoreQuery *query, uint64_t *number,
                       StoreFault *fault) {
  StoreCode code = write_ahead(backend, query->writes, fault);
  if (code == STORE_OK) code = sqlite_count(backend, query, number, fault);
  end_ahead(backend, query->writes);
  return code;
}

// Begins a transaction for the reads, because each read outside a transaction locks the
// file.
static void begin_gets(Backend *backend) {
  StoreFault ignored;
  sqlite_run_file(backend, FILE_BEGIN_READING, &ignored);
}

static StoreCode get(Backend *backend, uint32_t collection, Text id,
                     StoreDocument *document, StoreFault *fault) {
  sqlite3_stmt *statement = backend->tables[collection].statements[TABLE_GET];
  *document = (StoreDocument){0};
  sqlite_bind(statement, 1, id);
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
    code = sqlite_fail(backend->db, fault);
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
    .define = sqlite_define,
    .list = sqlite_list,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .settle = settle,
    .apply = apply,
    .begin_gets = begin_gets,
    .end_gets = rollback,
    .get = get,
    .find = find,
    .count = count,
    .scan = sqlite_scan,
    .sql = sqlite_sql,
    .define_board = define_board,
    .read_board = read_board,
};
