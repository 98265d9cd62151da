// The back end in memory. See memory.h and backend.h. A table is an array of documents,
// sorted by id. A transaction stores the documents that it replaces, so that it can be
// rolled back.
#include "store/memory.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/mem.h"
#include "store/found.h"
#include "store/memory_board.h"

typedef struct Collection {
  char *name;
  char *fields[STORE_INDEXES_MAX + 1];
  Table table;
} Collection;

struct Backend {
  Collection **collections;  // owned, in the order of their first definition
  uint32_t count, capacity;
  Collection **by_index;  // by index of the collection; not owned
  uint32_t index_capacity;
  MemoryBoards boards;
  Changes changes;  // changes of the transaction
  int64_t version;  // last assigned version
  bool is_failing;
  MemoryFailure failure;
  Buf text;
};

// --- Failures ---

void memory_fail(Backend *backend, const MemoryFailure *failure) {
  backend->is_failing = failure != NULL;
  if (failure != NULL) backend->failure = *failure;
}

// Returns the failure that was requested for such a call, or STORE_OK.
static StoreCode fail_on_request(Backend *backend, MemoryCalls calls,
                                 StoreFault *fault) {
  MemoryFailure *failure = &backend->failure;
  if (!backend->is_failing) return STORE_OK;
  if (failure->calls != MEMORY_ALL && failure->calls != calls) return STORE_OK;
  *fault = failure->fault;
  if (failure->times > 0 && --failure->times == 0) backend->is_failing = false;
  return fault->code;
}

// --- Collections ---

static Backend *open_memory(const char *place, BackendUse use, StoreFault *fault) {
  (void)place, (void)use, (void)fault;
  return mem_zalloc(sizeof(Backend));
}

static void close_memory(Backend *backend) {
  changes_undo(&backend->changes, 0);
  for (uint32_t i = 0; i < backend->count; i++) {
    Collection *collection = backend->collections[i];
    for (char **field = collection->fields; *field != NULL; field++) mem_free(*field);
    memory_table_deinit(&collection->table);
    mem_free(collection->name);
    mem_free(collection);
  }
  memory_boards_deinit(&backend->boards);
  mem_free(backend->collections);
  mem_free(backend->by_index);
  mem_free(backend->changes.list);
  buf_deinit(&backend->text);
  mem_free(backend);
}

static Collection *get_collection(Backend *backend, const char *name) {
  for (uint32_t i = 0; i < backend->count; i++)
    if (strcmp(backend->collections[i]->name, name) == 0)
      return backend->collections[i];
  if (backend->count == backend->capacity)
    backend->capacity =
        array_grow(&backend->collections, backend->capacity, sizeof(Collection *), 8);
  Collection *collection = mem_zalloc(sizeof *collection);
  collection->name = mem_strdup(name);
  return backend->collections[backend->count++] = collection;
}

static StoreCode define(Backend *backend, uint32_t index,
                        const StoreCollection *collection, StoreFault *fault) {
  (void)fault;
  Collection *defined = get_collection(backend, collection->name);
  if (index >= backend->index_capacity)
    backend->index_capacity = array_reach(&backend->by_index, backend->index_capacity,
                                          sizeof(Collection *), index);
  backend->by_index[index] = defined;
  for (int i = 0; i <= STORE_INDEXES_MAX; i++) {
    const char *field = collection->indexes[i];
    mem_free(defined->fields[i]);
    defined->fields[i] = field != NULL ? mem_strdup(field) : NULL;
    if (field == NULL) break;
  }
  return STORE_OK;
}

static StoreCode list(Backend *backend,
                      void (*on_collection)(void *data, const StoreCollection *),
                      void *data, StoreFault *fault) {
  (void)fault;
  for (uint32_t i = 0; i < backend->count; i++) {
    StoreCollection collection = {.name = backend->collections[i]->name};
    for (int j = 0; backend->collections[i]->fields[j] != NULL; j++)
      collection.indexes[j] = backend->collections[i]->fields[j];
    on_collection(data, &collection);
  }
  return STORE_OK;
}

// --- Transactions ---

