// See writer.h.
#include "store/writer.h"

#include <pthread.h>

#include "base/least.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/clock.h"
#include "store/found.h"

enum {
  BACKOFF_MIN_MS = 100,
  BACKOFF_MAX_MS = 2000,
  REPEATS = 3,         // attempts for a transaction with several units
  REPEATS_ALONE = 10,  // attempts for a transaction with a single unit
};

struct Writer {
  WriterOptions options;
  RequestList queue;  // requests that must be carried out
  // Requests of the open transaction, which are answered after its commit.
  RequestList held;
  RequestList *ended;   // answered requests; the list belongs to the caller
  bool is_open;         // a transaction is open
  bool is_getting;      // the back end is between begin_gets and end_gets
  uint64_t end_ms;      // time at which the server ends; UINT64_MAX: unknown
  uint32_t units_lost;  // units that could not be written before the end
  bool is_awaited;      // a request of `held` waits for the commit
  bool is_unsettled;    // whether the commit of `held` has happened is unknown
  uint32_t repeats;     // repetitions of the transaction, because of other servers
  uint64_t due_ms;      // time of the commit
  uint64_t now_ms;      // time of the running call
  uint64_t retry_ms;    // time of the next attempt; 0: not waiting for one
  uint64_t backoff_ms;
  bool is_damaged;       // damage of the file has been logged
  bool is_failing;       // the last write has failed
  uint64_t failing_ms;   // time of the first failure since the last success
  uint32_t failed;       // number of requests that have failed since `failing_ms`
  StoreFault fault;      // reason of the current failure
  StoreFault unsettled;  // fault of the commit whose outcome is unknown
  StoreFault lost;       // fault of the last failed unit for which nobody waits
  pthread_mutex_t lock;
  Histogram commits;  // times of commits; `lock` protects it
};

Writer *writer_new(const WriterOptions *options) {
  Writer *writer = mem_zalloc(sizeof *writer);
  writer->options = *options;
  writer->end_ms = UINT64_MAX;
  pthread_mutex_init(&writer->lock, NULL);
  return writer;
}

const BackendOps *writer_ops(const Writer *writer) { return writer->options.ops; }

Backend *writer_free(Writer *writer) {
  Backend *backend = writer->options.backend;
  if (writer->is_open) writer->options.ops->rollback(backend);
  if (writer->units_lost > 0)
    log_error("store_lost", log_num("units", writer->units_lost),
              log_str("reason", writer->fault.text));
  request_free_all(&writer->queue);
  request_free_all(&writer->held);
  pthread_mutex_destroy(&writer->lock);
  mem_free(writer);
  return backend;
}

uint32_t writer_lost(const Writer *writer) { return writer->units_lost; }

void writer_count(Writer *writer, StoreStats *stats) {
  pthread_mutex_lock(&writer->lock);
  histogram_merge(&stats->commits, &writer->commits);
  pthread_mutex_unlock(&writer->lock);
}

// --- Failures ---

// Stores a failure of the disk. Logs only the first one.
static void note_failure(Writer *writer, const StoreFault *fault) {
  writer->fault = *fault;
  if (writer->is_failing) return;
  writer->is_failing = true;
  writer->failing_ms = writer->now_ms;
  writer->failed = 0;
  log_error("store_failing", log_str("reason", fault->text));
}

static void note_success(Writer *writer) {
  writer->retry_ms = writer->backoff_ms = 0;
  if (!writer->is_failing) return;
  writer->is_failing = false;
  log_info("store_works_again",
           log_num("seconds", (int64_t)(writer->now_ms - writer->failing_ms) / 1000),
           log_num("failed", writer->failed));
}

static void try_later(Writer *writer, const StoreFault *fault) {
  note_failure(writer, fault);
  writer->backoff_ms =
      least(most(writer->backoff_ms * 2, BACKOFF_MIN_MS), BACKOFF_MAX_MS);
  writer->retry_ms = writer->now_ms + writer->backoff_ms;
}

static bool is_closing(const Writer *writer) { return writer->end_ms != UINT64_MAX; }

static void answer(Writer *writer, Request *request) {
  StoreCode code = request->answer.fault.code;
  if (store_is_of_disk(code)) writer->failed++;
  if (store_is_of_disk(code) && request->type == REQUEST_UNIT && is_closing(writer))
    writer->units_lost++;
  if (code != STORE_OK && request->type == REQUEST_UNIT && request->token == 0)
    writer->lost = request->answer.fault;
  if (request->type == REQUEST_FLUSH && code == STORE_OK) {
    request->answer.fault = writer->lost;
    writer->lost = (StoreFault){0};
  }
  request_push(writer->ended, request);
}

static void answer_held(Writer *writer) {
  writer->is_open = writer->is_awaited = false;
  for (Request *request; (request = request_pop(&writer->held)) != NULL;)
    answer(writer, request);
}

