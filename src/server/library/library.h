// The struct perigee_server, and the functions that the files of the library share. The
// library is on top of the engine, like a script: it gets events from the relay's
// queue, and gives commands to the relay.
//
//   run.c        starts, runs, stops and frees a server
//   settings.c   perigee_server_config
//   events.c     passes the relay's events to handlers, or to the inbox
//   futures.c    events whose verdict or answer comes later
//   orders.c     the list of commands of all threads
//   execute.c    carries out orders one after the other, between two events
//   commands.c   the host's functions that make orders
//   inbox.c      events for the host of a server with its own thread
//   snapshot.c   copies of the server's state
//   api.c        the control API: reads requests and answers them
//   api_routes.c carries out requests of the control API
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/log.h"
#include "base/slots.h"
#include "base/timers.h"
#include "net/admin.h"
#include "os/bell.h"
#include "perigee_server.h"
#include "relay/relay.h"
#include "relay/room.h"
#include "server/server.h"

enum {
  STOP_REASON_MAX = 128,
  CAPACITY_MAX = 1000000,   // largest capacity of a room
  ORDERS_BYTES = 64 << 20,  // limit of bytes of waiting commands
};

struct perigee_server_config {
  Config config;
  char *game, *lua_path;  // paths; owned; NULL: not set
  bool has_no_jit, has_dev_tls;
  bool has_thread;
  bool is_program;  // see ServerOptions; if true, the log goes to standard error
  ConfigError error;
};

/// One command, or the commands of a batch.
typedef struct Order Order;
struct Order {
  Order *next;
  uint32_t request;  // number of the request; 0: the outcome is not reported
  Buf commands;
  Buf rooms;  // numbers of the rooms that the order creates
};

/// Commands that only the library has. `key` is the token of a future.
enum OrderCommand {
  ORDER_VERDICT = 200,  // code: verdict, body: reason
  ORDER_ANSWER,         // body: answer
  ORDER_FAULT,          // name: code, body: JSON
  ORDER_RELOAD,         // flags: 1 ignores the findings of a check
};

/// List of orders that have not begun. The lock protects it.
typedef struct Orders {
  pthread_mutex_t lock;
  Order *first, **end;
  size_t bytes;
  uint32_t last_request;
  bool is_over;        // the server is stopping and refuses further orders
  atomic_bool is_any;  // whether the list has entries; read without the lock
  Order *creating;     // orders whose on_creates are running; used by the loop only,
                       // without the lock
} Orders;

/// An event whose verdict or answer comes later.
typedef struct Future Future;
struct Future {
  Future *next, *previous;  // neighbours in the list by age
  uint64_t token;
  uint32_t slot;
  uint64_t due_ms;
  Event event;  // event with owned data
  Text name;    // name of a message; owned
};

/// Queue of events for perigee_server_next. Protected by the lock.
typedef struct Inbox {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct InboxEvent *first, **end;
  uint32_t count;
  size_t bytes;
  bool is_over;  // no more events follow
} Inbox;

/// Request of another thread for a snapshot.
typedef struct SnapshotRequest {
  struct SnapshotRequest *next;
  perigee_server_snapshot *snapshot;  // result; NULL: not taken yet
} SnapshotRequest;

/// A client of the control API: a connection of the admin listener or of the control socket.
typedef struct ApiClient {
  bool is_control;
  uint32_t id;  // ConnId or ControlToken
} ApiClient;

/// A request of the control API that waits for its outcome.
typedef struct ApiPending {
  struct ApiPending *next;
  ApiClient client;
  uint32_t order;
  int status;           // HTTP status of a success
  const char *missing;  // code in the answer if the order ends with NOT_FOUND
} ApiPending;

typedef struct Api {
  ApiPending *first;
  uint32_t count;
} Api;

/// The thread that uses the loop: to run it, or to start or close the server.
typedef struct LoopLock {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool is_taken;
  pthread_t owner;
  SnapshotRequest *requests;
} LoopLock;

struct perigee_server {
  Server *server;  // server; NULL: not started
  Log *log;        // log; NULL: the log of the process
  perigee_server_handlers handlers;
  void *user_data;
  Bell *bell;
  LoopLock loop;
  Orders orders;
  bool has_order_event;  // an EVENT_PROGRAM waits in the relay
  Slots futures;
  Future *oldest, *newest;
  uint64_t last_token;
  Timer future_timer;
  Buf name;  // decoded name of the message that is being handled
  bool is_finished;
  Inbox inbox;
  Api api;
  bool has_thread;
  bool is_freed;  // the server's own thread may end; protected by the lock of the loop
  pthread_t thread;
  atomic_bool is_stop_claimed, is_stop_asked;
  char stop_reason[STOP_REASON_MAX];
};

