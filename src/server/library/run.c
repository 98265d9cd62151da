// Starts, runs, stops and frees a server. One thread at a time uses the loop. While one
// thread runs the loop, other threads request snapshots, and the loop takes these
// snapshots in its next iteration. While no thread runs the loop, a thread takes its
// snapshot itself.
#define _GNU_SOURCE  // sigtimedwait
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "net/net.h"
#include "os/thread.h"
#include "server/library/library.h"

// --- Using the loop ---

typedef struct Inside {
  Log *log;       // log that the thread used before it entered the loop
  sigset_t mask;  // the thread's signal mask, to be restored
  bool has_pipe;  // whether a SIGPIPE was already pending
} Inside;

bool library_is_inside(perigee_server *self) {
  LoopLock *loop = &self->loop;
  pthread_mutex_lock(&loop->lock);
  bool is = loop->is_taken && pthread_equal(loop->owner, pthread_self());
  pthread_mutex_unlock(&loop->lock);
  return is;
}

// Blocks SIGPIPE while the thread uses the loop, because a write raises it if the other
// side has closed the socket. unblock_pipe removes a pending SIGPIPE unless it was
// already pending before.
static void block_pipe(Inside *inside) {
  sigset_t pipe, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &inside->mask);
  inside->has_pipe = sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE);
}

static void unblock_pipe(const Inside *inside) {
  static const struct timespec NOW = {0};
  sigset_t pipe, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  if (!inside->has_pipe && sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE))
    sigtimedwait(&pipe, NULL, &NOW);
  if (!sigismember(&inside->mask, SIGPIPE)) pthread_sigmask(SIG_UNBLOCK, &pipe, NULL);
}

static Inside enter(perigee_server *self) {
  LoopLock *loop = &self->loop;
  pthread_mutex_lock(&loop->lock);
  while (loop->is_taken) pthread_cond_wait(&loop->changed, &loop->lock);
  loop->is_taken = true;
  loop->owner = pthread_self();
  pthread_mutex_unlock(&loop->lock);
  Inside inside = {.log = log_use(self->log)};
  block_pipe(&inside);
  return inside;
}

static void leave(perigee_server *self, const Inside *inside) {
  LoopLock *loop = &self->loop;
  unblock_pipe(inside);
  log_use(inside->log);
  pthread_mutex_lock(&loop->lock);
  loop->is_taken = false;
  pthread_cond_broadcast(&loop->changed);
  pthread_mutex_unlock(&loop->lock);
}

// --- Requests of other threads ---

static void take_snapshots(perigee_server *self) {
  LoopLock *loop = &self->loop;
  pthread_mutex_lock(&loop->lock);
  bool is_any = loop->requests != NULL;
  for (; loop->requests != NULL; loop->requests = loop->requests->next)
    loop->requests->snapshot = snapshot_take(self);
  if (is_any) pthread_cond_broadcast(&loop->changed);
  pthread_mutex_unlock(&loop->lock);
}

static void on_bell(void *data) {
  perigee_server *self = data;
  take_snapshots(self);
  if (atomic_load(&self->is_stop_asked)) server_stop(self->server, self->stop_reason);
  if (self->has_thread) engine_hold(&self->server->engine, inbox_is_full(self));
  orders_schedule(self);
}

perigee_server_snapshot *perigee_server_take_snapshot(perigee_server *server) {
  LoopLock *loop = &server->loop;
  SnapshotRequest request = {.snapshot = NULL};
  if (library_is_inside(server)) return snapshot_take(server);
  pthread_mutex_lock(&loop->lock);
  if (loop->is_taken) {
    request.next = loop->requests;
    loop->requests = &request;
    bell_ring(server->bell);
  }
  while (loop->is_taken && request.snapshot == NULL)
    pthread_cond_wait(&loop->changed, &loop->lock);
  if (request.snapshot == NULL) {
    SnapshotRequest **at = &loop->requests;
    while (*at != NULL && *at != &request) at = &(*at)->next;
    if (*at != NULL) *at = request.next;
    request.snapshot = snapshot_take(server);
  }
  pthread_mutex_unlock(&loop->lock);
  return request.snapshot;
}