// Puts the requests of a lost transaction back to the beginning of the queue.
static void requeue_held(Writer *writer) {
  if (writer->is_open) writer->options.ops->rollback(writer->options.backend);
  writer->is_open = writer->is_awaited = false;
  for (Request *request = writer->held.first; request != NULL; request = request->next)
    request->answer.fault = (StoreFault){0};
  request_append(&writer->held, &writer->queue);
  writer->queue = writer->held;
  writer->held = (RequestList){0};
}

// Ends a transaction after a failure of the disk.
static void lose_held(Writer *writer, const StoreFault *fault) {
  bool has_many = writer->held.first != writer->held.last;
  if (fault->code == STORE_BUSY) {
    requeue_held(writer);
    try_later(writer, fault);
    return;
  }
  if (fault->code == STORE_AGAIN &&
      writer->repeats < (has_many ? REPEATS : REPEATS_ALONE)) {
    writer->repeats++;
    requeue_held(writer);
    return;
  }
  writer->repeats = 0;
  if (store_is_of_disk(fault->code) && fault->code != STORE_AGAIN)
    note_failure(writer, fault);
  if (has_many) {
    for (Request *request = writer->held.first; request != NULL;
         request = request->next)
      request->is_alone = true;
    requeue_held(writer);
    return;
  }
  if (writer->is_open) writer->options.ops->rollback(writer->options.backend);
  if (writer->held.first != NULL) writer->held.first->answer.fault = *fault;
  answer_held(writer);
}

// Returns the time at which a request has waited too long for the disk.
static uint64_t end_of_wait(const Writer *writer, const Request *request) {
  return least(most(request->since_ms, writer->failing_ms) + writer->options.timeout_ms,
               writer->end_ms);
}

// Answers the requests that have waited too long for the disk.
static void expire(Writer *writer, RequestList *list) {
  for (Request *request; (request = list->first) != NULL; answer(writer, request)) {
    if (writer->now_ms < end_of_wait(writer, request)) return;
    request_pop(list);
    request->answer.fault = writer->fault;
  }
}

// --- The transaction ---

// Answers the requests of a committed transaction. A later flush does not report
// failures from before the commit.
static void answer_committed(Writer *writer) {
  const Request *next = writer->queue.first;
  writer->repeats = 0;
  note_success(writer);
  answer_held(writer);
  if (next == NULL || !next->is_alone) writer->lost = (StoreFault){0};
}

// Finds out whether the last commit has happened. If not, repeats its units.
static void settle(Writer *writer) {
  StoreFault fault = {0};
  bool has_happened = false;
  if (writer->options.ops->settle(writer->options.backend, &has_happened, &fault)) {
    fault.code = STORE_UNKNOWN;
    try_later(writer, &fault);
    return;
  }
  writer->is_unsettled = false;
  writer->retry_ms = 0;
  if (has_happened) {
    answer_committed(writer);
  } else if (writer->repeats < REPEATS) {
    writer->repeats++;
    requeue_held(writer);
  } else {
    lose_held(writer, &writer->unsettled);
  }
}

static StoreCode commit(Writer *writer, StoreFault *fault) {
  uint64_t start_us = store_clock_us();
  StoreCode code = writer->options.ops->commit(writer->options.backend, fault);
  uint64_t us = store_clock_us() - start_us;
  pthread_mutex_lock(&writer->lock);
  histogram_add(&writer->commits, us);
  pthread_mutex_unlock(&writer->lock);
  return code;
}

static void commit_all(Writer *writer) {
  StoreFault fault = {0};
  if (!writer->is_open) {
    answer_held(writer);
    return;
  }
  switch (commit(writer, &fault)) {
    case STORE_OK:
      answer_committed(writer);
      break;
    case STORE_UNKNOWN:
      writer->is_open = writer->is_awaited = false;
      writer->is_unsettled = true;
      writer->unsettled = fault;
      writer->unsettled.code = STORE_UNAVAILABLE;
      note_failure(writer, &fault);
      settle(writer);
      break;
    default:
      lose_held(writer, &fault);
  }
}

// --- Requests ---

static StoreCode apply(Writer *writer, Request *request) {
  const BackendOps *ops = writer->options.ops;
  Backend *backend = writer->options.backend;
  StoreFault *fault = &request->answer.fault;
  if (!writer->is_open) {
    if (ops->begin(backend, fault) != STORE_OK) return fault->code;
    if (!request->is_alone) writer->lost = (StoreFault){0};
    writer->is_open = true;
    writer->due_ms = writer->now_ms + writer->options.delay_ms;
  }
  return ops->apply(backend, &request->unit, &request->answer.version, fault);
}

static void serve_unit(Writer *writer, Request *request) {
  StoreCode code = apply(writer, request);
  request_push(&writer->held, request);
  if (store_is_of_disk(code)) {
    StoreFault fault = request->answer.fault;
    lose_held(writer, &fault);
  } else if (request->is_alone) {
    commit_all(writer);
  } else if (request->token != 0) {
    writer->is_awaited = true;
  }
}

