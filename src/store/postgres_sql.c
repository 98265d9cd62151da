// perigee.store.sql in PostgreSQL. See postgres.h.
#include <stdio.h>
#include <string.h>

#include "store/clock.h"
#include "store/postgres.h"
#include "wire/json.h"

enum { FETCH = 20, GRACE_MS = 1000, SQL_SIZE = 128 };

// Types whose texts are JSON numbers, except NaN and infinities.
enum {
  TYPE_BOOLEAN = 16,
  TYPE_INT8 = 20,
  TYPE_INT2 = 21,
  TYPE_INT4 = 23,
  TYPE_FLOAT4 = 700,
  TYPE_FLOAT8 = 701,
  TYPE_NUMERIC = 1700,
};

// Returns the end of the text, name or comment that begins at `at`, because question
// marks within it are not parameters. Otherwise returns the position of the next
// character.
static uint32_t skip(Text text, uint32_t at) {
  char c = text.bytes[at], next = at + 1 < text.size ? text.bytes[at + 1] : '\0';
  const char *end = NULL;
  const char *from = text.bytes + at + 1;
  size_t left = text.size - at - 1;
  if (c == '\'' || c == '"')
    end = memchr(from, c, left);
  else if (c == '-' && next == '-')
    end = memchr(from, '\n', left);
  else if (c == '/' && next == '*')
    for (end = memchr(from + 1, '/', left - 1); end != NULL && end[-1] != '*';)
      end = memchr(end + 1, '/', (size_t)(text.bytes + text.size - end - 1));
  else
    return at + 1;
  return end != NULL ? (uint32_t)(end - text.bytes) + 1 : text.size;
}

// Writes the statement with $1 for the first `?`, and so on.
static void put_statement(Buf *sql, Text text) {
  uint32_t count = 0;
  sql->size = 0;
  buf_printf(sql, "DECLARE rows NO SCROLL CURSOR FOR ");
  for (uint32_t at = 0, end; at < text.size; at = end) {
    end = skip(text, at);
    if (text.bytes[at] == '?')
      buf_printf(sql, "$%u", ++count);
    else
      buf_append(sql, text.bytes + at, end - at);
  }
  buf_u8(sql, '\0');
}

// Adds the parameters as texts, so that PostgreSQL infers their types. `texts` contains
// those that need a NUL.
static void put_arguments(const StoreSql *sql, PgParams *params, Buf *texts) {
  size_t size = 0;
  for (uint32_t i = 0; i < sql->count; i++) size += sql->arguments[i].text.size + 1;
  buf_reserve(texts, size);  // later texts must not move earlier ones
  for (uint32_t i = 0; i < sql->count; i++) {
    const StoreValue *value = &sql->arguments[i];
    if (value->type == STORE_NUMBER) {
      pg_double(params, value->number);
      continue;
    }
    const char *text = (const char *)texts->data + texts->size;
    if (value->type == STORE_TEXT) {
      buf_append(texts, value->text.bytes, value->text.size);
      buf_u8(texts, '\0');
    } else {
      text = value->type == STORE_NONE ? NULL : value->number != 0 ? "t" : "f";
    }
    pg_c_text(params, text);
  }
}

static void put_value(Buf *out, const Pg *link, const PqResult *rows, int row,
                      int field) {
  Text text = pg_field(link, rows, row, field);
  unsigned type = link->pq->ftype(rows, field);
  bool is_number = type == TYPE_INT8 || type == TYPE_INT2 || type == TYPE_INT4 ||
                   type == TYPE_FLOAT4 || type == TYPE_FLOAT8 || type == TYPE_NUMERIC;
  bool is_finite = text.size > 0 && (text.bytes[text.size - 1] >= '0' &&
                                     text.bytes[text.size - 1] <= '9');
  if (link->pq->getisnull(rows, row, field) || (is_number && !is_finite))
    buf_append(out, "null", 4);
  else if (type == TYPE_BOOLEAN)
    buf_printf(out, text.bytes[0] == 't' ? "true" : "false");
  else if (is_number)
    buf_append(out, text.bytes, text.size);
  else
    json_put_text(out, text);
}

