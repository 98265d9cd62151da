// The tables of the back end SQLite. An indexed field is a generated column `i_FIELD`
// with the index `TABLE.FIELD`. Its values sort as documents do: numbers, then texts,
// then booleans, which are blobs. Other values become NULL.
#include <stdio.h>

#include "base/array.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/clock.h"
#include "store/sqlite.h"

enum {
  PROGRESS_STEPS = 100000,  // instructions of SQLite between two checks of the clock
  LOG_EVERY_MS = 1000,
};

static const char *const TABLE_SQL[TABLE_STATEMENTS] = {
    [TABLE_PUT] =
        "INSERT INTO \"%s\" (id, value, version, schema, updated_at)"
        " VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (id) DO UPDATE SET"
        " value = ?2, version = ?3, schema = ?4, updated_at = ?5 WHERE schema <= ?4",
    [TABLE_DELETE] = "DELETE FROM \"%s\" WHERE id = ?1",
    [TABLE_GET] = "SELECT value, version, schema FROM \"%s\" WHERE id = ?1",
    [TABLE_VERSION] = "SELECT version FROM \"%s\" WHERE id = ?1",
};

// --- Progress of long changes ---

typedef struct Progress {
  const char *table, *field;
  uint64_t start_ms, logged_ms;  // monotonic
} Progress;

static int on_progress(void *data) {
  Progress *progress = data;
  uint64_t now_ms = store_clock_ms();
  if (now_ms < progress->logged_ms + LOG_EVERY_MS) return 0;
  progress->logged_ms = now_ms;
  log_info("store_indexing", log_str("collection", progress->table),
           log_str("field", progress->field),
           log_num("seconds", (int64_t)(now_ms - progress->start_ms) / LOG_EVERY_MS));
  return 0;
}

static StoreCode run_with_progress(sqlite3 *db, const char *sql, const char *table,
                                   const char *field, StoreFault *fault) {
  uint64_t now_ms = store_clock_ms();
  Progress progress = {table, field, now_ms, now_ms};
  sqlite3_progress_handler(db, PROGRESS_STEPS, on_progress, &progress);
  StoreCode code = sqlite_run_text(db, sql, fault);
  sqlite3_progress_handler(db, 0, NULL, NULL);
  return code;
}

// --- Indexes ---

static StoreCode add_index(sqlite3 *db, const char *table, const char *field,
                           StoreFault *fault) {
  char sql[SQLITE_SQL_SIZE];
  snprintf(sql, sizeof sql,
           "ALTER TABLE \"%s\" ADD COLUMN \"i_%s\" ANY GENERATED ALWAYS AS"
           " (CASE json_type(value, '$.\"%s\"') WHEN 'true' THEN x'01'"
           " WHEN 'false' THEN x'00' WHEN 'object' THEN NULL WHEN 'array' THEN NULL"
           " ELSE json_extract(value, '$.\"%s\"') END) VIRTUAL;"
           "CREATE INDEX \"%s.%s\" ON \"%s\" (\"i_%s\", id)",
           table, field, field, field, table, field, table, field);
  return run_with_progress(db, sql, table, field, fault);
}

// Reads the indexed fields of a table; the caller frees them.
static StoreCode read_fields(sqlite3 *db, const char *table,
                             char *fields[STORE_INDEXES_MAX + 1], StoreFault *fault) {
  char sql[SQLITE_SQL_SIZE];
  sqlite3_stmt *statement;
  int count = 0;
  fields[0] = NULL;
  snprintf(sql, sizeof sql,
           "SELECT substr(name, 3) FROM pragma_table_xinfo('%s')"
           " WHERE hidden > 0 AND substr(name, 1, 2) = 'i_'",
           table);
  if (sqlite_prepare(db, sql, &statement, fault)) return fault->code;
  while (count < STORE_INDEXES_MAX && sqlite3_step(statement) == SQLITE_ROW)
    fields[count++] = mem_strdup((const char *)sqlite3_column_text(statement, 0));
  fields[count] = NULL;
  sqlite3_finalize(statement);
  return STORE_OK;
}

static void free_fields(char *fields[STORE_INDEXES_MAX + 1]) {
  for (char **field = fields; *field != NULL; field++) mem_free(*field);
  fields[0] = NULL;
}

static bool has(const char *const *fields, const char *field) {
  for (; *fields != NULL; fields++)
    if (strcmp(*fields, field) == 0) return true;
  return false;
}

