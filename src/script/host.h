// The Lua state of a game. host_call is the only way into it. Private to src/script.
//
// A handler runs on a coroutine that the next handler reuses. When a handler waits, the
// Lua half keeps its coroutine, and host_call creates another one. To wake the handler,
// the Lua half returns its coroutine from another handler, and host_call resumes it
// with its original event.
//
// Between calls, the stack of the main state is empty.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/slots.h"
#include "net/net.h"
#include "os/fetch.h"
#include "relay/relay.h"
#include "script/accounts.h"
#include "script/busiest.h"
#include "script/cost.h"
#include "script/guard/deadline.h"
#include "script/guard/memory.h"
#include "script/parser.h"
#include "script/profile.h"
#include "script/reload.h"
#include "script/script.h"
#include "script/seam.h"
#include "store/store.h"

// Functions of the Lua half that do not handle an event. Their numbers follow the
// numbers of SeamEvent.
// X(constant, name)
#define ENTRY_MAP(X)                                                                   \
  X(ENTRY_LOAD, "load")       /* data: the game's path, "" for a reload */             \
  X(ENTRY_UPGRADE, "upgrade") /* a step of a reload: on_upgrade of the next room */    \
  X(ENTRY_FOLLOW_UP, "follow_up")     /* on_reload */                                  \
  X(ENTRY_FORGET, "forget")           /* peer, which was rejected */                   \
  X(ENTRY_FORGET_ROOM, "forget_room") /* room, whose on_create failed */               \
  X(ENTRY_ACCEPT, "accept")           /* on_accept; data: the address, a: the port */  \
  X(ENTRY_RESTORE, "restore")         /* restores what was kept, before the start */   \
  X(ENTRY_SAVE, "save")               /* saves everything, because the server stops */ \
  X(ENTRY_LOOK, "look") /* checks states; peer, room, a: type of the last event */

typedef enum Entry {
  ENTRY_BEFORE_FIRST = SEAM_EVENT_END - 1,
#define X(constant, name) constant,
  ENTRY_MAP(X)
#undef X
      ENTRY_COUNT
} Entry;

typedef enum HostOutcome {
  HOST_ENDED,   // the results are on `results`
  HOST_WAITS,   // the handler continues later
  HOST_FAILED,  // `fault` has the error; the relay has discarded the handler's commands
  HOST_FAULTED,  // the error is an answer: `fault` has its code, `answer` its JSON; the
                 // relay has discarded the handler's commands
} HostOutcome;

/// A position among the effects of handlers.
typedef struct HostMark {
  RelayMark relay;
  size_t store;  // see store_mark
} HostMark;

/// The event of a handler that waits, in a userdata, followed by its data.
typedef struct HostEvent {
  Event event;
  bool is_owned;  // see Host
} HostEvent;

struct Host {
  lua_State *L;
  lua_State *idle;  // coroutine for the next handler; NULL: not created yet
  int idle_ref;
  lua_State *running;  // coroutine of the running handler; NULL: none
  lua_State *results;  // coroutine of the ended handler, with the results from index 1
                       // on
  Event event;         // event of the handler; `type` may be an Entry
  uint32_t version;    // live version of the script; 0 before the first
  char hash[LOG_HASH_MAX + 1];  // hash of that version, or ""
  bool keeps;                   // sessions and durable rooms survive the process
  bool is_held;          // the commands of several handlers are committed together
  HostMark mark;         // end of the commands of earlier handlers, while is_held
  bool is_owned;         // the handler's new timers end with this version of the script
  bool is_waiting;       // the handler has called core_wait
  bool is_dry;           // the handler must not commit, see core_console.c
  uint32_t transaction;  // number of commits and rollbacks so far
  uint64_t key_seed[2];  // key for hashing the send option `key`
  int entries[ENTRY_COUNT];
  lua_State *ran;  // stack with the table of call_cost.h
  int failed;      // reference to the Lua function that reports failures
  int faulted;     // reference to the Lua function that handles a fault (perigee.fault)
  int fault_class;    // reference to the metatable of faults
  int label;          // reference to the Lua function that names a handler
  uint32_t systems;   // number of EVENT_SYSTEMs after each tick of the game
  Slots timers;       // ScriptTimer by id; owned (timer.c)
  uint32_t waiting;   // number of them that end a wait
  uint64_t handlers;  // events passed to the script
  Deadline deadline;  // deadline of the running call
  Memory memory;
  Parser parser;      // parser of the game's files
  Fetcher *fetcher;   // requests to other servers; NULL before the first one; owned
  Store *store;       // documents; NULL until a version of the game uses them; owned
  Slots stashes;      // RelayStash by id, for waiting transactions; owned
  Timer store_timer;  // time of the store's next commit, in a simulation
  StoreUnit unit;     // unit for the next request, see core_store.c
  Accounts accounts;
  Reload reload;
  Costs costs;
  CostSums past_costs;  // costs of earlier versions
  Busiest busiest;
  Profile *profile;   // NULL: none; owned unless it is profile_shared()
  const char *stack;  // position in the C stack at the last entry
  size_t stack_max;   // bytes of the C stack that calls may use
  Buf fault;          // C string: error of the last failure or of the start, or code of
                      // the last fault
  Buf answer;         // JSON of the value of the last fault
  Buf scratch;        // buffer for one core function; reused
  Buf queues;         // JSON of the queues' figures
  char **files;       // files of the game, ended by NULL; owned
  size_t file_count;
  ScriptOptions options;
  bool is_loaded;  // the Lua half is running
  int inspect;     // reference to perigee.inspect in a simulation; 0: none
  Relay *relay;
  Net *net;
  const ScriptEvents *events;
  void *events_data;
};

/// Creates the state and starts the Lua half in it. On failure, returns false and sets
/// `fault`.
bool host_init(Host *host);
void host_deinit(Host *host);

/// Runs the Lua half's function for `event`. The caller commits the commands of a
/// handler that has ended or waits. host_call discards the commands of a failed
/// handler.
HostOutcome host_call(Host *host, const Event *event);

/// Returns whether the C stack has room for nested calls. Lua counts nested calls
/// within one coroutine, but neither nested coroutines nor the bytes that a call takes.
bool host_has_stack(const Host *host);

/// Returns whether the C stack has room for a nested coroutine. This limit is lower,
/// because ending many nested coroutines takes long when the innermost one fails.
bool host_has_stack_for_coroutine(const Host *host);

/// Ends the use of `results`.
void host_done(Host *host);

/// Carries out the commands so far of the running handler, or of the last one.
void host_commit(Host *host);

/// Begins to carry out the commands of the last handler. No other handler runs before
/// all of them are done.
void host_begin_commit(Host *host);

/// Begins or continues a hold; call it before each of several handlers. Until
/// host_release, their commands are not carried out, and a failure of a later handler
/// does not discard them.
void host_hold(Host *host);

/// Discards the commands and writes of the running handler.
void host_cut(Host *host);

/// Discards all commands since the last commit.
void host_forget(Host *host);

/// Ends the hold. Discards the commands that were not committed.
void host_release(Host *host);

/// Sets the live version of the script, also for the log.
void host_set_version(Host *host, uint32_t number, const char *hash);
