// See store.h. A Request belongs to the list in which it is: `written` is the loop's,
// `posted` and `ended` are shared and have a lock, the others are the thread's.
#include "store/store.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "base/mem.h"
#include "os/bell.h"
#include "os/worker.h"

typedef enum RequestType {
  REQUEST_UNIT,
  REQUEST_GET,
  REQUEST_FLUSH,
  REQUEST_DEFINE,
} RequestType;

typedef struct Request {
  struct Request *next;
  RequestType type;
  uint32_t token;
  uint32_t steps;              // number of steps in `unit`
  uint32_t collection;         // of a get or a definition
  StoreUnit unit;              // of a unit; of a get, one step with the id
  StoreCollection definition;  // not owned
  StoreAnswer answer;
  Buf value;  // value of answer.document
} Request;

typedef struct RequestList {
  Request *first, *last;
} RequestList;

struct Store {
  const BackendOps *ops;
  Backend *backend;
  uint32_t delay_ms;
  StoreEnd *on_end;
  void *data;
  Bell *bell;        // rings when `ended` has more
  StoreUnit open;    // unit of the running handler
  uint32_t steps;    // steps of `open`
  uint32_t waiting;  // steps that are not committed, without those of `open`
  size_t bytes;      // bytes of these steps
  RequestList written;
  pthread_mutex_t lock;  // protects the next three fields
  pthread_cond_t more;   // signalled when `posted` has more, or at the close
  RequestList posted;
  RequestList ended;
  bool is_closed;
};

// --- Lists ---

static void push(RequestList *list, Request *request) {
  request->next = NULL;
  if (list->last != NULL)
    list->last->next = request;
  else
    list->first = request;
  list->last = request;
}

static Request *pop(RequestList *list) {
  Request *request = list->first;
  if (request == NULL) return NULL;
  list->first = request->next;
  if (list->first == NULL) list->last = NULL;
  return request;
}

static void append(RequestList *list, RequestList *more) {
  if (more->first == NULL) return;
  if (list->last != NULL)
    list->last->next = more->first;
  else
    list->first = more->first;
  list->last = more->last;
  *more = (RequestList){0};
}

static void request_free(Request *request) {
  buf_deinit(&request->unit);
  buf_deinit(&request->value);
  mem_free(request);
}

// --- The thread ---

// A transaction of the thread. `held` has its units and flushes, whose answers come after
// the commit.
typedef struct Batch {
  bool is_open;
  bool is_awaited;  // a handler waits for the commit
  struct timespec due;
  RequestList held;
} Batch;

static struct timespec time_in(uint32_t ms) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  now.tv_nsec += (long)(ms % 1000) * 1000000;
  now.tv_sec += ms / 1000 + now.tv_nsec / 1000000000;
  now.tv_nsec %= 1000000000;
  return now;
}

static void hand_over(Store *store, RequestList *list) {
  if (list->first == NULL) return;
  pthread_mutex_lock(&store->lock);
  append(&store->ended, list);
  if (!store->is_closed) bell_ring(store->bell);
  pthread_mutex_unlock(&store->lock);
}

static void answer(Store *store, Request *request) {
  RequestList one = {0};
  push(&one, request);
  hand_over(store, &one);
}

// Applies a unit in a transaction of its own, because that of its batch has failed.
static void apply_alone(Store *store, Request *request) {
  StoreFault *fault = &request->answer.fault;
  *fault = (StoreFault){0};
  if (store->ops->begin(store->backend, fault) != STORE_OK) return;
  if (store->ops->apply(store->backend, &request->unit, &request->answer.version,
                        fault) != STORE_OK ||
      store->ops->commit(store->backend, fault) != STORE_OK)
    store->ops->rollback(store->backend);
}

static void repeat_each(Store *store, RequestList *held) {
  for (Request *request = held->first; request != NULL; request = request->next)
    if (request->type == REQUEST_UNIT) apply_alone(store, request);
}

