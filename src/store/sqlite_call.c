// Calls of SQLite, and their faults.
#include "store/sqlite.h"

StoreCode sqlite_code(int result) {
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
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
      return STORE_BUSY;
    default:
      return STORE_UNAVAILABLE;
  }
}

StoreCode sqlite_fail(sqlite3 *db, StoreFault *fault) {
  StoreCode code = sqlite_code(sqlite3_extended_errcode(db));
  if (code == STORE_DAMAGED)
    return store_fault(
        fault, code, "the file of the store is damaged (%s); run `perigee store check`",
        sqlite3_errmsg(db));
  return store_fault(fault, code, "SQLite: %s", sqlite3_errmsg(db));
}

void sqlite_bind(sqlite3_stmt *statement, int at, Text text) {
  sqlite3_bind_text(statement, at, text.size > 0 ? text.bytes : "", (int)text.size,
                    SQLITE_STATIC);
}

Text sqlite_text(sqlite3_stmt *statement, int column) {
  const char *bytes = (const char *)sqlite3_column_text(statement, column);
  return (Text){bytes, (uint32_t)sqlite3_column_bytes(statement, column)};
}

StoreCode sqlite_run(sqlite3 *db, sqlite3_stmt *statement, StoreFault *fault) {
  int result = sqlite3_step(statement);
  StoreCode code = result == SQLITE_DONE ? STORE_OK : sqlite_fail(db, fault);
  sqlite3_reset(statement);
  return code;
}

StoreCode sqlite_run_file(Backend *backend, FileStatement which, StoreFault *fault) {
  return sqlite_run(backend->db, backend->statements[which], fault);
}

StoreCode sqlite_run_text(sqlite3 *db, const char *sql, StoreFault *fault) {
  int result = sqlite3_exec(db, sql, NULL, NULL, NULL);
  return result == SQLITE_OK ? STORE_OK : sqlite_fail(db, fault);
}

StoreCode sqlite_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **statement,
                         StoreFault *fault) {
  int result =
      sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, statement, NULL);
  return result == SQLITE_OK ? STORE_OK : sqlite_fail(db, fault);
}

StoreCode sqlite_read_number(sqlite3 *db, const char *sql, int64_t fallback,
                             int64_t *number, StoreFault *fault) {
  sqlite3_stmt *statement;
  *number = fallback;
  if (sqlite_prepare(db, sql, &statement, fault) != STORE_OK) return fault->code;
  int result = sqlite3_step(statement);
  if (result == SQLITE_ROW) *number = sqlite3_column_int64(statement, 0);
  StoreCode code =
      result == SQLITE_ROW || result == SQLITE_DONE ? STORE_OK : sqlite_fail(db, fault);
  sqlite3_finalize(statement);
  return code;
}
