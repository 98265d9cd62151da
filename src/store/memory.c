// The back end in memory. See memory.h and backend.h. A table is an array of documents,
// sorted by id. A transaction keeps what it replaces, for its rollback.
#include "store/memory.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/mem.h"
#include "store/found.h"

typedef struct Document {
  int64_t version;
  uint32_t schema;
  uint32_t id_size, value_size;
  char bytes[];  // id, then value
} Document;

typedef struct Table {
  char *name;
  char *fields[STORE_INDEXES_MAX + 1];
  Document **documents;  // owned
  uint32_t count, capacity;
} Table;

// A change of the transaction.
typedef struct Change {
  Table *table;
  Document *before, *after;  // NULL: the document did not, or does not, exist
} Change;

struct Backend {
  Table **tables;  // owned, in the order of their first definition
  uint32_t count, capacity;
  Table **by_index;  // by index of the collection; not owned
  uint32_t index_capacity;
  Change *changes;  // of the transaction
  uint32_t change_count, change_capacity;
  int64_t version;  // last version that was given
  bool is_failing;
  MemoryFailure failure;
  Buf text;
};

// --- Failures ---

void memory_fail(Backend *backend, const MemoryFailure *failure) {
  backend->is_failing = failure != NULL;
  if (failure != NULL) backend->failure = *failure;
}

// Returns the failure that was requested for such a call, if any.
static StoreCode fail_on_request(Backend *backend, MemoryCalls calls,
                                 StoreFault *fault) {
  MemoryFailure *failure = &backend->failure;
  if (!backend->is_failing) return STORE_OK;
  if (failure->calls != MEMORY_ALL && failure->calls != calls) return STORE_OK;
  *fault = failure->fault;
  if (failure->times > 0 && --failure->times == 0) backend->is_failing = false;
  return fault->code;
}

// --- Documents ---

static Text id_of(const Document *document) {
  return (Text){document->bytes, document->id_size};
}

static Text value_of(const Document *document) {
  return (Text){document->bytes + document->id_size, document->value_size};
}

static int compare_texts(Text a, Text b) {
  const StoreValue left = {.type = STORE_TEXT, .text = a};
  const StoreValue right = {.type = STORE_TEXT, .text = b};
  return store_compare(&left, &right);
}