// Passes the held requests to the loop. A flush fails with the units before it that
// nobody waits for.
static void hand_over_held(Store *store, Batch *batch) {
  const StoreFault *fault = NULL;
  for (Request *request = batch->held.first; request != NULL; request = request->next) {
    if (request->type == REQUEST_FLUSH && fault != NULL)
      request->answer.fault = *fault;
    else if (request->token == 0 && request->answer.fault.code != STORE_OK)
      fault = &request->answer.fault;
  }
  batch->is_open = batch->is_awaited = false;
  hand_over(store, &batch->held);
}

// Ends the transaction. If the commit fails, its units get another chance one by one,
// because one of them may have been too large for the disk.
static void end_batch(Store *store, Batch *batch) {
  StoreFault fault = {0};
  if (batch->is_open && store->ops->commit(store->backend, &fault) != STORE_OK) {
    store->ops->rollback(store->backend);
    repeat_each(store, &batch->held);
  }
  hand_over_held(store, batch);
}

static void apply(Store *store, Batch *batch, Request *request) {
  StoreFault *fault = &request->answer.fault;
  if (!batch->is_open) {
    if (store->ops->begin(store->backend, fault) != STORE_OK) {
      answer(store, request);
      return;
    }
    batch->is_open = true;
    batch->due = time_in(store->delay_ms);
  }
  StoreCode code = store->ops->apply(store->backend, &request->unit,
                                     &request->answer.version, fault);
  push(&batch->held, request);
  if (request->token != 0) batch->is_awaited = true;
  if (!store_is_of_disk(code)) return;
  store->ops->rollback(store->backend);
  repeat_each(store, &batch->held);
  hand_over_held(store, batch);
}

static void get(Store *store, Request *request) {
  StoreStep step;
  size_t at = 0;
  StoreDocument *document = &request->answer.document;
  unit_next(&request->unit, &at, &step);
  store->ops->get(store->backend, request->collection, step.id, document,
                  &request->answer.fault);
  buf_append(&request->value, document->value.bytes, document->value.size);
  document->value.bytes = (const char *)request->value.data;
  answer(store, request);
}

static void serve(Store *store, Batch *batch, Request *request) {
  switch (request->type) {
    case REQUEST_UNIT:
      apply(store, batch, request);
      break;
    case REQUEST_GET:
      get(store, request);
      break;
    case REQUEST_FLUSH:
      push(&batch->held, request);
      batch->is_awaited = true;
      break;
    case REQUEST_DEFINE:
      end_batch(store, batch);
      store->ops->define(store->backend, request->collection, &request->definition,
                         &request->answer.fault);
      answer(store, request);
      break;
  }
}

// Waits until requests have come, the batch is due, or the store is closed. Returns the
// requests.
static RequestList next_requests(Store *store, const Batch *batch, bool *is_closed) {
  RequestList taken = {0};
  int err = 0;
  pthread_mutex_lock(&store->lock);
  while (store->posted.first == NULL && !store->is_closed && err != ETIMEDOUT)
    err = batch->is_open
              ? pthread_cond_timedwait(&store->more, &store->lock, &batch->due)
              : pthread_cond_wait(&store->more, &store->lock);
  append(&taken, &store->posted);
  *is_closed = store->is_closed;
  pthread_mutex_unlock(&store->lock);
  return taken;
}

static bool is_due(const Batch *batch) {
  struct timespec now = time_in(0);
  return batch->is_open &&
         (now.tv_sec > batch->due.tv_sec ||
          (now.tv_sec == batch->due.tv_sec && now.tv_nsec >= batch->due.tv_nsec));
}

static void run(void *data) {
  Store *store = data;
  Batch batch = {0};
  for (bool is_closed = false; !is_closed;) {
    RequestList taken = next_requests(store, &batch, &is_closed);
    for (Request *request; (request = pop(&taken)) != NULL;)
      serve(store, &batch, request);
    if (batch.is_awaited || is_closed || is_due(&batch)) end_batch(store, &batch);
    batch.is_awaited = false;
  }
}

// --- The loop ---

static void forget(Store *store, Request *request) {
  store->waiting -= request->steps;
  if (request->type == REQUEST_UNIT) store->bytes -= request->unit.size;
  request_free(request);
}

