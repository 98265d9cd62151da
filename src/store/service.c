// See service.h.
#include "store/service.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "base/mem.h"
#include "os/bell.h"
#include "os/worker.h"
#include "store/clock.h"

enum { WAIT_US = 1000000 };

struct Service {
  const ServiceEvents *events;
  void *data;
  Worker *worker;        // the thread
  Bell *bell;            // rings when `ended` gets requests
  pthread_mutex_t lock;  // protects the next fields
  pthread_cond_t more;   // signalled when `posted` gets requests, and at the close
  RequestList posted;
  RequestList ended;
  uint64_t end_ms;  // time by which the thread must end; UINT64_MAX before the close
};

// Waits until requests come, `due_ms` is reached, or the service is closed. Returns the
// requests.
static RequestList next_requests(Service *service, uint64_t due_ms, uint64_t *end_ms) {
  RequestList taken = {0};
  int err = 0;
  struct timespec due = {.tv_sec = (time_t)(due_ms / 1000),
                         .tv_nsec = (long)(due_ms % 1000) * 1000000};
  pthread_mutex_lock(&service->lock);
  while (service->posted.first == NULL && err != ETIMEDOUT &&
         service->end_ms == *end_ms)
    err = due_ms == UINT64_MAX
              ? pthread_cond_wait(&service->more, &service->lock)
              : pthread_cond_timedwait(&service->more, &service->lock, &due);
  request_append(&taken, &service->posted);
  *end_ms = service->end_ms;
  pthread_mutex_unlock(&service->lock);
  return taken;
}

static void hand_over(Service *service, RequestList *ended) {
  if (ended->first == NULL) return;
  pthread_mutex_lock(&service->lock);
  request_append(&service->ended, ended);
  if (service->end_ms == UINT64_MAX) bell_ring(service->bell);
  pthread_mutex_unlock(&service->lock);
}

static void run(void *data) {
  Service *service = data;
  uint64_t end_ms = UINT64_MAX, due_ms = UINT64_MAX;
  while (end_ms == UINT64_MAX || due_ms != UINT64_MAX) {
    RequestList requests = next_requests(service, due_ms, &end_ms), ended = {0};
    due_ms = service->events->serve(service->data, &requests, &ended, store_clock_ms(),
                                    end_ms);
    hand_over(service, &ended);
  }
}

static void on_bell(void *data) {
  Service *service = data;
  RequestList ended = {0};
  pthread_mutex_lock(&service->lock);
  request_append(&ended, &service->ended);
  pthread_mutex_unlock(&service->lock);
  service->events->on_ended(service->data, &ended);
}

static void service_free(Service *service) {
  request_free_all(&service->posted);
  request_free_all(&service->ended);
  pthread_cond_destroy(&service->more);
  pthread_mutex_destroy(&service->lock);
  mem_free(service);
}

static void on_thread_end(void *data) {
  Service *service = data;
  void (*on_end)(void *) = service->events->on_thread_end;
  void *owner = service->data;
  service_free(service);
  on_end(owner);
}

Service *service_start(Loop *loop, const ServiceEvents *events, void *data) {
  Service *service = mem_zalloc(sizeof *service);
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&service->more, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&service->lock, NULL);
  service->events = events;
  service->data = data;
  service->end_ms = UINT64_MAX;
  service->bell = bell_open(loop, on_bell, service);
  if (service->bell != NULL)
    service->worker = worker_start(loop, run, on_thread_end, service);
  if (service->worker != NULL) return service;
  bell_close(service->bell);
  service_free(service);
  return NULL;
}

void service_post(Service *service, RequestList *requests) {
  if (requests->first == NULL) return;
  pthread_mutex_lock(&service->lock);
  request_append(&service->posted, requests);
  pthread_cond_signal(&service->more);
  pthread_mutex_unlock(&service->lock);
}

uint64_t service_close(Service *service, uint32_t ms) {
  uint64_t end_ms = store_clock_ms() + ms;
  pthread_mutex_lock(&service->lock);
  service->end_ms = end_ms;
  pthread_cond_signal(&service->more);
  bell_close(service->bell);
  pthread_mutex_unlock(&service->lock);
  return end_ms;
}

void service_wait(Service *service) {
  Worker *worker = service->worker;  // on_thread_end frees the service
  while (!worker_wait(worker, WAIT_US)) continue;
}