// Returns the position of the first document whose id is not before `id`.
static uint32_t find_position(const Table *table, Text id) {
  uint32_t low = 0, high = table->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (compare_texts(id_of(table->documents[middle]), id) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static Document *find_document(const Table *table, Text id) {
  uint32_t at = find_position(table, id);
  bool exists = at < table->count && text_equals(id_of(table->documents[at]), id);
  return exists ? table->documents[at] : NULL;
}

static Document *new_document(const StoreStep *step, int64_t version) {
  Document *document = mem_alloc(sizeof *document + step->id.size + step->value.size);
  *document = (Document){.version = version,
                         .schema = step->schema,
                         .id_size = step->id.size,
                         .value_size = step->value.size};
  memcpy(document->bytes, step->id.bytes, step->id.size);
  memcpy(document->bytes + step->id.size, step->value.bytes, step->value.size);
  return document;
}

// Replaces the document with the id of one of both. NULL: none.
static void replace(Table *table, const Document *before, Document *after) {
  uint32_t at = find_position(table, id_of(before != NULL ? before : after));
  Document **place = table->documents + at;
  size_t rest = (table->count - at) * sizeof *place;
  if (before != NULL && after != NULL) {
    *place = after;
  } else if (after != NULL) {
    if (table->count == table->capacity) {
      table->capacity =
          array_grow(&table->documents, table->capacity, sizeof *place, 8);
      place = table->documents + at;
    }
    memmove(place + 1, place, rest);
    *place = after;
    table->count++;
  } else if (before != NULL) {
    memmove(place, place + 1, rest - sizeof *place);
    table->count--;
  }
}

static void change(Backend *backend, Table *table, Document *before, Document *after) {
  if (before == NULL && after == NULL) return;
  replace(table, before, after);
  if (backend->change_count == backend->change_capacity)
    backend->change_capacity = array_grow(&backend->changes, backend->change_capacity,
                                          sizeof *backend->changes, 8);
  backend->changes[backend->change_count++] = (Change){table, before, after};
}

// Undoes the changes behind the first `mark` ones.
static void undo(Backend *backend, uint32_t mark) {
  while (backend->change_count > mark) {
    const Change *last = &backend->changes[--backend->change_count];
    replace(last->table, last->after, last->before);
    mem_free(last->after);
  }
}

// --- Collections ---

static Backend *open_memory(const char *place, BackendUse use, StoreFault *fault) {
  (void)place, (void)use, (void)fault;
  return mem_zalloc(sizeof(Backend));
}

static void close_memory(Backend *backend) {
  undo(backend, 0);
  for (uint32_t i = 0; i < backend->count; i++) {
    Table *table = backend->tables[i];
    for (uint32_t j = 0; j < table->count; j++) mem_free(table->documents[j]);
    for (char **field = table->fields; *field != NULL; field++) mem_free(*field);
    mem_free(table->documents);
    mem_free(table->name);
    mem_free(table);
  }
  mem_free(backend->tables);
  mem_free(backend->by_index);
  mem_free(backend->changes);
  buf_deinit(&backend->text);
  mem_free(backend);
}

static Table *get_table(Backend *backend, const char *name) {
  for (uint32_t i = 0; i < backend->count; i++)
    if (strcmp(backend->tables[i]->name, name) == 0) return backend->tables[i];
  if (backend->count == backend->capacity)
    backend->capacity =
        array_grow(&backend->tables, backend->capacity, sizeof(Table *), 8);
  Table *table = mem_zalloc(sizeof *table);
  table->name = mem_strdup(name);
  return backend->tables[backend->count++] = table;
}

static StoreCode define(Backend *backend, uint32_t index,
                        const StoreCollection *collection, StoreFault *fault) {
  (void)fault;
  Table *table = get_table(backend, collection->name);
  if (index >= backend->index_capacity)
    backend->index_capacity = array_reach(&backend->by_index, backend->index_capacity,
                                          sizeof(Table *), index);
  backend->by_index[index] = table;
  for (int i = 0; i <= STORE_INDEXES_MAX; i++) {
    const char *field = collection->indexes[i];
    mem_free(table->fields[i]);
    table->fields[i] = field != NULL ? mem_strdup(field) : NULL;
    if (field == NULL) break;
  }
  return STORE_OK;
}

static StoreCode list(Backend *backend,
                      void (*on_collection)(void *data, const StoreCollection *),
                      void *data, StoreFault *fault) {
  (void)fault;
  for (uint32_t i = 0; i < backend->count; i++) {
    StoreCollection collection = {.name = backend->tables[i]->name};
    for (int j = 0; backend->tables[i]->fields[j] != NULL; j++)
      collection.indexes[j] = backend->tables[i]->fields[j];
    on_collection(data, &collection);
  }
  return STORE_OK;
}

// --- Transactions ---

static StoreCode begin(Backend *backend, StoreFault *fault) {
  (void)backend, (void)fault;
  return STORE_OK;
}

static void rollback(Backend *backend) { undo(backend, 0); }

static StoreCode commit(Backend *backend, StoreFault *fault) {
  if (fail_on_request(backend, MEMORY_COMMITS, fault)) return fault->code;
  for (uint32_t i = 0; i < backend->change_count; i++)
    mem_free(backend->changes[i].before);
  backend->change_count = 0;
  return STORE_OK;
}

static StoreCode settle(Backend *backend, StoreFault *fault) {
  undo(backend, 0);
  return fail_on_request(backend, MEMORY_COMMITS, fault);
}

static StoreCode check(Backend *backend, const StoreStep *step, StoreFault *fault) {
  if (step->type == STORE_CHECK_FOUND)
    return found_check(&backend_memory, backend, step, fault);
  if (step->type != STORE_CHECK) return STORE_OK;
  const Document *document =
      find_document(backend->by_index[step->collection], step->id);
  if ((document != NULL ? document->version : 0) == step->version) return STORE_OK;
  return store_fault(fault, STORE_CONFLICT, "another write came first");
}

static StoreCode write(Backend *backend, const StoreStep *step, StoreFault *fault) {
  if (step->type != STORE_PUT && step->type != STORE_DELETE) return STORE_OK;
  Table *table = backend->by_index[step->collection];
  Document *before = find_document(table, step->id);
  bool is_put = step->type == STORE_PUT;
  if (is_put && before != NULL && before->schema > step->schema)
    return store_fault(fault, STORE_NEWER,
                       "a later version of the game wrote the document");
  change(backend, table, before, is_put ? new_document(step, backend->version) : NULL);
  return STORE_OK;
}

static StoreCode apply(Backend *backend, const StoreUnit *unit, int64_t *version,
                       StoreFault *fault) {
  StoreStep step;
  StoreCode code = fail_on_request(backend, MEMORY_WRITES, fault);
  uint32_t mark = backend->change_count;
  *version = ++backend->version;
  for (size_t at = 0; code == STORE_OK && unit_next(unit, &at, &step);)
    code = check(backend, &step, fault);
  for (size_t at = 0; code == STORE_OK && unit_next(unit, &at, &step);)
    code = write(backend, &step, fault);
  if (code != STORE_OK) undo(backend, mark);
  return code;
}

// --- Reads ---

static StoreDocument document_of(const Document *document) {
  return (StoreDocument){document->version, document->schema, value_of(document)};
}

static StoreCode get(Backend *backend, uint32_t collection, Text id,
                     StoreDocument *document, StoreFault *fault) {
  *document = (StoreDocument){0};
  if (fail_on_request(backend, MEMORY_READS, fault)) return fault->code;
  const Document *found = find_document(backend->by_index[collection], id);
  if (found != NULL) *document = document_of(found);
  return STORE_OK;
}

// A document that was found, with the value that it is ordered by.
typedef struct Row {
  const StoreQuery *query;
  const Document *document;
  StoreValue order;
  Buf text;
} Row;

typedef struct Rows {
  Row *rows;
  uint32_t count, capacity;
} Rows;

static bool satisfies(Backend *backend, const Table *table, const StoreQuery *query,
                      const Document *document) {
  for (uint32_t i = 0; i < query->count; i++) {
    const StoreCondition *condition = &query->conditions[i];
    backend->text.size = 0;
    StoreValue value = store_field(value_of(document), table->fields[condition->field],
                                   &backend->text);
    if (!store_satisfies(condition, &value)) return false;
  }
  return true;
}

static Row row_of(const Table *table, const StoreQuery *query,
                  const Document *document) {
  Row row = {.query = query, .document = document, .order = {.type = STORE_NONE}};
  int32_t field = abs(query->order) - 1;
  if (field >= 0)
    row.order = store_field(value_of(document), table->fields[field], &row.text);
  return row;
}

// Compares places in the direction of the query. Documents without the field are last in
// both directions.
static int compare_places(const StoreQuery *query, const StoreValue *value, Text id,
                          const StoreValue *other_value, Text other_id) {
  bool is_none = value->type == STORE_NONE,
       other_is_none = other_value->type == STORE_NONE;
  if (is_none != other_is_none) return is_none ? 1 : -1;
  int order = store_compare(value, other_value);
  if (order == 0) order = compare_texts(id, other_id);
  return query->order < 0 ? -order : order;
}

static void add_row(Rows *found, Row row) {
  if (found->count == found->capacity)
    found->capacity = array_grow(&found->rows, found->capacity, sizeof *found->rows, 8);
  found->rows[found->count++] = row;
}

static void collect(Backend *backend, const StoreQuery *query,
                    const StorePosition *position, Rows *found) {
  const Table *table = backend->by_index[query->collection];
  for (uint32_t i = 0; i < table->count; i++) {
    const Document *document = table->documents[i];
    if (!satisfies(backend, table, query, document)) continue;
    Row row = row_of(table, query, document);
    if (position->id.size == 0 || compare_places(query, &row.order, id_of(document),
                                                 &position->value, position->id) > 0)
      add_row(found, row);
    else
      buf_deinit(&row.text);
  }
}

static int compare_rows(const void *a, const void *b) {
  const Row *left = a, *right = b;
  return compare_places(left->query, &left->order, id_of(left->document), &right->order,
                        id_of(right->document));
}

static void give_rows(const StoreQuery *query, Rows *found, BackendOnRow *on_row,
                      void *data) {
  if (found->count > 0)
    qsort(found->rows, found->count, sizeof *found->rows, compare_rows);
  bool goes_on = true;
  for (uint32_t i = 0; i < found->count; i++) {
    Row *row = &found->rows[i];
    const BackendRow given = {id_of(row->document), document_of(row->document),
                              row->order};
    goes_on = goes_on && i < query->limit && on_row(data, &given);
    buf_deinit(&row->text);
  }
  mem_free(found->rows);
}

// Carries out the writes of the asking transaction; the caller undoes them.
static StoreCode write_ahead(Backend *backend, const StoreQuery *query,
                             StoreFault *fault) {
  StoreStep step;
  StoreCode code = fail_on_request(backend, MEMORY_READS, fault);
  if (query->writes == NULL) return code;
  for (size_t at = 0; code == STORE_OK && unit_next(query->writes, &at, &step);)
    code = write(backend, &step, fault);
  return code;
}

static StoreCode find(Backend *backend, const StoreQuery *query, BackendOnRow *on_row,
                      void *data, StoreFault *fault) {
  uint32_t mark = backend->change_count;
  StoreCode code = write_ahead(backend, query, fault);
  StorePosition position;
  Buf bytes = {0};
  Rows found = {0};
  if (code == STORE_OK) code = store_cursor_read(query, &bytes, &position, fault);
  if (code == STORE_OK) {
    collect(backend, query, &position, &found);
    give_rows(query, &found, on_row, data);
  }
  buf_deinit(&bytes);
  undo(backend, mark);
  return code;
}

static StoreCode count(Backend *backend, const StoreQuery *query, uint64_t *number,
                       StoreFault *fault) {
  uint32_t mark = backend->change_count;
  StoreCode code = write_ahead(backend, query, fault);
  const Table *table = backend->by_index[query->collection];
  *number = 0;
  for (uint32_t i = 0; code == STORE_OK && i < table->count; i++)
    *number += satisfies(backend, table, query, table->documents[i]);
  undo(backend, mark);
  return code;
}

static StoreCode scan(Backend *backend, const StoreScan *scan, BackendOnRow *on_row,
                      void *data, StoreFault *fault) {
  if (fail_on_request(backend, MEMORY_READS, fault)) return fault->code;
  const Table *table = backend->by_index[scan->collection];
  uint32_t given = 0, at = find_position(table, scan->after);
  for (bool goes_on = true; goes_on && at < table->count && given < scan->limit; at++) {
    const Document *document = table->documents[at];
    bool is_old =
        document->schema < scan->schema_below || scan->schema_below == UINT32_MAX;
    if (!is_old || text_equals(id_of(document), scan->after)) continue;
    const BackendRow row = {.id = id_of(document),
                            .document = document_of(document),
                            .order = {.type = STORE_NONE}};
    goes_on = on_row(data, &row);
    given++;
  }
  return STORE_OK;
}

const BackendOps backend_memory = {
    .open = open_memory,
    .close = close_memory,
    .define = define,
    .begin = begin,
    .commit = commit,
    .rollback = rollback,
    .settle = settle,
    .apply = apply,
    .get = get,
    .find = find,
    .count = count,
    .scan = scan,
    .list = list,
};
