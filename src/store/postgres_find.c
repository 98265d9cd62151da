// Finds in PostgreSQL. See postgres.h.
//
// A field has three columns, one for each type of its values. Therefore a find that
// orders by a field is a union of up to four parts: numbers, texts, booleans, and
// documents without the field.
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/postgres.h"

enum { PARTS = STORE_NONE + 1, ROW_FIELDS = 6 };

// SQL names, by StoreValueType.
static const char SUFFIX[] = "ntb";
static const char *const CAST[] = {"double precision", "text", "boolean"};

static const char *const OP[] = {
    [STORE_EQ] = "=", [STORE_LT] = "<",  [STORE_LE] = "<=",
    [STORE_GT] = ">", [STORE_GE] = ">=",
};

typedef struct Find {
  Backend *backend;
  const StoreQuery *query;
  const PostgresTable *table;
  const char *field;  // field by which the query orders; NULL: it orders by id
  bool is_descending;
  StorePosition after;
  PgParams params;
} Find;

static void add_value(PgParams *params, const StoreValue *value) {
  if (value->type == STORE_NUMBER)
    pg_double(params, value->number);
  else if (value->type == STORE_BOOLEAN)
    pg_text(params, text_from(value->number != 0 ? "t" : "f"));
  else
    pg_text(params, value->text);
}

// Writes the newest parameter. Booleans are passed as texts.
static void put_param(Find *find, uint8_t type) {
  buf_printf(&find->backend->sql, "$%d%s::%s", find->params.count,
             type == STORE_NUMBER ? "" : "::text", CAST[type]);
}

static void put_conditions(Find *find) {
  Buf *sql = &find->backend->sql;
  buf_printf(sql, " FROM \"%s\" WHERE true", find->table->name);
  for (uint32_t i = 0; i < find->query->count; i++) {
    const StoreCondition *condition = &find->query->conditions[i];
    uint8_t type = condition->value.type;
    add_value(&find->params, &condition->value);
    buf_printf(sql, " AND \"i_%s_%c\" %s ", find->table->indexes[condition->field],
               SUFFIX[type], OP[condition->op]);
    put_param(find, type);
  }
}

static void put_after(Find *find, uint8_t type) {
  Buf *sql = &find->backend->sql;
  char sign = find->is_descending ? '<' : '>';
  bool is_here = find->field == NULL || type == find->after.value.type;
  if (find->after.id.size == 0 || !is_here) return;
  if (find->field == NULL || type == STORE_NONE) {
    pg_text(&find->params, find->after.id);
    buf_printf(sql, " AND id %c $%d::text", sign, find->params.count);
  } else {
    add_value(&find->params, &find->after.value);
    buf_printf(sql, " AND (\"i_%s_%c\", id) %c (", find->field, SUFFIX[type], sign);
    put_param(find, type);
    pg_text(&find->params, find->after.id);
    buf_printf(sql, ", $%d::text)", find->params.count);
  }
}

// Writes the part for values of one type.
static void put_part(Find *find, uint8_t type) {
  Buf *sql = &find->backend->sql;
  const char *direction = find->is_descending ? " DESC" : "";
  const char *field = find->field;
  bool has_value = field != NULL && type != STORE_NONE;
  buf_printf(sql, "(SELECT %d, id, value::text AS json, version, schema, ", type);
  if (has_value)
    buf_printf(sql, "\"i_%s_%c\"::text AS ordered", field, SUFFIX[type]);
  else
    buf_printf(sql, "''");
  put_conditions(find);
  if (has_value)
    buf_printf(sql, " AND \"i_%s_%c\" IS NOT NULL", field, SUFFIX[type]);
  else if (field != NULL)
    postgres_put(sql,
                 " AND \"i_@_n\" IS NULL AND \"i_@_t\" IS NULL AND \"i_@_b\" IS NULL",
                 "", field);
  put_after(find, type);
  buf_printf(sql, " ORDER BY ");
  if (has_value) buf_printf(sql, "\"i_%s_%c\"%s, ", field, SUFFIX[type], direction);
  buf_printf(sql, "id%s LIMIT %u)", direction, find->query->limit);
}

// Returns whether the answer may contain documents with values of this type.
static bool is_possible(const Find *find, uint8_t type, const uint8_t *order) {
  if (find->field == NULL) return type == STORE_NONE;
  for (uint32_t i = 0; i < find->query->count; i++) {
    const StoreCondition *condition = &find->query->conditions[i];
    bool is_ordered = strcmp(find->table->indexes[condition->field], find->field) == 0;
    if (is_ordered && condition->value.type != type) return false;
  }
  if (find->after.id.size == 0) return true;
  for (int i = 0; order[i] != type; i++)
    if (order[i] == find->after.value.type) return true;
  return type == find->after.value.type;
}