void perigee_server_stop(perigee_server *server, const char *reason) {
  if (atomic_exchange(&server->is_stop_claimed, true)) return;
  size_t size = 0;
  for (; reason != NULL && reason[size] != '\0' && size < STOP_REASON_MAX - 1; size++)
    server->stop_reason[size] = reason[size];
  server->stop_reason[size] = '\0';
  atomic_store(&server->is_stop_asked, true);
  bell_ring(server->bell);
}

// --- Starting ---

static void on_built(void *data, Server *server) {
  perigee_server *self = data;
  self->server = server;
  self->bell = bell_open(net_loop(server->engine.net), on_bell, self);
  relay_set_program_hooks(server->engine.relay, library_hooks(self));
  if (self->handlers.on_accept != NULL)
    relay_set_program_accept(server->engine.relay, library_accept, self);
}

static void on_stopping(void *data, const char *reason) {
  perigee_server *self = data;
  if (!atomic_exchange(&self->is_stop_claimed, true))
    snprintf(self->stop_reason, sizeof self->stop_reason, "%s", reason);
  orders_end(&self->orders);
}

// Closes the bell, because the loop can only be freed after that.
static void on_closing(void *data) {
  perigee_server *self = data;
  futures_free(self);
  bell_close(self->bell);
}

static bool open_server(perigee_server *self, const perigee_server_config *config,
                        char *error, size_t error_size) {
  ServerOptions options = {.game = config->game,
                           .lua_path = config->lua_path,
                           .has_no_jit = config->has_no_jit,
                           .has_dev_tls = config->has_dev_tls,
                           .is_program = config->is_program,
                           .config = &config->config,
                           .built = on_built,
                           .event = library_event,
                           .stopping = on_stopping,
                           .closing = on_closing,
                           .api = &API_EVENTS,
                           .request = api_control,
                           .reloaded = orders_reloaded,
                           .data = self};
  Inside inside = enter(self);
  if (self->log != NULL) log_set_sink(library_log, self);
  Server *server = server_open(&options, error, error_size);
  leave(self, &inside);
  if (server == NULL) self->server = NULL;
  return server != NULL;
}

static perigee_server *make(const perigee_server_config *config,
                            const perigee_server_handlers *handlers, void *user_data) {
  perigee_server *self = mem_zalloc(sizeof *self);
  self->user_data = user_data;
  self->has_thread = config->has_thread;
  if (!config->is_program) self->log = log_new();
  if (handlers != NULL)
    memcpy(&self->handlers, handlers,
           handlers->size < sizeof self->handlers ? handlers->size
                                                  : sizeof self->handlers);
  pthread_mutex_init(&self->loop.lock, NULL);
  pthread_cond_init(&self->loop.changed, NULL);
  orders_init(&self->orders);
  inbox_init(&self->inbox);
  return self;
}

static void finish(perigee_server *self) {
  if (self->is_finished) return;
  self->is_finished = true;
  server_finish(self->server);
  library_report(self, &(perigee_server_event){
                           .type = PERIGEE_SERVER_STOPPED,
                           .text = {self->stop_reason, strlen(self->stop_reason)}});
}

static void run(perigee_server *self) {
  Inside inside = enter(self);
  net_run(self->server->engine.net);
  finish(self);
  leave(self, &inside);
}

// Closes the server on the calling thread. The thread that has loaded a script must
// also close it.
static void close_server(perigee_server *self) {
  Inside inside = enter(self);
  if (self->server != NULL) server_close(self->server);
  self->server = NULL;
  leave(self, &inside);
}

static void unmake(perigee_server *self) {
  close_server(self);
  orders_deinit(&self->orders);
  inbox_deinit(&self->inbox);
  api_deinit(&self->api);
  buf_deinit(&self->name);
  pthread_mutex_destroy(&self->loop.lock);
  pthread_cond_destroy(&self->loop.changed);
  if (self->log != NULL) log_free(self->log);
  mem_free(self);
}

// --- A separate thread ---

