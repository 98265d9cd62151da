// See store.h. The loop's half of the store: the open unit, requests, limits and
// answers. writer.c is the thread's half.
#include "store/store.h"

#include <assert.h>

#include "base/mem.h"
#include "store/cache.h"
#include "store/service.h"
#include "store/sql_thread.h"
#include "store/writer.h"

struct Store {
  Writer *writer;    // writer, which the thread uses if one exists
  Service *service;  // service; NULL: the store has no thread
  Backend *backend;  // owned by the writer
  Cache *cache;      // cache; NULL: none
  SqlThread *sql;    // thread for store_sql; NULL until first used
  char *place;       // owned
  Loop *loop;        // loop; NULL: the store has no thread
  StoreEnd *on_end;
  void *data;
  StoreUnit open;  // unit of the running handler
  uint32_t steps;  // steps of `open`
  size_t bytes;    // bytes of steps that are not committed, without those of `open`
  RequestList written;
  StoreStats stats;
  bool has_posted;
  uint32_t stop_ms;  // longest wait of store_close
  bool *is_whole;    // result of store_close, once it was called
};

// --- The thread ---

static uint64_t serve(void *data, RequestList *requests, RequestList *ended,
                      uint64_t now_ms, uint64_t end_ms) {
  const Store *store = data;
  return writer_serve(store->writer, requests, ended, now_ms, end_ms);
}

// --- Answers ---

static void count(Store *store, const Request *request) {
  StoreCode code = request->answer.fault.code;
  if (code != STORE_OK) store->stats.failures[code]++;
  if (request->type != REQUEST_UNIT) return;
  store->stats.waiting -= request->steps;
  store->bytes -= request->unit.size;
  if (code == STORE_OK) store->stats.writes += request->steps;
}

static void keep_in_cache(Store *store, const Request *request) {
  const StoreAnswer *answer = &request->answer;
  bool is_ok = answer->fault.code == STORE_OK;
  StoreStep step;
  size_t at = 0;
  if (store->cache == NULL) return;
  if (request->type == REQUEST_UNIT)
    cache_end(store->cache, &request->unit, is_ok ? answer->version : 0);
  if (request->type != REQUEST_GET || !is_ok) return;
  unit_next(&request->unit, &at, &step);
  cache_put(store->cache, request->collection, step.id, &answer->document);
}

static void answer(Store *store, Request *request) {
  count(store, request);
  keep_in_cache(store, request);
  if (request->token != 0 || request->answer.fault.code != STORE_OK)
    store->on_end(store->data, &request->answer, &request->unit);
  store_request_free(request);
}

static void on_read(void *data, RequestList *ended) {
  for (Request *request; (request = request_pop(ended)) != NULL;) answer(data, request);
}

// Passes a statement to its thread, now that all earlier writes are on disk.
static void read_sql(Store *store, Request *request) {
  const BackendOps *ops = writer_ops(store->writer);
  StoreFault *fault = &request->answer.fault;
  bool is_possible = store->loop != NULL && ops->sql != NULL;
  if (store->sql == NULL && is_possible)
    store->sql = sql_thread_start(store->loop, ops, store->place, on_read, store);
  if (store->sql != NULL) {
    sql_thread_post(store->sql, request);
    return;
  }
  if (is_possible)
    store_fault(fault, STORE_UNAVAILABLE, "the system cannot create a thread");
  else
    store_fault(fault, STORE_INVALID, "perigee.store.sql needs SQLite or PostgreSQL");
  answer(store, request);
}

static void on_ended(void *data, RequestList *ended) {
  for (Request *request; (request = request_pop(ended)) != NULL;) {
    if (request->type == REQUEST_SQL && request->answer.fault.code == STORE_OK)
      read_sql(data, request);
    else
      answer(data, request);
  }
}

// --- Opening and closing ---

// Frees the store, and returns its back end.
static Backend *store_free(Store *store) {
  Backend *backend = writer_free(store->writer);
  request_free_all(&store->written);
  if (store->cache != NULL) cache_free(store->cache);
  buf_deinit(&store->open);
  mem_free(store->place);
  mem_free(store);
  return backend;
}

static void on_thread_end(void *data) {
  Store *store = data;
  const BackendOps *ops = writer_ops(store->writer);
  if (store->is_whole != NULL) *store->is_whole = writer_lost(store->writer) == 0;
  ops->close(store_free(store));
}

