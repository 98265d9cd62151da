// Threads: their start, their end, and the end of an iteration.
#include "net/io_threads.h"

#include <assert.h>
#include <stdio.h>

#include "base/mem.h"
#include "net/io_threads/internal.h"
#include "os/thread.h"

enum { THREAD_NAME_SIZE = 16 };  // the kernel's limit

// --- The end of an iteration ---

static void run_flush(Net *net, const void *body) {
  (void)body;
  flush_due(net);
}

// Posts the calls of this iteration, with a call that makes the thread flush.
static bool post_calls(NetPart *part) {
  static const RemoteCall FLUSH = {.run = run_flush};
  IoThreads *threads = (IoThreads *)part;
  proxies_free_retired(threads);
  for (uint32_t i = 0; i < threads->count; i++) {
    Mailbox *calls = &threads->items[i].calls;
    if (calls->written.size == 0) continue;
    mailbox_add(calls, &FLUSH, 0);
    mailbox_post(calls, false);
  }
  return false;
}

static void on_main_bell(uv_async_t *bell) {
  IoThreads *threads = bell->data;
  for (uint32_t i = 0; i < threads->count; i++)
    mailbox_run(&threads->items[i].events, threads->main);
}

static void publish(IoThread *thread) {
  NetCounters counters = net_own_counters(thread->net);
  uv_mutex_lock(&thread->lock);
  thread->counters = counters;
  thread->taken = thread->taken_now;
  thread->conns = thread->net->conns.count;
  uv_mutex_unlock(&thread->lock);
}

static void on_flushed(void *data) {
  publish(data);
  served_post(data);
}

static void on_thread_bell(uv_async_t *bell) {
  const Net *net = bell->data;
  IoThread *thread = thread_of_home(net->home);
  served_resume_flow(thread);
  mailbox_run(&thread->calls, thread->net);
}

// --- Remotes ---

static IoThread *thread_of(Remote *remote) { return (IoThread *)remote; }

static void *post_down(Remote *remote, const RemoteCall *call, size_t size) {
  return mailbox_add(&thread_of(remote)->calls, call, size);
}

static void *post_up(Remote *home, const RemoteCall *call, size_t size) {
  return mailbox_add(&thread_of_home(home)->events, call, size);
}

static void note_taken(Net *net, const void *body) {
  (void)body;
  thread_of_home(net->home)->taken_now++;
}

// Returns the number of the thread's connections, plus the connections that were given
// to the thread and that it has not taken yet.
static uint64_t load(Remote *remote) {
  IoThread *thread = thread_of(remote);
  uv_mutex_lock(&thread->lock);
  uint64_t count = thread->given - thread->taken + thread->conns;
  uv_mutex_unlock(&thread->lock);
  return count;
}

static void give(Remote *remote) {
  static const RemoteCall TAKEN = {.run = note_taken};
  IoThread *thread = thread_of(remote);
  mailbox_add(&thread->calls, &TAKEN, 0);
  thread->given++;
}

static void add_counters_of(Remote *remote, NetCounters *counters) {
  IoThread *thread = thread_of(remote);
  uv_mutex_lock(&thread->lock);
  counters_add(counters, &thread->counters);
  uv_mutex_unlock(&thread->lock);
}

// --- Starting ---

static void run_over(Net *main, const void *body) {
  (void)main;
  IoThreads *threads = *(IoThreads *const *)body;
  if (++threads->over == threads->count) uv_unref((uv_handle_t *)&threads->bell);
}

static void serve(void *data) {
  static const RemoteCall OVER = {.run = run_over};
  IoThread *thread = data;
  loop_run(net_loop(thread->net));
  IoThreads **body = mailbox_add(&thread->events, &OVER, sizeof *body);
  *body = thread->all;
  on_flushed(thread);
  mailbox_close(&thread->calls);
}

static int open_net(IoThread *thread) {
  static const RemoteOps HOME = {.post = post_up};
  const Net *main = thread->all->main;
  NetEvents events = served_events();
  events.flushed = on_flushed;
  Net *net = net_make(&main->limits, &events, thread);
  thread->home.ops = &HOME;
  net->home = &thread->home;
  net->publish = served_publish;
  net->totals = main->totals;
  int err = net_open_loop(net);
  if (err) {
    mem_free(net);
    return err;
  }
  thread->net = net;
  err = uv_async_init(&net->loop.uv, &thread->bell, on_thread_bell);
  thread->bell.data = net;
  return err;
}

