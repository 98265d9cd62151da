// Finds, counts and scans of the back end SQLite, as SQL over the generated columns. A
// find that is ordered by a field has two parts: documents with the field, then those
// without.
#include <stdlib.h>

#include "store/sqlite.h"

enum { VALUES_MAX = STORE_CONDITIONS_MAX + 3 };

// A statement that is being written, with the values of its parameters.
typedef struct Select {
  const SqliteTable *table;
  const StoreQuery *query;
  Buf sql;
  StoreValue values[VALUES_MAX];
  int count;
} Select;

static void bind_value(sqlite3_stmt *statement, int at, const StoreValue *value) {
  switch ((StoreValueType)value->type) {
    case STORE_NUMBER:
      sqlite3_bind_double(statement, at, value->number);
      break;
    case STORE_TEXT:
      sqlite_bind(statement, at, value->text);
      break;
    case STORE_BOOLEAN:
      sqlite3_bind_blob(statement, at, value->number != 0 ? "\1" : "\0", 1,
                        SQLITE_STATIC);
      break;
    case STORE_NONE:
      sqlite3_bind_null(statement, at);
      break;
  }
}

static StoreValue read_value(sqlite3_stmt *statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
    case SQLITE_FLOAT:
      return (StoreValue){.type = STORE_NUMBER,
                          .number = sqlite3_column_double(statement, column)};
    case SQLITE_TEXT:
      return (StoreValue){.type = STORE_TEXT, .text = sqlite_text(statement, column)};
    case SQLITE_BLOB: {
      const char *bytes = sqlite3_column_blob(statement, column);
      return (StoreValue){.type = STORE_BOOLEAN, .number = bytes[0]};
    }
    default:
      return (StoreValue){.type = STORE_NONE};
  }
}

static const char *column_of(const Select *select, int32_t order) {
  return select->table->fields[abs(order) - 1];
}

// Adds a condition. A comparison matches only values of its own type. If the condition
// leaves one end open, this adds a bound at that end of the type's values.
static void add_condition(Select *select, const StoreCondition *condition) {
  static const char *const OPS[] = {[STORE_EQ] = "=",
                                    [STORE_LT] = "<",
                                    [STORE_LE] = "<=",
                                    [STORE_GT] = ">",
                                    [STORE_GE] = ">="};
  static const char *const FIRST[] = {[STORE_TEXT] = "''", [STORE_BOOLEAN] = "x''"};
  static const char *const END[] = {[STORE_NUMBER] = "''", [STORE_TEXT] = "x''"};
  const char *field = select->table->fields[condition->field];
  uint8_t op = condition->op, type = condition->value.type;
  buf_printf(&select->sql, " AND \"i_%s\" %s ?", field, OPS[op]);
  bool is_below = op == STORE_LT || op == STORE_LE;
  bool is_above = op == STORE_GT || op == STORE_GE;
  if (is_below && type != STORE_NUMBER)
    buf_printf(&select->sql, " AND \"i_%s\" >= %s", field, FIRST[type]);
  if (is_above && type != STORE_BOOLEAN)
    buf_printf(&select->sql, " AND \"i_%s\" < %s", field, END[type]);
  select->values[select->count++] = condition->value;
}

static void add_conditions(Select *select) {
  buf_printf(&select->sql, " FROM \"%s\" WHERE true", select->table->name);
  for (uint32_t i = 0; i < select->query->count; i++)
    add_condition(select, &select->query->conditions[i]);
}

static StoreCode prepare(Backend *backend, const Select *select,
                         sqlite3_stmt **statement, StoreFault *fault) {
  const char *sql = (const char *)select->sql.data;
  if (sqlite_prepare(backend->db, sql, statement, fault)) return fault->code;
  for (int i = 0; i < select->count; i++)
    bind_value(*statement, i + 1, &select->values[i]);
  return STORE_OK;
}

// Calls on_row for each row. The columns are id, value, version, schema, and the field
// of the order. Stores the number of rows in `*given`.
static StoreCode give_rows(Backend *backend, sqlite3_stmt *statement,
                           BackendOnRow *on_row, void *data, uint32_t *given,
                           StoreFault *fault) {
  int result;
  bool goes_on = true;
  while (goes_on && (result = sqlite3_step(statement)) == SQLITE_ROW) {
    const BackendRow row = {
        .id = sqlite_text(statement, 0),
        .document = {.version = sqlite3_column_int64(statement, 2),
                     .schema = (uint32_t)sqlite3_column_int64(statement, 3),
                     .value = sqlite_text(statement, 1)},
        .order = read_value(statement, 4),
    };
    goes_on = on_row(data, &row);
    ++*given;
  }
  if (!goes_on) *given = UINT32_MAX;
  return !goes_on || result == SQLITE_DONE ? STORE_OK : sqlite_fail(backend->db, fault);
}

