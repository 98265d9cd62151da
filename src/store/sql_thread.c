// See sql_thread.h. The thread opens its connection with the first request.
#include "store/sql_thread.h"

#include <stdatomic.h>

#include "base/mem.h"
#include "store/service.h"

struct SqlThread {
  Service *service;
  const BackendOps *ops;
  char *place;
  Backend *backend;   // back end that the thread uses; NULL: not open
  RequestList queue;  // statements that wait
  SqlEnd *on_end;
  void *data;
  atomic_bool is_closing;  // statements that wait are not run any more
};

static void run(SqlThread *thread, Request *request) {
  StoreAnswer *answer = &request->answer;
  if (thread->backend == NULL)
    thread->backend = thread->ops->open(thread->place, BACKEND_READ, &answer->fault);
  if (thread->backend == NULL) return;
  StoreCode code = thread->ops->sql(thread->backend, request_sql(request),
                                    &request->value, &answer->fault);
  if (code == STORE_OK)
    answer->document.value =
        (Text){(const char *)request->value.data, (uint32_t)request->value.size};
}

// Runs one statement in each call, so that its answer does not wait for other
// statements.
static uint64_t serve(void *data, RequestList *requests, RequestList *ended,
                      uint64_t now_ms, uint64_t end_ms) {
  (void)end_ms;
  SqlThread *thread = data;
  request_append(&thread->queue, requests);
  Request *request = request_pop(&thread->queue);
  if (request == NULL) return UINT64_MAX;
  if (!atomic_load(&thread->is_closing)) run(thread, request);
  request_push(ended, request);
  return thread->queue.first != NULL ? now_ms : UINT64_MAX;
}

static void on_ended(void *data, RequestList *ended) {
  const SqlThread *thread = data;
  thread->on_end(thread->data, ended);
}

static void on_thread_end(void *data) {
  SqlThread *thread = data;
  if (thread->backend != NULL) thread->ops->close(thread->backend);
  mem_free(thread->place);
  mem_free(thread);
}

SqlThread *sql_thread_start(Loop *loop, const BackendOps *ops, const char *place,
                            SqlEnd *on_end, void *data) {
  static const ServiceEvents EVENTS = {serve, on_ended, on_thread_end};
  SqlThread *thread = mem_zalloc(sizeof *thread);
  thread->ops = ops;
  thread->place = mem_strdup(place);
  thread->on_end = on_end;
  thread->data = data;
  thread->service = service_start(loop, &EVENTS, thread);
  if (thread->service != NULL) return thread;
  on_thread_end(thread);
  return NULL;
}

void sql_thread_post(SqlThread *thread, Request *request) {
  RequestList one = {0};
  request_push(&one, request);
  service_post(thread->service, &one);
}

void sql_thread_close(SqlThread *thread) {
  if (thread == NULL) return;
  atomic_store(&thread->is_closing, true);
  service_close(thread->service, 0);
}
