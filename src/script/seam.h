// The script's events and commands that concern no room or channel: starts and stops,
// reloads, timers, HTTP requests, child processes. The relay only orders them among its
// own events and commands. Their numbers follow the numbers of EventType and
// CommandType.
#pragma once

#include "net/admin.h"
#include "relay/relay.h"

// X(constant, name): core.events contains these names for the Lua half.
#define SEAM_EVENT_MAP(X)                                                              \
  X(EVENT_START, "start")   /* the server listens */                                   \
  X(EVENT_STOP, "stop")     /* data: the reason */                                     \
  X(EVENT_RELOAD, "reload") /* b: ReloadInput, which defines a and data */             \
  X(EVENT_ERROR, "error")   /* a handler failed; a: number of the report */            \
  X(EVENT_KEEP, "keep")     /* a: peer, b: held connection or 0, data: session */      \
  X(EVENT_TIMER, "timer")   /* a: timer id; peer, room: see ScriptTimer */             \
  X(EVENT_SYSTEM, "system") /* of perigee.world; a: `a` of the tick, b: its number */  \
  X(EVENT_HTTP, "http") /* a: connection, data: see net/admin.h; needs an answer */    \
  X(EVENT_HTTP_GONE, "http_gone") /* a: connection, which has ended without answer */  \
  X(EVENT_CONSOLE, "console")     /* a line of the console; as EVENT_HTTP */           \
  X(EVENT_CHILD, "child")         /* a: token, b: status (os/child.h), data: output */ \
  X(EVENT_SHOW, "show")           /* a: connection, data: view of the dashboard */     \
  X(EVENT_PASSWORD, "password")   /* a: token, b: is right, data: hash */              \
  X(EVENT_FETCH, "fetch")         /* a: token, b: Code, data: text; see FetchEnd */    \
  X(EVENT_STORE,                                                                       \
    "store") /* the answer to a request; a: token, b: StoreCode, data: see \
                             script/store.h */           \
  X(EVENT_STORE_FAILED,                                                                \
    "store_failed") /* a write that nobody waits for has failed; a: \
                                           collection, b and data as in EVENT_STORE */

typedef enum SeamEvent {
  SEAM_EVENT_BEFORE_FIRST = EVENT_TYPE_COUNT - 1,
#define X(constant, name) constant,
  SEAM_EVENT_MAP(X)
#undef X
      SEAM_EVENT_END
} SeamEvent;

typedef enum SeamCommand {
  COMMAND_TIMER_SET = COMMAND_TYPE_COUNT,  // timer `id`
  COMMAND_TIMER_CANCEL,                    // timer `id`
  COMMAND_ANSWER,  // connection `id`, flags: AnswerPart, code: HTTP status, name:
                   // header fields, body
  COMMAND_STOP,    // body: reason of the stop
  COMMAND_CHILD,  // token `id`, name: arguments, a NUL after each; body: standard input
  COMMAND_FETCH,  // token `id`, name: head (FetchStart), body if `flags` is not 0, code:
                  // timeout in milliseconds
  COMMAND_STORE,  // token `id`, flags: StoreRequest; see script/store.h
} SeamCommand;

typedef struct Host Host;

/// Makes `host` the RelayHost of its relay.
void seam_attach(Host *host);

/// Returns the order in which the relay handles events of this type.
EventOrder seam_order(uint8_t type);

/// Queues an event of the script.
void seam_push(const Host *host, Event event);