static void deinit_thread(IoThread *thread) {
  mailbox_deinit(&thread->events);
  mailbox_deinit(&thread->calls);
  uv_mutex_destroy(&thread->lock);
  buf_deinit(&thread->flow);
  mem_free(thread->groups);
}

static int open_thread(IoThreads *threads, IoThread *thread) {
  static const RemoteOps REMOTE = {.post = post_down,
                                   .group_write = threads_group_write,
                                   .group_close = threads_group_close,
                                   .load = load,
                                   .give = give,
                                   .add_counters = add_counters_of};
  thread->all = threads;
  thread->remote.ops = &REMOTE;
  uv_mutex_init(&thread->lock);
  mailbox_init(&thread->events, &threads->bell, &thread->bell, SIZE_MAX, SIZE_MAX);
  mailbox_init(&thread->calls, &thread->bell, NULL, CALLS_EARLY, CALLS_MAX);
  int err = open_net(thread);
  char name[THREAD_NAME_SIZE];
  snprintf(name, sizeof name, "perigee-io-%u", (unsigned)thread->remote.index % 100);
  if (!err) err = thread_start(&thread->thread, name, serve, thread);
  if (!err) return 0;
  if (thread->net) net_free(thread->net);
  deinit_thread(thread);
  return err;
}

// --- Ending ---

static void run_net_stop(Net *net, const void *body) {
  (void)body;
  net_stop(net);
  // The bell alone must not keep the loop running.
  uv_unref((uv_handle_t *)&thread_of_home(net->home)->bell);
}

static void stop(NetPart *part) {
  static const RemoteCall STOP = {.run = run_net_stop};
  IoThreads *threads = (IoThreads *)part;
  for (uint32_t i = 0; i < threads->count; i++)
    mailbox_add(&threads->items[i].calls, &STOP, 0);
}

static void run_quit(Net *net, const void *body) {
  (void)body;
  uv_stop(&net->loop.uv);
}

static void end(NetPart *part) {
  static const RemoteCall QUIT = {.run = run_quit};
  IoThreads *threads = (IoThreads *)part;
  for (uint32_t i = 0; i < threads->count; i++) {
    mailbox_add(&threads->items[i].calls, &QUIT, 0);
    mailbox_post(&threads->items[i].calls, false);
  }
  for (uint32_t i = 0; i < threads->count; i++) {
    IoThread *thread = &threads->items[i];
    pthread_join(thread->thread, NULL);
    mailbox_run(&thread->calls, NULL);
    mailbox_run(&thread->events, threads->main);
    net_free(thread->net);  // posts calls that never run; the owners of their data
                            // free it
    proxies_free_all(thread);
  }
  uv_close((uv_handle_t *)&threads->bell, NULL);
}

static void free_threads(NetPart *part) {
  IoThreads *threads = (IoThreads *)part;
  for (uint32_t i = 0; i < threads->count; i++) deinit_thread(&threads->items[i]);
  mem_free(threads->items);
  mem_free(threads);
}

int net_serve(Net *net, uint32_t count) {
  static const NetPartOps PART = {
      .end_iteration = post_calls, .stop = stop, .end = end, .free = free_threads};
  assert(!net->sim && net->remote_count == 0 && !net->listeners);
  assert(count <= NET_IO_THREADS_MAX);
  if (count == 0) return 0;
  IoThreads *threads = mem_zalloc(sizeof *threads);
  int err = uv_async_init(&net->loop.uv, &threads->bell, on_main_bell);
  if (err) {
    mem_free(threads);
    return err;
  }
  threads->bell.data = threads;
  threads->main = net;
  threads->items = mem_zalloc(count * sizeof *threads->items);
  net_add_part(net, &threads->part, &PART);
  net->totals->threads = count;
  for (uint32_t i = 0; i < count && !err; i++) {
    threads->items[i].remote.index = i;
    err = open_thread(threads, &threads->items[i]);
    if (err) break;
    threads->count++;
    net_add_remote(net, &threads->items[i].remote);
  }
  return err;
}