static void on_bell(void *data) {
  Store *store = data;
  pthread_mutex_lock(&store->lock);
  RequestList ended = store->ended;
  store->ended = (RequestList){0};
  pthread_mutex_unlock(&store->lock);
  for (Request *request; (request = pop(&ended)) != NULL; forget(store, request))
    if (request->token != 0 || request->answer.fault.code != STORE_OK)
      store->on_end(store->data, &request->answer, &request->unit);
}

static void free_list(RequestList *list) {
  for (Request *request; (request = pop(list)) != NULL;) request_free(request);
}

static void store_free(Store *store) {
  free_list(&store->written);
  free_list(&store->posted);
  free_list(&store->ended);
  if (store->backend != NULL) store->ops->close(store->backend);
  buf_deinit(&store->open);
  pthread_cond_destroy(&store->more);
  pthread_mutex_destroy(&store->lock);
  mem_free(store);
}

static void on_thread_end(void *data) { store_free(data); }

Store *store_open(Loop *loop, const StoreOptions *options, StoreFault *fault) {
  Store *store = mem_zalloc(sizeof *store);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&store->more, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&store->lock, NULL);
  store->ops = options->ops;
  store->delay_ms = options->delay_ms;
  store->on_end = options->on_end;
  store->data = options->data;
  store->backend = store->ops->open(options->place, BACKEND_SERVE, fault);
  if (store->backend != NULL) {
    store->bell = bell_open(loop, on_bell, store);
    if (store->bell != NULL && worker_start(loop, run, on_thread_end, store) != NULL)
      return store;
    bell_close(store->bell);
    store_fault(fault, STORE_UNAVAILABLE, "the system cannot create a thread");
  }
  store_free(store);
  return NULL;
}

void store_close(Store *store) {
  if (store == NULL) return;
  store_post(store);
  pthread_mutex_lock(&store->lock);
  store->is_closed = true;
  pthread_cond_signal(&store->more);
  bell_close(store->bell);
  pthread_mutex_unlock(&store->lock);
}

StoreCode store_step(Store *store, const StoreStep *step) {
  if (step->value.size > STORE_VALUE_MAX) return STORE_TOO_LARGE;
  if (store->waiting + store->steps >= STORE_WRITES_MAX ||
      store->bytes + store->open.size >= STORE_WRITES_BYTES_MAX)
    return STORE_SLOW;
  unit_push(&store->open, step);
  store->steps++;
  return STORE_OK;
}

size_t store_mark(const Store *store) { return store->open.size; }

void store_cut(Store *store, size_t mark) {
  StoreStep step;
  store->open.size = mark;
  store->steps = 0;
  for (size_t at = 0; unit_next(&store->open, &at, &step);) store->steps++;
}

static Request *add(Store *store, RequestType type, uint32_t token) {
  Request *request = mem_zalloc(sizeof *request);
  request->type = type;
  request->token = request->answer.token = token;
  push(&store->written, request);
  return request;
}

void store_end_unit(Store *store, uint32_t token) {
  if (store->steps == 0 && token == 0) return;
  Request *request = add(store, REQUEST_UNIT, token);
  request->unit = store->open;
  request->steps = store->steps;
  store->waiting += store->steps;
  store->bytes += store->open.size;
  store->open = (StoreUnit){0};
  store->steps = 0;
}

void store_get(Store *store, uint32_t token, uint32_t collection, Text id) {
  Request *request = add(store, REQUEST_GET, token);
  request->collection = collection;
  unit_push(&request->unit, &(StoreStep){.id = id});
}

void store_flush(Store *store, uint32_t token) { add(store, REQUEST_FLUSH, token); }

void store_define(Store *store, uint32_t token, uint32_t index,
                  const StoreCollection *collection) {
  Request *request = add(store, REQUEST_DEFINE, token);
  request->collection = index;
  request->definition = *collection;
}

void store_post(Store *store) {
  if (store->written.first == NULL) return;
  pthread_mutex_lock(&store->lock);
  append(&store->posted, &store->written);
  pthread_cond_signal(&store->more);
  pthread_mutex_unlock(&store->lock);
}