static StoreCode begin(Backend *backend, StoreFault *fault) {
  (void)backend, (void)fault;
  return STORE_OK;
}

static void rollback(Backend *backend) { changes_undo(&backend->changes, 0); }

static StoreCode commit(Backend *backend, StoreFault *fault) {
  if (fail_on_request(backend, MEMORY_COMMITS, fault)) return fault->code;
  changes_keep(&backend->changes);
  return STORE_OK;
}

static StoreCode settle(Backend *backend, bool *has_happened, StoreFault *fault) {
  *has_happened = false;
  changes_undo(&backend->changes, 0);
  return fail_on_request(backend, MEMORY_COMMITS, fault);
}

static StoreCode check(Backend *backend, const StoreStep *step, StoreFault *fault) {
  if (step->type == STORE_CHECK_FOUND)
    return found_check(&backend_memory, backend, step, fault);
  if (step->type != STORE_CHECK) return STORE_OK;
  const Document *document =
      memory_table_find(&backend->by_index[step->collection]->table, step->id);
  if ((document != NULL ? document->version : 0) == step->version) return STORE_OK;
  return store_fault(fault, STORE_CONFLICT, "another write came first");
}

static StoreCode write(Backend *backend, const StoreStep *step, StoreFault *fault) {
  if (step->type == STORE_SCORE || step->type == STORE_REMOVE_SCORE)
    return memory_boards_apply(&backend->boards, &backend->changes, step, fault);
  if (step->type != STORE_PUT && step->type != STORE_DELETE) return STORE_OK;
  Table *table = &backend->by_index[step->collection]->table;
  Document *before = memory_table_find(table, step->id);
  bool is_put = step->type == STORE_PUT;
  if (is_put && before != NULL && before->schema > step->schema)
    return store_fault(fault, STORE_NEWER,
                       "a later version of the game wrote the document");
  changes_make(&backend->changes, table, before,
               is_put ? document_new(step, backend->version) : NULL);
  return STORE_OK;
}

static StoreCode apply(Backend *backend, const StoreUnit *unit, int64_t *version,
                       StoreFault *fault) {
  StoreStep step;
  StoreCode code = fail_on_request(backend, MEMORY_WRITES, fault);
  uint32_t mark = backend->changes.count;
  *version = ++backend->version;
  for (size_t at = 0; code == STORE_OK && unit_next(unit, &at, &step);)
    code = check(backend, &step, fault);
  for (size_t at = 0; code == STORE_OK && unit_next(unit, &at, &step);)
    code = write(backend, &step, fault);
  if (code != STORE_OK) changes_undo(&backend->changes, mark);
  return code;
}

// --- Reads ---

static StoreDocument document_of(const Document *document) {
  return (StoreDocument){document->version, document->schema, document_value(document)};
}

static StoreCode get(Backend *backend, uint32_t collection, Text id,
                     StoreDocument *document, StoreFault *fault) {
  *document = (StoreDocument){0};
  if (fail_on_request(backend, MEMORY_READS, fault)) return fault->code;
  const Document *found = memory_table_find(&backend->by_index[collection]->table, id);
  if (found != NULL) *document = document_of(found);
  return STORE_OK;
}

// A found document, with the value by which it is ordered.
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

static bool satisfies(Backend *backend, const Collection *collection,
                      const StoreQuery *query, const Document *document) {
  for (uint32_t i = 0; i < query->count; i++) {
    const StoreCondition *condition = &query->conditions[i];
    backend->text.size = 0;
    StoreValue value = store_field(
        document_value(document), collection->fields[condition->field], &backend->text);
    if (!store_satisfies(condition, &value)) return false;
  }
  return true;
}

static Row row_of(const Collection *collection, const StoreQuery *query,
                  const Document *document) {
  Row row = {.query = query, .document = document, .order = {.type = STORE_NONE}};
  int32_t field = abs(query->order) - 1;
  if (field >= 0)
    row.order =
        store_field(document_value(document), collection->fields[field], &row.text);
  return row;
}