static void add_value(Select *select, StoreValue value) {
  select->values[select->count++] = value;
}

// Writes the start of the part, and its order. A part of documents with the field is
// ordered by the field, any other part by id.
static void add_order(Select *select, const StorePosition *position, bool has_field) {
  const char *direction = select->query->order < 0 ? "DESC" : "ASC";
  const char *op = select->query->order < 0 ? "<" : ">";
  const StoreValue id = {.type = STORE_TEXT, .text = position->id};
  bool is_behind = position->id.size > 0;
  if (has_field) {
    const char *field = column_of(select, select->query->order);
    buf_printf(&select->sql, " AND \"i_%s\" IS NOT NULL", field);
    if (is_behind) {
      buf_printf(&select->sql, " AND (\"i_%s\", id) %s (?, ?)", field, op);
      add_value(select, position->value);
      add_value(select, id);
    }
    buf_printf(&select->sql, " ORDER BY \"i_%s\" %s, id %s", field, direction,
               direction);
    return;
  }
  if (select->query->order != 0)
    buf_printf(&select->sql, " AND \"i_%s\" IS NULL",
               column_of(select, select->query->order));
  if (is_behind && position->value.type == STORE_NONE) {
    buf_printf(&select->sql, " AND id %s ?", op);
    add_value(select, id);
  }
  buf_printf(&select->sql, " ORDER BY id %s", direction);
}

static StoreCode find_part(Backend *backend, const StoreQuery *query,
                           const StorePosition *position, bool has_field,
                           BackendOnRow *on_row, void *data, uint32_t *given,
                           StoreFault *fault) {
  Select select = {.table = &backend->tables[query->collection], .query = query};
  sqlite3_stmt *statement = NULL;
  buf_printf(&select.sql, "SELECT id, value, version, schema, ");
  if (has_field)
    buf_printf(&select.sql, "\"i_%s\"", column_of(&select, query->order));
  else
    buf_printf(&select.sql, "NULL");
  add_conditions(&select);
  add_order(&select, position, has_field);
  buf_printf(&select.sql, " LIMIT %u", query->limit - *given);
  StoreCode code = prepare(backend, &select, &statement, fault);
  if (code == STORE_OK)
    code = give_rows(backend, statement, on_row, data, given, fault);
  sqlite3_finalize(statement);
  buf_deinit(&select.sql);
  return code;
}

StoreCode sqlite_find(Backend *backend, const StoreQuery *query, BackendOnRow *on_row,
                      void *data, StoreFault *fault) {
  StorePosition position;
  Buf bytes = {0};
  uint32_t given = 0;
  StoreCode code = store_cursor_read(query, &bytes, &position, fault);
  bool is_past_fields = position.id.size > 0 && position.value.type == STORE_NONE;
  if (code == STORE_OK && query->order != 0 && !is_past_fields)
    code = find_part(backend, query, &position, true, on_row, data, &given, fault);
  if (code == STORE_OK && given < query->limit)
    code = find_part(backend, query, &position, false, on_row, data, &given, fault);
  buf_deinit(&bytes);
  return code;
}

StoreCode sqlite_count(Backend *backend, const StoreQuery *query, uint64_t *count,
                       StoreFault *fault) {
  Select select = {.table = &backend->tables[query->collection], .query = query};
  sqlite3_stmt *statement = NULL;
  buf_printf(&select.sql, "SELECT count(*)");
  add_conditions(&select);
  StoreCode code = prepare(backend, &select, &statement, fault);
  if (code == STORE_OK && sqlite3_step(statement) == SQLITE_ROW)
    *count = (uint64_t)sqlite3_column_int64(statement, 0);
  else if (code == STORE_OK)
    code = sqlite_fail(backend->db, fault);
  sqlite3_finalize(statement);
  buf_deinit(&select.sql);
  return code;
}

StoreCode sqlite_scan(Backend *backend, const StoreScan *scan, BackendOnRow *on_row,
                      void *data, StoreFault *fault) {
  Buf sql = {0};
  sqlite3_stmt *statement;
  uint32_t given = 0;
  buf_printf(&sql,
             "SELECT id, value, version, schema, NULL FROM \"%s\" WHERE id > ?%s"
             " ORDER BY id LIMIT %u",
             backend->tables[scan->collection].name,
             scan->schema_below == UINT32_MAX ? "" : " AND schema < ?2", scan->limit);
  StoreCode code =
      sqlite_prepare(backend->db, (const char *)sql.data, &statement, fault);
  if (code == STORE_OK) {
    sqlite_bind(statement, 1, scan->after);
    if (scan->schema_below != UINT32_MAX)
      sqlite3_bind_int64(statement, 2, scan->schema_below);
    code = give_rows(backend, statement, on_row, data, &given, fault);
  }
  sqlite3_finalize(statement);
  buf_deinit(&sql);
  return code;
}
