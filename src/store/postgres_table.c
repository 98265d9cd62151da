// The tables of PostgreSQL and their statements. See postgres.h.
//
// An indexed field has three generated columns, one for each type, each with an index.
// With these, documents are found and ordered as in SQLite. The order of jsonb itself
// is different.
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "store/postgres.h"

enum { FORMAT = 1 };

// Serializes servers that create tables at the same time.
#define LOCK "SELECT pg_advisory_xact_lock(1347569478)"

static const char *const CREATE[] = {
    "CREATE TABLE IF NOT EXISTS perigee_store (format integer NOT NULL)",
    "INSERT INTO perigee_store SELECT 1 WHERE NOT EXISTS (SELECT FROM perigee_store)",
    "CREATE TABLE IF NOT EXISTS perigee_writers (writer uuid PRIMARY KEY,"
    " number bigint NOT NULL, seen_at timestamptz NOT NULL,"
    " is_over boolean NOT NULL DEFAULT false)",
    "CREATE SEQUENCE IF NOT EXISTS perigee_version INCREMENT BY 1000",
    "CREATE OR REPLACE FUNCTION perigee_expect(actual bigint, expected bigint)"
    " RETURNS void LANGUAGE plpgsql AS $$ BEGIN IF actual <> expected THEN"
    " RAISE EXCEPTION 'another write came first' USING ERRCODE = 'PGE01';"
    " END IF; END $$",
    "CREATE OR REPLACE FUNCTION perigee_schema(stored bigint, written bigint)"
    " RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN IF stored > written THEN"
    " RAISE EXCEPTION 'the document is newer' USING ERRCODE = 'PGE02';"
    " END IF; RETURN written; END $$",
};

static const char CLEAN[] =
    "DELETE FROM perigee_writers WHERE seen_at < now() - interval '30 days'";

typedef struct Statement {
  const char *name, *sql;
} Statement;

static const Statement SESSION[] = {
    {"begin", "BEGIN ISOLATION LEVEL SERIALIZABLE"},
    {"commit", "COMMIT"},
    {"rollback", "ROLLBACK"},
    {"savepoint", "SAVEPOINT unit"},
    {"release", "RELEASE SAVEPOINT unit"},
    {"undo", "ROLLBACK TO SAVEPOINT unit"},
};

static const Statement WRITER[] = {
    {"version", "SELECT nextval('perigee_version')"},
    {"write",
     "WITH row AS (UPDATE perigee_writers SET number = $2::bigint, seen_at = now()"
     " WHERE writer = $1::text::uuid AND NOT is_over RETURNING 1)"
     " SELECT perigee_expect((SELECT count(*) FROM row), 1)"},
};

// Prepared statements of a collection; each name begins with a letter.
static const Statement TABLE[] = {
    {"p",
     "INSERT INTO \"#\" (id, value, version, schema, updated_at)"
     " VALUES ($1::text, $2::text::jsonb, $3::bigint, $4::bigint, now())"
     " ON CONFLICT (id) DO UPDATE SET value = excluded.value,"
     " version = excluded.version, updated_at = excluded.updated_at,"
     " schema = perigee_schema(\"#\".schema, excluded.schema)"},
    {"d", "DELETE FROM \"#\" WHERE id = $1::text"},
    {"c",
     "SELECT perigee_expect(coalesce((SELECT version FROM \"#\""
     " WHERE id = $1::text), 0), $2::bigint)"},
    {"g", "SELECT value::text, version, schema FROM \"#\" WHERE id = $1::text"},
};

static const char CREATE_TABLE[] =
    "CREATE TABLE IF NOT EXISTS \"#\" (id text COLLATE \"C\" PRIMARY KEY,"
    " value jsonb NOT NULL, version bigint NOT NULL, schema bigint NOT NULL,"
    " updated_at timestamptz NOT NULL)";

static const char *const ADD_INDEX[] = {
    "ALTER TABLE \"#\" ADD COLUMN \"i_@_n\" double precision GENERATED ALWAYS AS"
    " (CASE jsonb_typeof(value -> '@') WHEN 'number' THEN"
    " (value -> '@')::double precision END) STORED,"
    " ADD COLUMN \"i_@_t\" text COLLATE \"C\" GENERATED ALWAYS AS"
    " (CASE jsonb_typeof(value -> '@') WHEN 'string' THEN value ->> '@' END) STORED,"
    " ADD COLUMN \"i_@_b\" boolean GENERATED ALWAYS AS"
    " (CASE jsonb_typeof(value -> '@') WHEN 'boolean' THEN"
    " (value -> '@')::boolean END) STORED",
    "CREATE INDEX ON \"#\" (\"i_@_n\", id) WHERE \"i_@_n\" IS NOT NULL",
    "CREATE INDEX ON \"#\" (\"i_@_t\", id) WHERE \"i_@_t\" IS NOT NULL",
    "CREATE INDEX ON \"#\" (\"i_@_b\", id) WHERE \"i_@_b\" IS NOT NULL",
};

