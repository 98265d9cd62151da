// Statements of perigee.store.sql, on a read-only connection.
#include <ctype.h>
#include <math.h>

#include "store/clock.h"
#include "store/sqlite.h"
#include "wire/json.h"

enum {
  DEADLINE_STEPS = 1000,  // instructions of SQLite between two checks of the clock
  LENGTH_MAX = 16 << 20,  // limit of the bytes of a value within a statement
};

static int on_progress(void *deadline_ms) {
  return store_clock_ms() >= *(uint64_t *)deadline_ms;
}

// Allows only reads within the file.
static int authorize(void *data, int action, const char *a, const char *b,
                     const char *c, const char *d) {
  (void)data, (void)a, (void)c, (void)d;
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return sqlite3_stricmp(b, "load_extension") == 0 ||
                     sqlite3_stricmp(b, "fts3_tokenizer") ==
                         0  // gives and takes pointers
                 ? SQLITE_DENY
                 : SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

static StoreCode fail(sqlite3 *db, const StoreSql *sql, StoreFault *fault) {
  switch (sqlite3_errcode(db)) {
    case SQLITE_ERROR:
    case SQLITE_RANGE:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
      return store_fault(fault, STORE_INVALID, "SQLite: %s", sqlite3_errmsg(db));
    case SQLITE_AUTH:
      return store_fault(fault, STORE_INVALID,
                         "perigee.store.sql only reads; write with put and delete");
    case SQLITE_INTERRUPT:
      return store_fault(fault, STORE_LATE, "the statement took longer than %u ms",
                         sql->deadline_ms);
    default:
      return sqlite_fail(db, fault);
  }
}

static bool is_blank(const char *text) {
  while (isspace((unsigned char)*text) || *text == ';') text++;
  return *text == '\0';
}

static StoreCode prepare(sqlite3 *db, const StoreSql *sql, sqlite3_stmt **statement,
                         StoreFault *fault) {
  const char *rest = NULL;
  int result =
      sqlite3_prepare_v2(db, sql->text.bytes, (int)sql->text.size, statement, &rest);
  if (result != SQLITE_OK) return fail(db, sql, fault);
  Buf tail = {0};
  buf_printf(&tail, "%.*s", (int)(sql->text.bytes + sql->text.size - rest), rest);
  bool is_one = *statement != NULL && is_blank((const char *)tail.data);
  buf_deinit(&tail);
  if (!is_one)
    return store_fault(fault, STORE_INVALID, "perigee.store.sql takes one statement");
  if (sqlite3_bind_parameter_count(*statement) != (int)sql->count)
    return store_fault(fault, STORE_INVALID,
                       "the statement has %d parameters, and %u arguments were given",
                       sqlite3_bind_parameter_count(*statement), sql->count);
  return STORE_OK;
}

static void bind_argument(sqlite3_stmt *statement, int at, const StoreValue *value) {
  bool is_whole = value->type == STORE_NUMBER &&
                  value->number == floor(value->number) && fabs(value->number) < 0x1p63;
  if (value->type == STORE_TEXT)
    sqlite_bind(statement, at, value->text);
  else if (value->type == STORE_BOOLEAN || is_whole)
    sqlite3_bind_int64(statement, at, (int64_t)value->number);
  else if (value->type == STORE_NUMBER)
    sqlite3_bind_double(statement, at, value->number);
}

static void put_value(Buf *rows, sqlite3_stmt *statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      buf_printf(rows, "%lld", sqlite3_column_int64(statement, column));
      break;
    case SQLITE_FLOAT: {
      double number = sqlite3_column_double(statement, column);
      buf_printf(rows, isfinite(number) ? "%.17g" : "null", number);
      break;
    }
    case SQLITE_TEXT:
      json_put_text(rows, sqlite_text(statement, column));
      break;
    case SQLITE_BLOB: {
      const uint8_t *bytes = sqlite3_column_blob(statement, column);
      int size = sqlite3_column_bytes(statement, column);
      buf_u8(rows, '"');
      for (int i = 0; i < size; i++) buf_printf(rows, "%02x", bytes[i]);
      buf_u8(rows, '"');
      break;
    }
    default:
      buf_printf(rows, "null");
  }
}

// Appends a row as a JSON object. Omits NULL, as a Lua table omits nil.
static void put_row(Buf *rows, sqlite3_stmt *statement) {
  bool is_first = true;
  buf_u8(rows, '{');
  for (int i = 0; i < sqlite3_column_count(statement); i++) {
    if (sqlite3_column_type(statement, i) == SQLITE_NULL) continue;
    if (!is_first) buf_u8(rows, ',');
    is_first = false;
    json_put_text(rows, text_from(sqlite3_column_name(statement, i)));
    buf_u8(rows, ':');
    put_value(rows, statement, i);
  }
  buf_u8(rows, '}');
}

static StoreCode put_rows(sqlite3 *db, const StoreSql *sql, sqlite3_stmt *statement,
                          Buf *rows, StoreFault *fault) {
  int result;
  buf_u8(rows, '[');
  for (int count = 0; (result = sqlite3_step(statement)) == SQLITE_ROW; count++) {
    if (count == STORE_ROWS_MAX || rows->size > STORE_FOUND_MAX)
      return store_fault(fault, STORE_TOO_LARGE,
                         "the statement gives more than %d rows or 8 MiB; add LIMIT",
                         STORE_ROWS_MAX);
    if (count > 0) buf_u8(rows, ',');
    put_row(rows, statement);
  }
  buf_u8(rows, ']');
  return result == SQLITE_DONE ? STORE_OK : fail(db, sql, fault);
}

StoreCode sqlite_sql(Backend *backend, const StoreSql *sql, Buf *rows,
                     StoreFault *fault) {
  sqlite3_stmt *statement = NULL;
  uint64_t deadline_ms = store_clock_ms() + sql->deadline_ms;
  sqlite3_limit(backend->db, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
  sqlite3_set_authorizer(backend->db, authorize, NULL);
  sqlite3_progress_handler(backend->db, DEADLINE_STEPS, on_progress, &deadline_ms);
  StoreCode code = prepare(backend->db, sql, &statement, fault);
  for (uint32_t i = 0; code == STORE_OK && i < sql->count; i++)
    bind_argument(statement, (int)i + 1, &sql->arguments[i]);
  if (code == STORE_OK) code = put_rows(backend->db, sql, statement, rows, fault);
  sqlite3_finalize(statement);
  sqlite3_progress_handler(backend->db, 0, NULL, NULL);
  return code;
}