// Compares positions in the direction of the query. Documents without the field come
// last in both directions.
static int compare_places(const StoreQuery *query, const StoreValue *value, Text id,
                          const StoreValue *other_value, Text other_id) {
  bool is_none = value->type == STORE_NONE,
       other_is_none = other_value->type == STORE_NONE;
  if (is_none != other_is_none) return is_none ? 1 : -1;
  int order = store_compare(value, other_value);
  if (order == 0) order = memory_table_compare_ids(id, other_id);
  return query->order < 0 ? -order : order;
}

static void collect(Backend *backend, const StoreQuery *query,
                    const StorePosition *position, Rows *found) {
  const Collection *collection = backend->by_index[query->collection];
  const Table *table = &collection->table;
  for (uint32_t i = 0; i < table->count; i++) {
    const Document *document = table->documents[i];
    if (!satisfies(backend, collection, query, document)) continue;
    Row row = row_of(collection, query, document);
    if (position->id.size > 0 &&
        compare_places(query, &row.order, document_id(document), &position->value,
                       position->id) <= 0) {
      buf_deinit(&row.text);
      continue;
    }
    if (found->count == found->capacity)
      found->capacity =
          array_grow(&found->rows, found->capacity, sizeof *found->rows, 8);
    found->rows[found->count++] = row;
  }
}

static int compare_rows(const void *a, const void *b) {
  const Row *left = a, *right = b;
  return compare_places(left->query, &left->order, document_id(left->document),
                        &right->order, document_id(right->document));
}

static void give_rows(const StoreQuery *query, Rows *found, BackendOnRow *on_row,
                      void *data) {
  if (found->count > 0)
    qsort(found->rows, found->count, sizeof *found->rows, compare_rows);
  bool goes_on = true;
  for (uint32_t i = 0; i < found->count; i++) {
    Row *row = &found->rows[i];
    const BackendRow given = {document_id(row->document), document_of(row->document),
                              row->order};
    goes_on = goes_on && i < query->limit && on_row(data, &given);
    buf_deinit(&row->text);
  }
  mem_free(found->rows);
}

// Carries out writes before a find that must see them; the caller undoes the writes.
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
  uint32_t mark = backend->changes.count;
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
  changes_undo(&backend->changes, mark);
  return code;
}

static StoreCode count(Backend *backend, const StoreQuery *query, uint64_t *number,
                       StoreFault *fault) {
  uint32_t mark = backend->changes.count;
  StoreCode code = write_ahead(backend, query, fault);
  const Collection *collection = backend->by_index[query->collection];
  const Table *table = &collection->table;
  *number = 0;
  for (uint32_t i = 0; code == STORE_OK && i < table->count; i++)
    *number += satisfies(backend, collection, query, table->documents[i]);
  changes_undo(&backend->changes, mark);
  return code;
}

static StoreCode scan(Backend *backend, const StoreScan *scan, BackendOnRow *on_row,
                      void *data, StoreFault *fault) {
  if (fail_on_request(backend, MEMORY_READS, fault)) return fault->code;
  const Table *table = &backend->by_index[scan->collection]->table;
  uint32_t given = 0, at = memory_table_position(table, scan->after);
  for (bool goes_on = true; goes_on && at < table->count && given < scan->limit; at++) {
    const Document *document = table->documents[at];
    bool is_old =
        document->schema < scan->schema_below || scan->schema_below == UINT32_MAX;
    if (!is_old || text_equals(document_id(document), scan->after)) continue;
    const BackendRow row = {.id = document_id(document),
                            .document = document_of(document),
                            .order = {.type = STORE_NONE}};
    goes_on = on_row(data, &row);
    given++;
  }
  return STORE_OK;
}

static StoreCode define_board(Backend *backend, uint32_t index, const Board *board,
                              StoreFault *fault) {
  return memory_boards_define(&backend->boards, index, board, fault);
}

static StoreCode read_board(Backend *backend, const BoardQuery *query, Buf *out,
                            StoreFault *fault) {
  StoreCode code = fail_on_request(backend, MEMORY_READS, fault);
  if (code == STORE_OK) memory_boards_read(&backend->boards, query, out);
  return code;
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
    .define_board = define_board,
    .read_board = read_board,
    .list = list,
};