typedef struct Start {
  perigee_server *self;
  const perigee_server_config *config;
  char *error;
  size_t error_size;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  enum { START_WAITS, START_FAILED, START_DONE } state;
} Start;

static void run_thread(void *data) {
  Start *start = data;
  perigee_server *self = start->self;
  bool is_open = open_server(self, start->config, start->error, start->error_size);
  pthread_mutex_lock(&start->lock);
  start->state = is_open ? START_DONE : START_FAILED;
  pthread_cond_signal(&start->changed);
  pthread_mutex_unlock(&start->lock);  // from here on, the other thread owns `start`
  if (!is_open) return;
  run(self);
  inbox_end(self);
  pthread_mutex_lock(&self->loop.lock);
  while (!self->is_freed) pthread_cond_wait(&self->loop.changed, &self->loop.lock);
  pthread_mutex_unlock(&self->loop.lock);
  close_server(self);
}

static bool start_thread(perigee_server *self, const perigee_server_config *config,
                         char *error, size_t error_size) {
  Start start = {.self = self,
                 .config = config,
                 .error = error,
                 .error_size = error_size,
                 .lock = PTHREAD_MUTEX_INITIALIZER,
                 .changed = PTHREAD_COND_INITIALIZER};
  if (thread_start(&self->thread, "perigee-server", run_thread, &start) != 0) {
    snprintf(error, error_size, "the system cannot create a thread");
    return false;
  }
  pthread_mutex_lock(&start.lock);
  while (start.state == START_WAITS) pthread_cond_wait(&start.changed, &start.lock);
  pthread_mutex_unlock(&start.lock);
  if (start.state == START_FAILED) pthread_join(self->thread, NULL);
  return start.state == START_DONE;
}

perigee_server *perigee_server_start(const perigee_server_config *config,
                                     const perigee_server_handlers *handlers,
                                     void *user_data, char *error, size_t error_size) {
  if (error_size > 0) *error = '\0';
  if (config->has_thread && handlers != NULL) {
    snprintf(error, error_size, "a server with a thread of its own takes no handlers");
    return NULL;
  }
  if (handlers != NULL && handlers->size == 0) {
    snprintf(error, error_size, "handlers have no size: set .size = sizeof handlers");
    return NULL;
  }
  perigee_server *self = make(config, handlers, user_data);
  bool is_open = config->has_thread ? start_thread(self, config, error, error_size)
                                    : open_server(self, config, error, error_size);
  if (is_open) return self;
  unmake(self);
  return NULL;
}

// --- Running ---

uint16_t perigee_server_port(const perigee_server *server) {
  return server->server->port;
}

// Returns 0, or the reason why the host may not run the loop now.
static int check_loop(perigee_server *self) {
  if (self->has_thread) return PERIGEE_SERVER_HAS_THREAD;
  return library_is_inside(self) ? PERIGEE_SERVER_INVALID : PERIGEE_SERVER_OK;
}

int perigee_server_run(perigee_server *server) {
  int code = check_loop(server);
  if (code == PERIGEE_SERVER_OK) run(server);
  return code;
}

int perigee_server_poll(perigee_server *server, int timeout_ms) {
  int code = check_loop(server);
  if (code != PERIGEE_SERVER_OK) return code;
  Inside inside = enter(server);
  bool is_alive = net_poll(server->server->engine.net, timeout_ms);
  if (!is_alive) finish(server);
  leave(server, &inside);
  return is_alive;
}

int perigee_server_fd(const perigee_server *server) {
  return net_fd(server->server->engine.net);
}

int perigee_server_timeout_ms(const perigee_server *server) {
  return net_timeout_ms(server->server->engine.net);
}

void perigee_server_free(perigee_server *server) {
  if (server == NULL) return;
  if (server->has_thread) {
    perigee_server_stop(server, "the program ends");
    pthread_mutex_lock(&server->loop.lock);
    server->is_freed = true;
    pthread_cond_broadcast(&server->loop.changed);
    pthread_mutex_unlock(&server->loop.lock);
    pthread_join(server->thread, NULL);
  }
  unmake(server);
}