static const char REMOVE_INDEX[] =
    "ALTER TABLE \"#\" DROP COLUMN \"i_@_n\", DROP COLUMN \"i_@_t\","
    " DROP COLUMN \"i_@_b\"";

enum {
  ADDS = sizeof ADD_INDEX / sizeof *ADD_INDEX,
  CREATES = sizeof CREATE / sizeof *CREATE,
  SESSIONS = sizeof SESSION / sizeof *SESSION,
  WRITERS = sizeof WRITER / sizeof *WRITER,
  TABLES = sizeof TABLE / sizeof *TABLE,
};

// --- Prepared statements ---

void postgres_put(Buf *sql, const char *pattern, const char *table, const char *field) {
  for (; *pattern != '\0'; pattern++) {
    if (*pattern == '#')
      buf_append(sql, table, strlen(table));
    else if (*pattern == '@')
      buf_append(sql, field, strlen(field));
    else
      buf_u8(sql, (uint8_t)*pattern);
  }
  *buf_reserve(sql, 1) = '\0';
}

const char *postgres_statement(char *name, char kind, uint32_t index) {
  snprintf(name, STATEMENT_NAME_SIZE, "%c%u", kind, index);
  return name;
}

static void prepare_table(Backend *backend, uint32_t index) {
  char name[STATEMENT_NAME_SIZE];
  Buf *sql = &backend->sql;
  for (int i = 0; i < TABLES; i++) {
    sql->size = 0;
    postgres_put(sql, TABLE[i].sql, backend->tables[index].name, "");
    pg_prepare(&backend->link, postgres_statement(name, *TABLE[i].name, index),
               (const char *)sql->data);
  }
}

void postgres_prepare(Backend *backend) {
  Pg *link = &backend->link;
  for (int i = 0; i < SESSIONS; i++) pg_prepare(link, SESSION[i].name, SESSION[i].sql);
  for (int i = 0; i < WRITERS && backend->use == BACKEND_SERVE; i++)
    pg_prepare(link, WRITER[i].name, WRITER[i].sql);
  for (uint32_t i = 0; i < backend->capacity; i++)
    if (backend->tables[i].name != NULL) prepare_table(backend, i);
  postgres_prepare_boards(backend);
}

// --- The store's own tables ---

static StoreCode create(Backend *backend, StoreFault *fault) {
  Pg *link = &backend->link;
  pg_run(link, "BEGIN", NULL);
  pg_run(link, LOCK, NULL);
  for (int i = 0; i < CREATES; i++) pg_run(link, CREATE[i], NULL);
  postgres_create_boards(backend);
  pg_run(link, "COMMIT", NULL);
  StoreFault ignored;
  StoreCode code = pg_sync(link, NULL, fault);
  if (code != STORE_OK) pg_ask(link, "ROLLBACK", NULL, NULL, &ignored);
  return code;
}

StoreCode postgres_set_up(Backend *backend, StoreFault *fault) {
  Pg *link = &backend->link;
  if (pg_ask(link, "SELECT to_regclass('perigee_store') IS NOT NULL", NULL,
             &backend->rows, fault) != STORE_OK)
    return fault->code;
  bool exists = pg_field(link, backend->rows, 0, 0).bytes[0] == 't';
  if (!exists && backend->use == BACKEND_READ)
    return store_fault(fault, STORE_UNAVAILABLE,
                       "the PostgreSQL database has no store of perigee");
  if (!exists && create(backend, fault) != STORE_OK) return fault->code;
  link->pq->clear(backend->rows);
  backend->rows = NULL;
  if (pg_ask(link, "SELECT format FROM perigee_store", NULL, &backend->rows, fault) !=
      STORE_OK)
    return fault->code;
  if (pg_field_number(link, backend->rows, 0, 0) > FORMAT)
    return store_fault(fault, STORE_UNAVAILABLE,
                       "the PostgreSQL database was written by a later version of"
                       " perigee");
  if (backend->use == BACKEND_READ) return STORE_OK;
  return pg_ask(link, CLEAN, NULL, NULL, fault);
}

// --- Collections ---

static void free_table(PostgresTable *table) {
  mem_free(table->name);
  for (char **field = table->indexes; *field != NULL; field++) mem_free(*field);
  *table = (PostgresTable){0};
}

void postgres_free_tables(Backend *backend) {
  for (uint32_t i = 0; i < backend->capacity; i++) free_table(&backend->tables[i]);
  for (uint32_t i = 0; i < backend->boards_capacity; i++)
    mem_free((char *)backend->boards[i].name);
  mem_free(backend->tables);
  mem_free(backend->boards);
}

// Selects the fields that have columns, by the columns for numbers.
static void ask_fields(Backend *backend, const char *name) {
  PgParams params = {0};
  pg_text(&params, text_from(name));
  pg_run(&backend->link,
         "SELECT substr(attname, 3, length(attname) - 4) FROM pg_attribute"
         " WHERE attrelid = quote_ident($1::text)::regclass AND NOT attisdropped"
         " AND attname ~ '^i_.*_n$' AND attgenerated = 's'",
         &params);
}