Store *store_open(Loop *loop, const StoreOptions *options, StoreFault *fault) {
  static const ServiceEvents EVENTS = {serve, on_ended, on_thread_end};
  const BackendOps *ops = options->ops;
  Backend *backend = options->backend != NULL
                         ? options->backend
                         : ops->open(options->place, BACKEND_SERVE, fault);
  if (backend == NULL) return NULL;
  if (ops->set_timeout != NULL) ops->set_timeout(backend, options->timeout_ms);
  Store *store = mem_zalloc(sizeof *store);
  const WriterOptions writer = {ops, backend, options->delay_ms, options->timeout_ms};
  store->writer = writer_new(&writer);
  store->backend = backend;
  store->place = options->place != NULL ? mem_strdup(options->place) : NULL;
  store->loop = loop;
  store->stop_ms = options->stop_ms > 0 ? options->stop_ms : STORE_STOP_MS;
  store->on_end = options->on_end;
  store->data = options->data;
  if (options->cache_bytes > 0 && !ops->is_shared)
    store->cache = cache_new(options->cache_bytes);
  if (loop == NULL) return store;
  store->service = service_start(loop, &EVENTS, store);
  if (store->service != NULL) return store;
  store_fault(fault, STORE_UNAVAILABLE, "the system cannot create a thread");
  on_thread_end(store);
  return NULL;
}

// Carries out all requests of a store without a thread. Tries each only once.
static void serve_last(Store *store) {
  RequestList ended = {0};
  writer_serve(store->writer, &store->written, &ended, 0, 0);
  request_free_all(&ended);
}

bool store_close(Store *store) {
  if (store == NULL) return true;
  bool *is_whole = mem_alloc(sizeof *is_whole);  // outlives the store
  const BackendOps *ops = writer_ops(store->writer);
  *is_whole = true;
  store->is_whole = is_whole;
  if (store->service != NULL) {
    sql_thread_close(store->sql);
    service_post(store->service, &store->written);
    uint64_t end_ms = service_close(store->service, store->stop_ms);
    if (ops->interrupt != NULL) ops->interrupt(store->backend, end_ms);
    service_wait(store->service);
  } else {
    serve_last(store);
    on_thread_end(store);
  }
  bool result = *is_whole;
  mem_free(is_whole);
  return result;
}

uint64_t store_serve(Store *store, uint64_t now_ms) {
  RequestList ended = {0};
  assert(store->service == NULL && "a store with a thread");
  uint64_t next_ms =
      writer_serve(store->writer, &store->written, &ended, now_ms, UINT64_MAX);
  on_ended(store, &ended);
  return next_ms;
}

Backend *store_take_backend(Store *store, bool is_crash) {
  assert(store->service == NULL && "a store with a thread");
  if (!is_crash) serve_last(store);
  return store_free(store);
}

Backend *store_backend(const Store *store) {
  assert(store->service == NULL && "a store with a thread");
  return store->backend;
}

// A page of store_read_all.
typedef struct Page {
  BackendOnRow *on_row;
  void *data;
  uint32_t count;
  Buf last;  // id of the last document
} Page;

static bool on_page_row(void *data, const BackendRow *row) {
  Page *page = data;
  page->count++;
  page->last.size = 0;
  buf_append(&page->last, row->id.bytes, row->id.size);
  return page->on_row(page->data, row);
}

// Returns the back end's functions for calls on the loop. Such calls are only allowed
// before the first request, while the thread does not use the back end.
static const BackendOps *ops_now(const Store *store) {
  assert(!store->has_posted && "the thread uses the back end");
  return writer_ops(store->writer);
}

StoreCode store_define_now(Store *store, uint32_t index,
                           const StoreCollection *collection, StoreFault *fault) {
  return ops_now(store)->define(store->backend, index, collection, fault);
}

StoreCode store_read(Store *store, uint32_t index, Text id, StoreDocument *document,
                     StoreFault *fault) {
  return ops_now(store)->get(store->backend, index, id, document, fault);
}

StoreCode store_read_all(Store *store, uint32_t index, BackendOnRow *on_row, void *data,
                         StoreFault *fault) {
  enum { PAGE = 100 };
  const BackendOps *ops = ops_now(store);
  Page page = {.on_row = on_row, .data = data};
  StoreCode code = STORE_OK;
  for (bool is_over = false; code == STORE_OK && !is_over;) {
    StoreScan scan = {
        .collection = index,
        .schema_below = UINT32_MAX,
        .limit = PAGE,
        .after = {(const char *)page.last.data, (uint32_t)page.last.size}};
    Buf after = page.last;
    page.last = (Buf){0};
    page.count = 0;
    code = ops->scan(store->backend, &scan, on_page_row, &page, fault);
    buf_deinit(&after);
    is_over = page.count == 0;
  }
  buf_deinit(&page.last);
  return code;
}