static StoreCode get(const Writer *writer, Request *request) {
  StoreStep step;
  size_t at = 0;
  StoreDocument *document = &request->answer.document;
  unit_next(&request->unit, &at, &step);
  StoreCode code =
      writer->options.ops->get(writer->options.backend, request->collection, step.id,
                               document, &request->answer.fault);
  buf_append(&request->value, document->value.bytes, document->value.size);
  document->value.bytes = (const char *)request->value.data;
  return code;
}

static StoreCode read_board(const Writer *writer, Request *request) {
  Text *rows = &request->answer.document.value;
  StoreCode code = writer->options.ops->read_board(
      writer->options.backend, request_board_query(request), &request->value,
      &request->answer.fault);
  *rows = (Text){(const char *)request->value.data, (uint32_t)request->value.size};
  return code;
}

static StoreCode read(const Writer *writer, Request *request) {
  const BackendOps *ops = writer->options.ops;
  Backend *backend = writer->options.backend;
  switch (request->type) {
    case REQUEST_GET:
      return get(writer, request);
    case REQUEST_FIND:
      return found_find(ops, backend, request);
    case REQUEST_SCAN:
      return found_scan(ops, backend, request);
    case REQUEST_READ_BOARD:
      return read_board(writer, request);
    case REQUEST_DEFINE_BOARD:
      return ops->define_board(backend, request->collection, request_board(request),
                               &request->answer.fault);
    default:
      return ops->define(backend, request->collection, request_definition(request),
                         &request->answer.fault);
  }
}

static void serve_read(Writer *writer, Request *request) {
  StoreFault *fault = &request->answer.fault;
  StoreCode code = read(writer, request);
  bool is_lost =
      code == STORE_BUSY || (code == STORE_AGAIN && writer->repeats < REPEATS_ALONE);
  if (is_lost) {
    StoreFault lost = *fault;
    *fault = (StoreFault){0};
    request_push_front(&writer->queue, request);
    lose_held(writer, &lost);
    return;
  }
  if (code == STORE_DAMAGED && !writer->is_damaged) {
    writer->is_damaged = true;
    log_error("store_damaged", log_str("reason", fault->text));
  }
  // Takes a read as proof that a shared back end works again. A read of SQLite proves
  // nothing, because SQLite can still read while writes fail.
  if (code == STORE_OK && writer->retry_ms != 0 && !writer->is_open &&
      writer->options.ops->is_shared)
    note_success(writer);
  answer(writer, request);
}

static void set_getting(Writer *writer, bool is_getting) {
  const BackendOps *ops = writer->options.ops;
  if (is_getting == writer->is_getting || ops->begin_gets == NULL) return;
  writer->is_getting = is_getting;
  (is_getting ? ops->begin_gets : ops->end_gets)(writer->options.backend);
}

static void serve_first(Writer *writer) {
  RequestType type = writer->queue.first->type;
  set_getting(writer, type == REQUEST_GET && !writer->is_open);
  bool is_definition = type == REQUEST_DEFINE || type == REQUEST_DEFINE_BOARD;
  if (is_definition && writer->is_open) {
    commit_all(writer);
    return;
  }
  Request *request = request_pop(&writer->queue);
  if (request->type == REQUEST_UNIT) {
    serve_unit(writer, request);
  } else if (request->type == REQUEST_FLUSH || request->type == REQUEST_SQL) {
    request_push(&writer->held, request);
    writer->is_awaited = true;
  } else {
    serve_read(writer, request);
  }
}

static bool can_go_on(const Writer *writer) {
  return !writer->is_unsettled && writer->retry_ms <= writer->now_ms;
}

// Runs in a loop, because a failed commit may put its units back into the queue.
static void carry_out(Writer *writer) {
  do {
    while (writer->queue.first != NULL && can_go_on(writer)) serve_first(writer);
    set_getting(writer, false);
    bool is_due =
        writer->is_open && (is_closing(writer) || writer->now_ms >= writer->due_ms);
    if (can_go_on(writer) && (is_due || writer->is_awaited)) commit_all(writer);
  } while (writer->queue.first != NULL && can_go_on(writer));
}

uint64_t writer_serve(Writer *writer, RequestList *requests, RequestList *ended,
                      uint64_t now_ms, uint64_t end_ms) {
  writer->now_ms = now_ms;
  writer->end_ms = end_ms;
  writer->ended = ended;
  for (Request *request = requests->first; request != NULL; request = request->next)
    request->since_ms = now_ms;
  request_append(&writer->queue, requests);
  if (writer->is_unsettled && now_ms >= writer->retry_ms) settle(writer);
  if (can_go_on(writer)) carry_out(writer);
  if (writer->retry_ms > now_ms) {
    expire(writer, &writer->held);
    expire(writer, &writer->queue);
  }
  const Request *first =
      writer->held.first != NULL ? writer->held.first : writer->queue.first;
  if (first == NULL) return UINT64_MAX;
  return writer->retry_ms > now_ms ? least(writer->retry_ms, end_of_wait(writer, first))
                                   : writer->due_ms;
}
