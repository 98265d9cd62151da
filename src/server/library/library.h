// What the files of the library share: perigee_server itself. They stand on the engine as a
// script does: events come up, from the relay's one queue, and commands go down into it.
//
//   run.c        starts, runs, stops and frees a server
//   settings.c   perigee_server_config
//   events.c     gives the relay's events to handlers, or to the inbox
//   futures.c    verdicts and answers that come later
//   orders.c     commands of all threads, carried out in order between two events
//   commands.c   the functions that make them
//   inbox.c      events of a server with a thread of its own
//   snapshot.c   the server at one moment
//   api.c        the control API: requests and their answers
//   api_routes.c what each of them does
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
  ORDERS_BYTES = 64 << 20,  // of commands that may wait
};

struct perigee_server_config {
  Config config;
  char *game, *lua_path;  // owned; NULL: not set
  bool has_no_jit, has_dev_tls;
  bool has_thread;
  bool is_program;  // see ServerOptions; its log goes to standard error
  ConfigError error;
};

/// A command that is carried out alone, or several that are together.
typedef struct Order Order;
struct Order {
  Order *next;
  uint32_t request;  // 0: nobody asks how it went
  Commands commands;
};

/// Commands that the relay does not know. `key` is the token of a future.
enum OrderCommand {
  ORDER_VERDICT = 200,  // code: the verdict, body: the reason
  ORDER_ANSWER,         // body
  ORDER_RELOAD,
};

/// Commands on their way. Under the lock.
typedef struct Orders {
  pthread_mutex_t lock;
  Order *first, **end;
  size_t bytes;
  uint32_t last_request;
  bool is_over;  // the server is stopping: no more are taken
  /// Takes the result of a request; false if it is for the host.
  bool (*take_result)(perigee_server *self, uint32_t request, int code, uint32_t room);
  atomic_bool is_any;  // the list is not empty; read without the lock
} Orders;

/// A room that was asked for and whose on_create has not ended.
typedef struct PendingRoom {
  uint32_t request, room;
} PendingRoom;

/// An event whose verdict or answer comes later.
typedef struct Future Future;
struct Future {
  Future *next, *previous;  // by age
  uint64_t token;
  uint32_t slot;
  uint64_t due_ms;
  Event event;  // its data is owned
  Text name;    // of a message; owned
};

/// Events that wait for perigee_server_next. Under the lock.
typedef struct Inbox {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  struct InboxEvent *first, **end;
  uint32_t count;
  size_t bytes;
  bool is_over;  // no more will come
} Inbox;

/// Somebody who waits for a snapshot.
typedef struct Wish {
  struct Wish *next;
  perigee_server_snapshot *snapshot;  // NULL: not taken yet
} Wish;

/// Who is answered: a connection of the admin listener or of the control socket.
typedef struct ApiAsker {
  bool is_control;
  uint32_t id;  // ConnId or ControlToken
} ApiAsker;

/// A request of the control API that waits for its outcome.
typedef struct ApiAsk {
  struct ApiAsk *next;
  ApiAsker from;
  uint32_t id;          // of a reload
  uint32_t order;       // 0: a reload
  int status;           // of a success
  const char *missing;  // code of NOT_FOUND
} ApiAsk;

typedef struct Api {
  ApiAsk *first;
  uint32_t count, last_id;
} Api;

/// The thread that is inside: it runs the loop, or takes a snapshot while nobody does.
typedef struct Monitor {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  bool is_taken;
  pthread_t owner;
  Wish *wishes;  // of other threads
} Monitor;

struct perigee_server {
  Server *server;  // NULL: not started
  Log *log;        // NULL: that of the process
  perigee_server_handlers handlers;
  void *user_data;
  Bell *bell;
  Monitor monitor;
  Orders orders;
  bool has_order_event;  // EVENT_ORDERS waits in the relay
  Buf pending;           // PendingRooms
  Slots futures;
  Future *oldest, *newest;
  uint64_t last_token;
  Timer future_timer;
  Buf name;  // of the message that is being handled, decoded
  bool is_finished;
  Inbox inbox;
  Api api;
  bool has_thread;
  bool is_freed;  // its thread may end; under the lock of the monitor
  pthread_t thread;
  atomic_bool is_stop_claimed, is_stop_asked;
  char stop_reason[STOP_REASON_MAX];
};

static inline Relay *relay_of(const perigee_server *self) {
  return self->server->engine.relay;
}

// --- events.c ---

/// EngineEvents.event.
void library_event(void *data, const Event *event);

/// Which hooks the handlers are.
uint32_t library_hooks(const perigee_server *self);

/// Carries out a verdict: asks the script about what is accepted, where it has a handler.
void library_decide(perigee_server *self, const Event *event, int verdict, Code code,
                    const char *reason);

/// Answers the request of an event with ERROR.
void library_fail(perigee_server *self, const Event *event, Code code,
                  const char *text);

/// Reports an event that is none of the relay's.
void library_report(perigee_server *self, const perigee_server_event *event);

/// LogSink.
void library_log(void *data, LogLevel level, const char *text, size_t size);

// --- futures.c ---

/// Makes one for the event, without its data; returns its token, or 0 where there are too
/// many.
uint64_t future_new(perigee_server *self, const Event *event, Text name);

/// Keeps a copy of the event's data.
void future_keep(perigee_server *self, uint64_t token, Text data);

/// Nobody will answer it any more; 0 is allowed.
void future_forget(perigee_server *self, uint64_t token);

/// Carries out ORDER_VERDICT and ORDER_ANSWER.
void future_verdict(perigee_server *self, const Command *command);
void future_answer(perigee_server *self, const Command *command);
void futures_free(perigee_server *self);

// --- orders.c ---

/// EventType of the event that has orders carried out in their turn.
enum { EVENT_ORDERS = UINT8_MAX };

void orders_init(Orders *orders);
void orders_deinit(Orders *orders);

/// Appends an order, which is owned from then on. Any thread. Returns its request (0 when
/// `is_asked` is false), or a negative perigee_server_code and then it is freed.
int orders_push(perigee_server *self, Order *order, bool is_asked);
void order_free(Order *order);

/// Carries out what waits.
void orders_run(perigee_server *self);

/// Has them carried out in their turn, if any wait.
void orders_announce(perigee_server *self);

/// Reports rooms whose creation has ended.
void orders_settle(perigee_server *self);

/// No more are taken.
void orders_end(Orders *orders);

/// The perigee_server_code of an error.
int library_code(int err);

// --- inbox.c ---

void inbox_init(Inbox *inbox);
void inbox_deinit(Inbox *inbox);

/// Puts a copy in. Any thread.
void inbox_push(perigee_server *self, const perigee_server_event *event);
bool inbox_is_full(perigee_server *self);
void inbox_end(perigee_server *self);

// --- snapshot.c ---

perigee_server_snapshot *snapshot_take(const perigee_server *self);

// --- api.c ---

extern const AdminEvents API_EVENTS;

/// See ServerOptions.
void api_control(void *data, ControlToken token, const char *line);
void api_reloaded(void *data, uint32_t asked, bool is_good, const char *report);

/// Answers the request that waits for an order; false if there is none.
bool api_result(perigee_server *self, uint32_t order, int code, uint32_t room);
void api_deinit(Api *api);

// --- run.c ---

/// Whether the calling thread runs the loop.
bool library_is_inside(perigee_server *self);
