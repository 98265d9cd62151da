// The Lua state of a game, and the one way into it: host_call. Private to src/script.
//
// A handler runs on a coroutine that is used again for the next one. When it waits, its
// coroutine is left to the Lua half, which keeps it until what it waits for has come,
// and then returns it from another handler ("wakes" it); host_call resumes it as the
// event it began with.
//
// Between calls the main state's stack is empty.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/slots.h"
#include "net/net.h"
#include "relay/relay.h"
#include "script/busiest.h"
#include "script/cost.h"
#include "script/guard/deadline.h"
#include "script/guard/memory.h"
#include "script/parser.h"
#include "script/reload.h"
#include "script/script.h"
#include "script/seam.h"

// Calls of the Lua half besides events; numbered on from SeamEvent.
// X(constant, name)
#define ENTRY_MAP(X)                                                                \
  X(ENTRY_LOAD, "load")       /* data: the game's path at the start, else "" */     \
  X(ENTRY_UPGRADE, "upgrade") /* a step of a reload: on_upgrade of the next room */ \
  X(ENTRY_FOLLOW_UP, "follow_up")     /* on_reload */                               \
  X(ENTRY_FORGET, "forget")           /* peer: it was not let in */                 \
  X(ENTRY_FORGET_ROOM, "forget_room") /* room: its on_create failed */              \
  X(ENTRY_LOOK, "look") /* at states; peer, room; a: type of the event before */

typedef enum Entry {
  ENTRY_BEFORE_FIRST = SEAM_EVENT_END - 1,
#define X(constant, name) constant,
  ENTRY_MAP(X)
#undef X
      ENTRY_COUNT
} Entry;

typedef enum HostOutcome {
  HOST_ENDED,   // results lie on `results`
  HOST_WAITS,   // the handler goes on later
  HOST_FAILED,  // `fault` says how; the relay has forgotten what it wanted
} HostOutcome;

struct Host {
  lua_State *L;
  lua_State *idle;  // the coroutine for the next handler; NULL: to be made
  int idle_ref;
  lua_State *running;           // the coroutine of the handler that runs; NULL outside
  lua_State *results;           // the one that has ended, its results from 1 on
  Event event;                  // what the handler is for; `type` may be an Entry
  uint32_t version;             // of the script that is live; 0 before the first
  char hash[LOG_HASH_MAX + 1];  // its hash, or ""
  bool is_held;          // commands of several handlers are committed together, later
  RelayMark mark;        // then: the commands before those of the running handler
  bool is_owned;         // its timers end with this version of the script
  bool is_waiting;       // the running handler is about to wait
  uint32_t transaction;  // counts commits and rollbacks
  uint64_t key_seed[2];  // under which send options' keys are hashed
  int entries[ENTRY_COUNT];
  lua_State *ran;     // holds the table in which the Lua half says what it calls
  int failed;         // the Lua function that handles failures
  int label;          // the one that names what has run
  uint32_t systems;   // how often EVENT_SYSTEM follows a tick of the game
  Slots timers;       // ScriptTimer by id; owned (timer.c)
  uint64_t handlers;  // events handed to the script
  Deadline deadline;  // of the call that runs
  Memory memory;
  Parser parser;  // of the game's files
  Reload reload;
  Costs costs;
  Busiest busiest;
  const char *stack;  // where the C stack was when the host was entered
  size_t stack_max;   // bytes of it that calls may take
  Buf fault;          // a C string: the last failure, or why the host could not start
  Buf scratch;        // of one core function
  char **files;       // of the game; owned, ended by NULL
  size_t file_count;
  ScriptOptions options;
  bool is_loaded;  // the Lua half runs
  int inspect;     // in a simulation: the module perigee.inspect; 0: none
  Relay *relay;
  Net *net;
  const ScriptEvents *events;
  void *events_data;
};

/// Makes the state and runs the Lua half of the host in it. False, with `fault` set,
/// when that cannot be.
bool host_init(Host *host);
void host_deinit(Host *host);

/// Runs the Lua half's function for `event`. The caller commits the commands of a handler that
/// has ended or waits; those of one that failed are forgotten.
HostOutcome host_call(Host *host, const Event *event);

/// Whether there is C stack left for calls that nest on it. Lua counts those within one
/// coroutine, but not coroutines in coroutines, nor how much each takes.
bool host_has_stack(const Host *host);

/// The same for one more coroutine in another. They take little of it, but as many as
/// the stack holds take long to end, one after the other, when the innermost fails.
bool host_has_stack_for_coroutine(const Host *host);

/// Ends the use of `results`.
void host_done(Host *host);

/// Carries out what the running handler has asked for so far, or what the last one did.
void host_commit(Host *host);

/// Begins to carry out what the last one did; no other handler runs before that is done.
void host_begin_commit(Host *host);

/// From here to host_release what handlers ask for is neither carried out nor, when a
/// later one fails, forgotten. To be called before each of them.
void host_hold(Host *host);

/// Forgets what has been asked for since the last commit.
void host_forget(Host *host);

/// Ends the hold, and forgets what has not been committed.
void host_release(Host *host);

/// The version of the script that is live now, for the log too.
void host_set_version(Host *host, uint32_t number, const char *hash);