static StoreCode change_indexes(sqlite3 *db, const StoreCollection *collection,
                                StoreFault *fault) {
  const char *table = collection->name;
  char *present[STORE_INDEXES_MAX + 1], sql[SQLITE_SQL_SIZE];
  StoreCode code = read_fields(db, table, present, fault);
  for (char **field = present; code == STORE_OK && *field != NULL; field++) {
    if (has(collection->indexes, *field)) continue;
    snprintf(sql, sizeof sql,
             "DROP INDEX \"%s.%s\"; ALTER TABLE \"%s\" DROP COLUMN \"i_%s\"", table,
             *field, table, *field);
    code = run_with_progress(db, sql, table, *field, fault);
  }
  for (const char *const *field = collection->indexes; code == STORE_OK && *field;
       field++)
    if (!has((const char *const *)present, *field))
      code = add_index(db, table, *field, fault);
  free_fields(present);
  return code;
}

// --- Collections ---

static StoreCode create(Backend *backend, const StoreCollection *collection,
                        StoreFault *fault) {
  char sql[SQLITE_SQL_SIZE];
  snprintf(sql, sizeof sql,
           "CREATE TABLE IF NOT EXISTS \"%s\" (id TEXT PRIMARY KEY NOT NULL,"
           " value TEXT NOT NULL, version INTEGER NOT NULL, schema INTEGER NOT NULL,"
           " updated_at INTEGER NOT NULL) STRICT",
           collection->name);
  if (sqlite_run_file(backend, FILE_BEGIN, fault)) return fault->code;
  if (sqlite_run_text(backend->db, sql, fault) == STORE_OK &&
      change_indexes(backend->db, collection, fault) == STORE_OK &&
      sqlite_run_file(backend, FILE_COMMIT, fault) == STORE_OK)
    return STORE_OK;
  StoreFault ignored;
  sqlite_run_file(backend, FILE_ROLLBACK, &ignored);
  return fault->code;
}

void sqlite_table_free(SqliteTable *table) {
  for (int i = 0; i < TABLE_STATEMENTS; i++) sqlite3_finalize(table->statements[i]);
  free_fields(table->fields);
  mem_free(table->name);
  *table = (SqliteTable){0};
}

static StoreCode prepare(Backend *backend, SqliteTable *table, StoreFault *fault) {
  char sql[SQLITE_SQL_SIZE];
  for (int i = 0; i < TABLE_STATEMENTS; i++) {
    snprintf(sql, sizeof sql, TABLE_SQL[i], table->name);
    if (sqlite_prepare(backend->db, sql, &table->statements[i], fault))
      return fault->code;
  }
  return STORE_OK;
}

// Checks the names, because they become a part of SQL text.
static bool has_names(const StoreCollection *collection) {
  bool is_name = store_is_name(collection->name);
  for (const char *const *field = collection->indexes; is_name && *field; field++)
    is_name = store_is_name(*field);
  return is_name;
}

// Creates or changes a table and its indexes. Does not change the file if a server
// serves it. In that case, only an export defines collections, and their indexes exist.
StoreCode sqlite_define(Backend *backend, uint32_t index,
                        const StoreCollection *collection, StoreFault *fault) {
  if (!has_names(collection))
    return store_fault(fault, STORE_INVALID,
                       "names of collections and of indexed fields have at most 48"
                       " letters, digits and _");
  if (index >= backend->capacity)
    backend->capacity =
        array_reach(&backend->tables, backend->capacity, sizeof(SqliteTable), index);
  if (backend->file.lock >= 0 && create(backend, collection, fault)) return fault->code;
  SqliteTable *table = &backend->tables[index];
  sqlite_table_free(table);
  table->name = mem_strdup(collection->name);
  for (int i = 0; collection->indexes[i] != NULL; i++)
    table->fields[i] = mem_strdup(collection->indexes[i]);
  return prepare(backend, table, fault);
}

static void give(sqlite3 *db, const char *name,
                 void (*on_collection)(void *data, const StoreCollection *),
                 void *data) {
  StoreCollection collection = {.name = name};
  char *fields[STORE_INDEXES_MAX + 1];
  StoreFault ignored;
  read_fields(db, name, fields, &ignored);
  for (int i = 0; fields[i] != NULL; i++) collection.indexes[i] = fields[i];
  on_collection(data, &collection);
  free_fields(fields);
}

StoreCode sqlite_list(Backend *backend,
                      void (*on_collection)(void *data, const StoreCollection *),
                      void *data, StoreFault *fault) {
  sqlite3_stmt *statement;
  if (sqlite_prepare(backend->db, SQLITE_COLLECTIONS, &statement, fault))
    return fault->code;
  int result;
  while ((result = sqlite3_step(statement)) == SQLITE_ROW)
    give(backend->db, (const char *)sqlite3_column_text(statement, 0), on_collection,
         data);
  StoreCode code = result == SQLITE_DONE ? STORE_OK : sqlite_fail(backend->db, fault);
  sqlite3_finalize(statement);
  return code;
}