static inline Relay *relay_of(const perigee_server *self) {
  return self->server->engine.relay;
}

// --- events.c ---

/// Implements EngineEvents.event.
void library_event(void *data, const Event *event);

/// Implements RelayAccept with the host's on_accept.
bool library_accept(void *data, const char *address, uint16_t port);

/// Returns the hooks of the host's handlers.
uint32_t library_hooks(const perigee_server *self);

/// Applies a verdict to the event. An accepted event goes to the script if the script
/// has a handler for it.
void library_decide(perigee_server *self, const Event *event, int verdict, Code code,
                    const char *reason);

/// Answers the request of an event with ERROR.
void library_fail(perigee_server *self, const Event *event, Code code,
                  const char *text);

/// Reports an event that is not from the relay.
void library_report(perigee_server *self, const perigee_server_event *event);

/// Implements LogSink.
void library_log(void *data, LogLevel level, const char *text, size_t size);

// --- futures.c ---

/// Creates a future for the event, without its data. Returns its token, or 0 if too
/// many exist.
uint64_t future_new(perigee_server *self, const Event *event, Text name);

/// Stores a copy of the event's data in the future. Does nothing for token 0.
void future_keep(perigee_server *self, uint64_t token, Text data);

/// Frees a future that needs no verdict or answer any more. Does nothing for token 0.
void future_forget(perigee_server *self, uint64_t token);

/// Carry out ORDER_VERDICT, ORDER_ANSWER and ORDER_FAULT.
void future_verdict(perigee_server *self, const Command *command);
void future_fault(perigee_server *self, const Command *command);
void future_answer(perigee_server *self, const Command *command);
void futures_free(perigee_server *self);

// --- orders.c ---

void orders_init(Orders *orders);
void orders_deinit(Orders *orders);

/// Appends an order and takes ownership of it. Callable from any thread. Returns the
/// order's request (0 if `is_reported` is false). On an error, frees the order and
/// returns a negative perigee_server_code.
int orders_push(perigee_server *self, Order *order, bool is_reported);
void order_free(Order *order);

/// Removes and returns the first order, or returns NULL.
Order *orders_take(Orders *orders);

/// Makes the list refuse further orders.
void orders_end(Orders *orders);

// --- execute.c ---

/// Carries out all orders that need not wait.
void orders_run(perigee_server *self);

/// Schedules an event that carries out the waiting orders, if any wait.
void orders_schedule(perigee_server *self);

/// Implements ServerOptions.reloaded: reports the outcome of an ORDER_RELOAD.
void orders_reloaded(void *data, uint32_t request, bool is_good, const char *text);

// --- inbox.c ---

void inbox_init(Inbox *inbox);
void inbox_deinit(Inbox *inbox);

/// Appends a copy of the event. Callable from any thread.
void inbox_push(perigee_server *self, const perigee_server_event *event);
bool inbox_is_full(perigee_server *self);
void inbox_end(perigee_server *self);

// --- snapshot.c ---

perigee_server_snapshot *snapshot_take(const perigee_server *self);

// --- api.c ---

extern const AdminEvents API_EVENTS;

/// Implements ServerOptions.request.
void api_control(void *data, ControlToken token, const char *line);

/// Answers the request of the control API that waits for the order of `result`; returns
/// false if no request waits.
bool api_result(perigee_server *self, const perigee_server_event *result);
void api_deinit(Api *api);

// --- commands.c ---

/// Implements perigee_server_reload. A forced reload ignores the findings of a check of
/// the game.
int library_reload(perigee_server *self, bool is_forced);

/// Implements perigee_server_room_create, for a room with settings of its own.
int library_room_create(perigee_server *self, perigee_server_batch *batch, Text name,
                        const RoomSettings *settings);

/// Changes the settings of a room.
int library_room_set(perigee_server *self, perigee_server_batch *batch, uint32_t room,
                     const RoomSettings *settings);

/// Implements perigee_server_room_meta. Lists show public meta to clients.
int library_room_meta(perigee_server *self, perigee_server_batch *batch, uint32_t room,
                      const char *key, const char *value, bool is_public);

// --- run.c ---

/// Returns whether the calling thread uses the loop.
bool library_is_inside(perigee_server *self);