// --- The open unit ---

StoreCode store_step(Store *store, const StoreStep *step) {
  if (step->value.size > STORE_STEP_MAX) return STORE_TOO_LARGE;
  if (store->stats.waiting + store->steps >= STORE_WRITES_MAX ||
      store->bytes + store->open.size >= STORE_WRITES_BYTES_MAX)
    return STORE_SLOW;
  unit_push(&store->open, step);
  store->steps++;
  return STORE_OK;
}

size_t store_mark(const Store *store) { return store->open.size; }

bool store_next_step(const Store *store, size_t *at, StoreStep *step) {
  return unit_next(&store->open, at, step);
}

static void count_open(Store *store) {
  StoreStep step;
  store->steps = 0;
  for (size_t at = 0; unit_next(&store->open, &at, &step);) store->steps++;
}

void store_cut(Store *store, size_t mark) {
  store->open.size = mark;
  count_open(store);
}

StoreUnit store_take_unit(Store *store) {
  StoreUnit unit = store->open;
  store->open = (StoreUnit){0};
  store->steps = 0;
  return unit;
}

void store_give_unit(Store *store, StoreUnit *unit) {
  assert(store->open.size == 0 && "a unit is open");
  buf_deinit(&store->open);
  store->open = *unit;
  *unit = (StoreUnit){0};
  count_open(store);
}

// --- Requests ---

static Request *add(Store *store, RequestType type, uint32_t token) {
  Request *request = mem_zalloc(sizeof *request);
  request->type = type;
  request->token = request->answer.token = token;
  request_push(&store->written, request);
  return request;
}

void store_end_unit(Store *store, uint32_t token) {
  if (store->steps == 0 && token == 0) return;
  Request *request = add(store, REQUEST_UNIT, token);
  request->steps = store->steps;
  request->unit = store_take_unit(store);
  store->stats.waiting += request->steps;
  store->bytes += request->unit.size;
  if (store->cache != NULL) cache_begin(store->cache, &request->unit);
}

bool store_cached(Store *store, uint32_t collection, Text id, StoreDocument *document) {
  bool is_hit =
      store->cache != NULL && cache_get(store->cache, collection, id, document);
  store->stats.cache_hits += is_hit;
  return is_hit;
}

void store_get(Store *store, uint32_t token, uint32_t collection, Text id) {
  Request *request = add(store, REQUEST_GET, token);
  request->collection = collection;
  unit_push(&request->unit, &(StoreStep){.id = id});
}

void store_find(Store *store, uint32_t token, const StoreQuery *query) {
  Request *request = add(store, REQUEST_FIND, token);
  request_set_query(request, query);
  buf_append(&request->unit, store->open.data, store->open.size);
}

void store_scan(Store *store, uint32_t token, const StoreScan *scan) {
  request_set_scan(add(store, REQUEST_SCAN, token), scan);
}

void store_sql(Store *store, uint32_t token, const StoreSql *sql) {
  request_set_sql(add(store, REQUEST_SQL, token), sql);
}

void store_flush(Store *store, uint32_t token) { add(store, REQUEST_FLUSH, token); }

void store_define(Store *store, uint32_t token, uint32_t index,
                  const StoreCollection *collection) {
  Request *request = add(store, REQUEST_DEFINE, token);
  request->collection = index;
  request_set_definition(request, collection);
}

void store_read_board(Store *store, uint32_t token, const BoardQuery *query) {
  request_set_board_query(add(store, REQUEST_READ_BOARD, token), query);
}

void store_define_board(Store *store, uint32_t token, uint32_t index,
                        const Board *board) {
  Request *request = add(store, REQUEST_DEFINE_BOARD, token);
  request->collection = index;
  request_set_board(request, board);
}

void store_post(Store *store) {
  if (store->service == NULL || store->written.first == NULL) return;
  store->has_posted = true;
  service_post(store->service, &store->written);
}

StoreStats store_stats(const Store *store) {
  StoreStats stats = store->stats;
  writer_count(store->writer, &stats);
  return stats;
}