static void change_field(Backend *backend, const char *pattern, const char *table,
                         const char *field) {
  backend->sql.size = 0;
  postgres_put(&backend->sql, pattern, table, field);
  pg_run(&backend->link, (const char *)backend->sql.data, NULL);
}

// Sends the changes of the columns. `rows` lists the fields that already have columns.
static void change_indexes(Backend *backend, const StoreCollection *collection,
                           const PqResult *rows) {
  const Pq *pq = backend->link.pq;
  bool is_new[STORE_INDEXES_MAX];
  memset(is_new, 1, sizeof is_new);
  for (int row = 0; row < pq->ntuples(rows); row++) {
    const char *field = pq->getvalue(rows, row, 0);
    bool is_wanted = false;
    for (int i = 0; collection->indexes[i] != NULL; i++) {
      if (strcmp(collection->indexes[i], field) != 0) continue;
      is_wanted = true;
      is_new[i] = false;
    }
    if (!is_wanted) change_field(backend, REMOVE_INDEX, collection->name, field);
  }
  for (int i = 0; collection->indexes[i] != NULL; i++)
    for (int j = 0; j < ADDS && is_new[i]; j++)
      change_field(backend, ADD_INDEX[j], collection->name, collection->indexes[i]);
}

static StoreCode change(Backend *backend, const StoreCollection *collection,
                        StoreFault *fault) {
  Pg *link = &backend->link;
  pg_run(link, "BEGIN", NULL);
  pg_run(link, "SET LOCAL statement_timeout = 0", NULL);
  pg_run(link, LOCK, NULL);
  change_field(backend, CREATE_TABLE, collection->name, "");
  ask_fields(backend, collection->name);
  if (postgres_sync(backend, fault) != STORE_OK) return fault->code;
  change_indexes(backend, collection, backend->rows);
  pg_run(link, "COMMIT", NULL);
  return postgres_sync(backend, fault);
}

static void keep(Backend *backend, uint32_t index, const StoreCollection *collection) {
  if (index >= backend->capacity)
    backend->capacity =
        array_reach(&backend->tables, backend->capacity, sizeof(PostgresTable), index);
  PostgresTable *table = &backend->tables[index];
  free_table(table);
  table->name = mem_strdup(collection->name);
  for (int i = 0; collection->indexes[i] != NULL; i++)
    table->indexes[i] = mem_strdup(collection->indexes[i]);
}

// Creates or changes a table without a time limit, because indexing a large table may
// take long.
StoreCode postgres_define(Backend *backend, uint32_t index,
                          const StoreCollection *collection, StoreFault *fault) {
  Pg *link = &backend->link;
  StoreCode code = postgres_ensure(backend, fault);
  if (code != STORE_OK) return code;
  bool is_known = index < backend->capacity && backend->tables[index].name != NULL;
  if (backend->use == BACKEND_SERVE) {
    uint32_t timeout_ms = link->timeout_ms;
    link->timeout_ms = 0;
    code = change(backend, collection, fault);
    link->timeout_ms = timeout_ms;
    StoreFault ignored;
    if (code != STORE_OK) pg_ask(link, "ROLLBACK", NULL, NULL, &ignored);
  }
  if (code != STORE_OK) return code;
  keep(backend, index, collection);
  if (is_known) return STORE_OK;
  prepare_table(backend, index);
  code = postgres_sync(backend, fault);
  if (code != STORE_OK) free_table(&backend->tables[index]);
  return code;
}

// --- The list of collections ---

static const char LIST[] =
    "SELECT relname, array_to_string(ARRAY(SELECT substr(attname, 3, length(attname) - "
    "4)"
    " FROM pg_attribute WHERE attrelid = pg_class.oid AND attgenerated = 's'"
    " AND NOT attisdropped AND attname ~ '^i_.*_n$' ORDER BY attnum), ',')"
    " FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid)"
    " AND (SELECT count(*) FROM pg_attribute WHERE attrelid = pg_class.oid"
    " AND NOT attisdropped"
    " AND attname IN ('id', 'value', 'version', 'schema', 'updated_at')) = 5"
    " ORDER BY relname COLLATE \"C\"";

StoreCode postgres_list(Backend *backend,
                        void (*on_collection)(void *data, const StoreCollection *),
                        void *data, StoreFault *fault) {
  const Pq *pq = backend->link.pq;
  if (postgres_begin_read(backend, fault) != STORE_OK) return fault->code;
  pg_run(&backend->link, LIST, NULL);
  if (postgres_sync(backend, fault) != STORE_OK) return fault->code;
  for (int row = 0; row < pq->ntuples(backend->rows); row++) {
    StoreCollection collection = {.name = pq->getvalue(backend->rows, row, 0)};
    char *rest = pq->getvalue(backend->rows, row, 1);
    for (int i = 0; i < STORE_INDEXES_MAX && rest != NULL && *rest != '\0'; i++)
      collection.indexes[i] = strsep(&rest, ",");
    on_collection(data, &collection);
  }
  return STORE_OK;
}