static void put_row(Buf *out, const Pg *link, const PqResult *rows, int row) {
  int fields = link->pq->nfields(rows);
  for (int field = 0; field < fields; field++) {
    buf_u8(out, field == 0 ? '{' : ',');
    json_put_text(out, text_from(link->pq->fname(rows, field)));
    buf_u8(out, ':');
    put_value(out, link, rows, row, field);
  }
  if (fields == 0) buf_u8(out, '{');
  buf_u8(out, '}');
}

// Limits the next statement to the time that is left. Returns false if there is none.
static bool limit_time(Pg *link, const StoreSql *sql, uint64_t end_ms,
                       StoreFault *fault) {
  char limit[SQL_SIZE];
  uint64_t now_ms = store_clock_ms();
  if (now_ms >= end_ms) {
    store_fault(fault, STORE_LATE, "the statement took longer than %u ms",
                sql->deadline_ms);
    return false;
  }
  snprintf(limit, sizeof limit, "SET LOCAL statement_timeout = %u",
           (unsigned)(end_ms - now_ms));
  pg_run(link, limit, NULL);
  return true;
}

static StoreCode fetch(Backend *backend, const StoreSql *sql, uint64_t end_ms, Buf *out,
                       StoreFault *fault) {
  const Pg *link = &backend->link;
  char fetch[SQL_SIZE];
  size_t start = out->size;
  int count = 0, got = FETCH;
  snprintf(fetch, sizeof fetch, "FETCH %d FROM rows", FETCH);
  buf_u8(out, '[');
  while (got == FETCH) {
    if (!limit_time(&backend->link, sql, end_ms, fault)) return fault->code;
    pg_run(&backend->link, fetch, NULL);
    if (postgres_sync(backend, fault) != STORE_OK) return fault->code;
    got = link->pq->ntuples(backend->rows);
    for (int row = 0; row < got; row++) {
      if (count++ > 0) buf_u8(out, ',');
      put_row(out, link, backend->rows, row);
      if (count > STORE_ROWS_MAX || out->size - start > STORE_FOUND_MAX)
        return store_fault(fault, STORE_TOO_LARGE,
                           "the statement gives more than %d rows or %d MiB",
                           STORE_ROWS_MAX, STORE_FOUND_MAX >> 20);
    }
  }
  buf_u8(out, ']');
  return STORE_OK;
}

static StoreCode run(Backend *backend, const StoreSql *sql, Buf *rows,
                     StoreFault *fault) {
  Pg *link = &backend->link;
  PgParams params = {0};
  Buf texts = {0};
  uint64_t end_ms = store_clock_ms() + sql->deadline_ms;
  put_statement(&backend->sql, sql->text);
  put_arguments(sql, &params, &texts);
  pg_run(link, "BEGIN READ ONLY", NULL);
  limit_time(link, sql, end_ms, fault);
  pg_run(link, (const char *)backend->sql.data, &params);
  StoreCode code = postgres_sync(backend, fault);
  buf_deinit(&texts);
  if (code == STORE_OK) code = fetch(backend, sql, end_ms, rows, fault);
  // The connection works, so the statement is wrong.
  if (code == STORE_UNAVAILABLE) code = fault->code = STORE_INVALID;
  return code;
}

StoreCode postgres_sql(Backend *backend, const StoreSql *sql, Buf *rows,
                       StoreFault *fault) {
  Pg *link = &backend->link;
  StoreFault ignored;
  if (sql->count > PG_PARAMS_MAX)
    return store_fault(fault, STORE_INVALID, "at most %d values", PG_PARAMS_MAX);
  if (postgres_ensure(backend, fault) != STORE_OK) return fault->code;
  uint32_t timeout_ms = link->timeout_ms;
  link->timeout_ms = sql->deadline_ms + GRACE_MS;
  StoreCode code = run(backend, sql, rows, fault);
  if (link->connection != NULL) pg_ask(link, "ROLLBACK", NULL, NULL, &ignored);
  link->timeout_ms = timeout_ms;
  return code;
}