// Writes the whole statement. Its outer SELECT ends the answer when it is too large, so
// that PostgreSQL does not send the rest.
static void put_find(Find *find) {
  static const uint8_t ORDERS[][PARTS] = {
      {STORE_NUMBER, STORE_TEXT, STORE_BOOLEAN, STORE_NONE},
      {STORE_BOOLEAN, STORE_TEXT, STORE_NUMBER, STORE_NONE}};
  const uint8_t *order = ORDERS[find->is_descending];
  Buf *sql = &find->backend->sql;
  const char *between = "";
  sql->size = 0;
  buf_printf(sql,
             "SELECT * FROM (SELECT *, sum(octet_length(json)) OVER"
             " (ROWS UNBOUNDED PRECEDING) - octet_length(json) AS before FROM (");
  for (int i = 0; i < PARTS; i++) {
    if (!is_possible(find, order[i], order)) continue;
    buf_printf(sql, "%s", between);
    put_part(find, order[i]);
    between = " UNION ALL ";
  }
  if (*between == '\0') buf_printf(sql, "SELECT 0, '', '' AS json, 0, 0, '' LIMIT 0");
  buf_printf(sql, ") AS parts LIMIT %u) AS found WHERE before < %d", find->query->limit,
             STORE_FOUND_MAX);
}

static StoreValue read_order(const Find *find, const PqResult *rows, int row) {
  const Pg *link = &find->backend->link;
  StoreValue value = {.type = (uint8_t)pg_field_number(link, rows, row, 0)};
  Text text = pg_field(link, rows, row, ROW_FIELDS - 1);
  if (value.type == STORE_TEXT)
    value.text = text;
  else if (value.type == STORE_NUMBER)
    value.number = strtod(text.bytes, NULL);
  else if (value.type == STORE_BOOLEAN)
    value.number = text.bytes[0] == 't';
  return value;
}

static void give_rows(const Find *find, BackendOnRow *on_row, void *data) {
  const Pg *link = &find->backend->link;
  const PqResult *rows = find->backend->rows;
  for (int row = 0; row < link->pq->ntuples(rows); row++) {
    BackendRow found = {
        .id = pg_field(link, rows, row, 1),
        .document = {.version = pg_field_number(link, rows, row, 3),
                     .schema = (uint32_t)pg_field_number(link, rows, row, 4),
                     .value = pg_field(link, rows, row, 2)},
        .order = read_order(find, rows, row),
    };
    if (!on_row(data, &found)) return;
  }
}

// Makes the query's own writes visible, in a transaction or a savepoint that `ask`
// undoes.
static StoreCode begin_writes(Backend *backend, const StoreQuery *query, bool *is_own,
                              StoreFault *fault) {
  *is_own = query->writes != NULL && !backend->is_open;
  if (*is_own && postgres_begin(backend, fault) != STORE_OK) return fault->code;
  if (postgres_begin_read(backend, fault) != STORE_OK) return fault->code;
  if (query->writes == NULL) return STORE_OK;
  pg_run_prepared(&backend->link, "savepoint", NULL);
  postgres_send_writes(backend, query->writes, 0);
  return STORE_OK;
}

static Find find_of(Backend *backend, const StoreQuery *query) {
  const PostgresTable *table = &backend->tables[query->collection];
  int32_t field = query->order < 0 ? -query->order : query->order;
  return (Find){.backend = backend,
                .query = query,
                .table = table,
                .field = field == 0 ? NULL : table->indexes[field - 1],
                .is_descending = query->order < 0};
}

// Sends the statement and waits for its rows.
static StoreCode ask(Find *find, StoreFault *fault) {
  Backend *backend = find->backend;
  bool is_own;
  StoreCode code = begin_writes(backend, find->query, &is_own, fault);
  if (code == STORE_OK) {
    pg_run(&backend->link, (const char *)backend->sql.data, &find->params);
    code = postgres_sync(backend, fault);
  }
  if (is_own)
    postgres_rollback(backend);
  else if (find->query->writes != NULL && !backend->is_broken)
    pg_run_prepared(&backend->link, "undo", NULL);
  return code;
}

StoreCode postgres_find(Backend *backend, const StoreQuery *query, BackendOnRow *on_row,
                        void *data, StoreFault *fault) {
  Buf cursor = {0};
  Find find = find_of(backend, query);
  StoreCode code = store_cursor_read(query, &cursor, &find.after, fault);
  if (code == STORE_OK) {
    put_find(&find);
    code = ask(&find, fault);
  }
  if (code == STORE_OK) give_rows(&find, on_row, data);
  buf_deinit(&cursor);
  return code;
}

StoreCode postgres_count(Backend *backend, const StoreQuery *query, uint64_t *count,
                         StoreFault *fault) {
  Find find = find_of(backend, query);
  backend->sql.size = 0;
  buf_printf(&backend->sql, "SELECT count(*)");
  put_conditions(&find);
  if (ask(&find, fault) != STORE_OK) return fault->code;
  *count = (uint64_t)pg_field_number(&backend->link, backend->rows, 0, 0);
  return STORE_OK;
}

StoreCode postgres_scan(Backend *backend, const StoreScan *scan, BackendOnRow *on_row,
                        void *data, StoreFault *fault) {
  const StoreQuery query = {.collection = scan->collection, .limit = scan->limit};
  Find find = find_of(backend, &query);
  Buf *sql = &backend->sql;
  pg_text(&find.params, scan->after);
  pg_number(&find.params, scan->schema_below);
  sql->size = 0;
  buf_printf(sql,
             "SELECT %d, id, value::text, version, schema, '' FROM \"%s\""
             " WHERE id > $1::text AND ($2::bigint = %u OR schema < $2::bigint)"
             " ORDER BY id LIMIT %u",
             STORE_NONE, find.table->name, UINT32_MAX, scan->limit);
  if (ask(&find, fault) != STORE_OK) return fault->code;
  give_rows(&find, on_row, data);
  return STORE_OK;
}
