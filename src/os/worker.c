// See worker.h.
#include "os/worker.h"

#include <assert.h>

#include "base/mem.h"
#include "os/loop.h"
#include "os/thread.h"

struct Worker {
  uv_thread_t thread;
  uv_async_t bell;  // rings when `run` has returned
  uv_mutex_t lock;  // protects `is_over`
  uv_cond_t over;
  bool is_over;  // `run` has returned
  Loop *loop;
  WorkerRun *run;
  WorkerEnd *on_end;
  void *data;
};

static void work(void *data) {
  Worker *worker = data;
  worker->run(worker->data);
  uv_mutex_lock(&worker->lock);
  worker->is_over = true;
  uv_cond_signal(&worker->over);
  uv_mutex_unlock(&worker->lock);
  uv_async_send(&worker->bell);
}

static void on_closed(uv_handle_t *handle) {
  Worker *worker = handle->data;
  uv_mutex_destroy(&worker->lock);
  uv_cond_destroy(&worker->over);
  mem_free(worker);
}

static void on_bell(uv_async_t *bell) {
  Worker *worker = bell->data;
  uv_thread_join(&worker->thread);
  list_remove(&worker->loop->workers, worker);
  worker->on_end(worker->data);
  uv_close((uv_handle_t *)bell, on_closed);
}

// Starts the thread and its bell. The bell need not keep the loop running, because a
// server that stops waits for its workers in workers_end.
Worker *worker_start(Loop *loop, WorkerRun *run, WorkerEnd *on_end, void *data) {
  Worker *worker = mem_zalloc(sizeof *worker);
  worker->loop = loop;
  worker->run = run;
  worker->on_end = on_end;
  worker->data = data;
  worker->bell.data = worker;
  uv_mutex_init(&worker->lock);
  uv_cond_init(&worker->over);
  int err = uv_async_init(&loop->uv, &worker->bell, on_bell);
  assert(err == 0 && "no bell");
  uv_unref((uv_handle_t *)&worker->bell);
  err = thread_start(&worker->thread, "perigee-worker", work, worker);
  if (err) {
    uv_close((uv_handle_t *)&worker->bell, on_closed);
    return NULL;
  }
  list_add(&loop->workers, worker);
  return worker;
}

// Waits for the thread, and ends the worker. Calls on_bell directly; the loop does not
// call it again, because on_bell closes the bell.
bool worker_wait(Worker *worker, uint64_t us) {
  uint64_t now_us = uv_hrtime() / 1000, end_us = now_us + us;
  uv_mutex_lock(&worker->lock);
  for (; !worker->is_over && now_us < end_us; now_us = uv_hrtime() / 1000)
    uv_cond_timedwait(&worker->over, &worker->lock, (end_us - now_us) * 1000);
  bool is_over = worker->is_over;
  uv_mutex_unlock(&worker->lock);
  if (is_over) on_bell(&worker->bell);
  return is_over;
}

void workers_end(Loop *loop) {
  while (loop->workers.count > 0) {
    Worker *worker = loop->workers.items[0];
    on_bell(&worker->bell);
  }
}
