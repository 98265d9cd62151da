// Calls into Lua. A handler is one lua_resume, which also catches errors. An error
// leads to a rollback and a text for the log.
#include "script/host.h"

#include <assert.h>
#include <lauxlib.h>
#include <luajit.h>
#include <lualib.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/mem.h"
#include "script/call_cost.h"
#include "script/core.h"
#include "script/failure.h"
#include "script/library.h"
#include "script/store.h"
#include "script/transaction.h"

// The Lua half wakes a coroutine by returning the coroutine, its event (see core_wait),
// and the results of its wait. These are the indexes of event and results.
enum { WAKE_EVENT = 2, WAKE_VALUES };

static const char MEMORY_TEXT[] =
    "not enough memory: the Lua heap is far over memory_limit";

enum {
  STACK_MAX = 1 << 20,   // bytes of the C stack for nested calls
  COROUTINE_SHARE = 64,  // divisor of the stack for nested coroutines; about 200
                         // coroutines can nest, as in Lua
};

static const char *const ENTRY_NAMES[ENTRY_COUNT] = {
#define X(constant, name) [constant] = name,
    EVENT_MAP(X) SEAM_EVENT_MAP(X) ENTRY_MAP(X)
#undef X
};

// --- Creating the state ---

// Counts and limits allocations. Uses LuaJIT's own allocator, which is faster for many
// small blocks than the C library's.
static void *allocate(void *data, void *block, size_t old_size, size_t size) {
  Host *host = data;
  Memory *memory = &host->memory;
  if (size > old_size) {
    jit_frame_update(&memory->jit_frame);
    if (!memory_grants(host, old_size, size)) return NULL;
    if (host->profile != NULL && host->running != NULL &&
        profile_allocate(host->profile, size - old_size))
      deadline_sample(host);
  }
  memory->bytes += size - old_size;
  size_t interrupt_bytes = host->deadline.interrupt_bytes;
  if (interrupt_bytes > 0 && memory->bytes > interrupt_bytes) deadline_interrupt(host);
  block = memory->allocate(memory->arena, block, old_size, size);
  return size > 0 ? mem_check(block, size) : NULL;
}

static lua_State *new_state(Host *host) {
  Memory *memory = &host->memory;
  lua_State *L = luaL_newstate();
  assert(L != NULL);
  memory->allocate = lua_getallocf(L, &memory->arena);
  memory->bytes = (size_t)lua_gc(L, LUA_GCCOUNT, 0) << 10;
  memory->bytes += (size_t)lua_gc(L, LUA_GCCOUNTB, 0);
  lua_setallocf(L, allocate, host);
  return L;
}

static int on_panic(lua_State *L) {
  const char *text = lua_tostring(L, -1);
  log_error("error outside a protected call", log_str("error", text ? text : "?"));
  abort();
}

// Implements the `require` of the Lua half: loads each module of the bundle once.
// Upvalues: host, loaded.
static int require_host(lua_State *L) {
  const Host *host = lua_touserdata(L, lua_upvalueindex(1));
  const char *name = luaL_checkstring(L, 1);
  lua_settop(L, 1);
  lua_pushvalue(L, 1);
  lua_rawget(L, lua_upvalueindex(2));
  if (!lua_isnil(L, -1)) return 1;
  if (!library_load(L, name, host->options.lua_path)) return lua_error(L);
  lua_call(L, 0, 1);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, -2);
  lua_rawset(L, lua_upvalueindex(2));
  return 1;
}

// Raises the limits of compiled code. LuaJIT discards all compiled code when its traces
// exceed maxtrace or their size exceeds maxmcode KiB. Sixty busy handlers reach the
// defaults (1000 and 512), and a larger game would spend most of its time compiling. A
// trace takes 1 KiB of the Lua heap and about as much outside.
static void widen_jit(lua_State *L) {
  lua_getglobal(L, LUA_JITLIBNAME);
  lua_getfield(L, -1, "opt");
  lua_getfield(L, -1, "start");
  lua_pushliteral(L, "maxtrace=8000");
  lua_pushliteral(L, "maxmcode=16384");
  lua_call(L, 2, 0);
  lua_pop(L, 2);
}

// Opens the standard libraries. The Lua half removes the functions that games may not
// have, and keeps copies for itself in locals. The library `jit` is opened last,
// because that starts the JIT.
static void open_libraries(lua_State *L, Host *host) {
  luaL_openlibs(L);
  bool is_safe = jit_frame_open(&host->memory.jit_frame, L);
  collector_open(&host->memory.collector, L);
  if (!is_safe)
    log_warn("scripts are interpreted: compiled code is not safe with this LuaJIT",
             log_str("luajit", LUAJIT_VERSION));
  if (host->options.has_no_jit || !is_safe)
    luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  else
    widen_jit(L);
}

static void remove_from_path(lua_State *L, const char *field, const char *part) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, field);
  luaL_gsub(L, lua_tostring(L, -1), part, "");
  lua_setfield(L, -3, field);
  lua_pop(L, 2);
}

// Loads a library into the table of modules on top of the stack.
static void take_library(lua_State *L, const char *name, const char *package) {
  lua_getglobal(L, "require");
  lua_pushstring(L, name);
  if (lua_pcall(L, 1, 1, 0) != 0)
    luaL_error(L, "%s is missing; on Debian: apt install %s", package, package);
  lua_setfield(L, -2, name);
}

// Pushes the table of preloaded modules.
static void push_loaded(lua_State *L, Host *host) {
  lua_newtable(L);
  core_push(L, host);
  lua_setfield(L, -2, "perigee.core");
  // Removes the working directory from the paths, so that libraries come from the
  // system alone.
  remove_from_path(L, "path", "./?.lua;");
  remove_from_path(L, "cpath", "./?.so;");
  take_library(L, "cjson.safe", "lua-cjson");
  take_library(L, "lpeg", "lua-lpeg");
  lua_getglobal(L, "bit");
  lua_setfield(L, -2, "bit");
  take_library(L, "table.new", "luajit");
  take_library(L, "ffi", "luajit");
}

static int take_entry(lua_State *L, const char *name) {
  lua_getfield(L, -1, name);
  return luaL_ref(L, LUA_REGISTRYINDEX);
}

static void take_entries(lua_State *L, Host *host) {
  for (int i = 0; i < ENTRY_COUNT; i++) {
    host->entries[i] = LUA_NOREF;
    lua_getfield(L, -1, ENTRY_NAMES[i]);
    if (lua_isfunction(L, -1))
      host->entries[i] = luaL_ref(L, LUA_REGISTRYINDEX);
    else
      lua_pop(L, 1);
  }
  host->failed = take_entry(L, "failed");
  host->faulted = take_entry(L, "faulted");
  host->fault_class = take_entry(L, "fault_class");
  host->label = take_entry(L, "label");
}

// Pushes a module. Expects `require` on top of the stack.
static void push_module(lua_State *L, const char *name) {
  lua_pushvalue(L, -1);
  lua_pushstring(L, name);
  lua_call(L, 1, 1);
}

static int start(lua_State *L) {
  Host *host = lua_touserdata(L, 1);
  open_libraries(L, host);
  call_cost_init(host, L);
  lua_pushlightuserdata(L, host);
  push_loaded(L, host);
  deadline_init(host);
  lua_pushcclosure(L, require_host, 2);
  lua_pushvalue(L, -1);
  lua_setglobal(L, "require");
  push_module(L, "perigee.guard.next_workaround");
  lua_pop(L, 1);
  if (net_is_simulated(host->net)) {  // must precede perigee.host, which removes
                                      // functions that this module needs
    push_module(L, "perigee.host.inspect");
    host->inspect = luaL_ref(L, LUA_REGISTRYINDEX);
  }
  push_module(L, "perigee.host");
  take_entries(L, host);
  return 0;
}

// Returns STACK_MAX, or half of the C stack if that is less. The rest remains for calls
// that do not check the stack.
static size_t choose_stack_max(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return STACK_MAX;
  return limit.rlim_cur / 2 < STACK_MAX ? (size_t)limit.rlim_cur / 2 : STACK_MAX;
}

static size_t stack_used(const Host *host) {
  const char *here = __builtin_frame_address(0);
  return (size_t)(host->stack - here);
}

bool host_has_stack(const Host *host) { return stack_used(host) < host->stack_max; }

bool host_has_stack_for_coroutine(const Host *host) {
  return stack_used(host) < host->stack_max / COROUTINE_SHARE;
}

bool host_init(Host *host) {
  host->stack = __builtin_frame_address(0);
  host->stack_max = choose_stack_max();
  host->profile = profile_shared();
  randombytes_buf(host->key_seed, sizeof host->key_seed);
  host->L = new_state(host);
  lua_atpanic(host->L, on_panic);
  if (lua_cpcall(host->L, start, host) == 0) return true;
  size_t size;
  const char *text = lua_tolstring(host->L, -1, &size);
  if (text != NULL) failure_set_text(host, text, size);
  lua_settop(host->L, 0);
  return false;
}

void host_deinit(Host *host) {
  fetcher_close(host->fetcher);
  accounts_deinit(&host->accounts);
  host_store_close(host);
  transactions_drop_all(host);
  if (host->L != NULL) {
    deadline_deinit(host);
    pages_stop(&host->memory.pages, host->memory.allocate, host->memory.arena);
    // Restores LuaJIT's own allocator, because LuaJIT then frees the whole arena at
    // once.
    lua_setallocf(host->L, host->memory.allocate, host->memory.arena);
    lua_close(host->L);
  }
  for (size_t i = 0; i < host->file_count; i++) mem_free(host->files[i]);
  mem_free(host->files);
  costs_clear(&host->costs);
  cost_sums_deinit(&host->past_costs);
  if (host->profile != profile_shared()) profile_free(host->profile);
  buf_deinit(&host->fault);
  buf_deinit(&host->answer);
  buf_deinit(&host->scratch);
  buf_deinit(&host->queues);
  buf_deinit(&host->unit);
}

// --- Calling ---

// Pushes the arguments, which have the same order for all functions. Omits the last
// arguments if the event does not use them. Returns the number of arguments.
static int push_event(lua_State *co, const Event *event) {
  if (event->type == EVENT_STORE || event->type == EVENT_STORE_FAILED)
    return host_store_push(co, event);
  lua_pushinteger(co, event->peer);
  lua_pushinteger(co, event->room);
  lua_pushlstring(co, event->data.size > 0 ? event->data.bytes : "", event->data.size);
  if (event->type == EVENT_BROADCAST) return 3;
  lua_pushnumber(co, event->a);
  lua_pushnumber(co, event->b);
  if (event->type != EVENT_MESSAGE && event->type != EVENT_PACKET &&
      event->type != EVENT_RESPONSE && event->type != EVENT_RESUME &&
      event->type != EVENT_BOT_MESSAGE && event->type != EVENT_CHANNEL &&
      event->type != EVENT_CHANNEL_CLOSED)
    return 5;
  lua_pushinteger(co, event->flags);
  lua_pushinteger(co, event->ref);
  lua_pushinteger(co, event->packet_type);
  lua_pushinteger(co, event->channel);
  lua_pushinteger(co, event->priority);
  return 10;
}

static HostOutcome resume(Host *host, lua_State *co, int count) {
  host->running = co;
  host->is_waiting = false;
  int status = lua_resume(co, count);
  host->running = NULL;
  if (deadline_is_over(&host->deadline))
    return failure_end(host, co, FAILED_DEADLINE,
                       (const char *)host->deadline.text.data);
  if (host->memory.was_refused)
    return failure_end(host, co, FAILED_MEMORY, MEMORY_TEXT);
  if (status == 0) {
    deadline_end(host);
    host->results = co;
    return HOST_ENDED;
  }
  if (status == LUA_YIELD && host->is_waiting) {
    deadline_end(host);
    return HOST_WAITS;
  }
  if (status != LUA_YIELD && failure_is_fault(host, co))
    return failure_end_with_fault(host, co);
  return failure_end(host, co, FAILED_PLAIN,
                     status == LUA_YIELD
                         ? "coroutine.yield in a handler: nothing would wake it; "
                           "to wait there is perigee.sleep"
                         : NULL);
}

// Resumes the coroutine that `co` has returned, with the event for which it was
// started.
static HostOutcome wake(Host *host, lua_State *co) {
  lua_State *task = lua_tothread(co, 1);
  const HostEvent *kept = lua_touserdata(co, WAKE_EVENT);
  host->event = kept->event;
  host->is_owned = kept->is_owned;
  int count = lua_gettop(co) - (WAKE_VALUES - 1);
  lua_xmove(co, task, count);
  deadline_begin(host);  // because the waking call has ended its deadline
  return resume(host, task, count);
}

HostOutcome host_call(Host *host, const Event *event) {
  assert(host->running == NULL && lua_gettop(host->L) == 0);
  assert(host->entries[event->type] != LUA_NOREF);
  if (host->idle == NULL) {
    host->idle = lua_newthread(host->L);
    host->idle_ref = luaL_ref(host->L, LUA_REGISTRYINDEX);
  }
  lua_State *co = host->idle;
  host->stack = __builtin_frame_address(0);
  host->event = *event;
  host->is_owned = event->type == EVENT_START || event->type == ENTRY_LOAD;
  host->is_dry = false;
  if (event->type > ENTRY_BEFORE_FIRST) deadline_tick(host);
  deadline_begin(host);
  relay_begin_handler(host->relay);
  lua_rawgeti(co, LUA_REGISTRYINDEX, host->entries[event->type]);
  HostOutcome outcome = resume(host, co, push_event(co, event));
  if (host->profile != NULL && event->type > ENTRY_BEFORE_FIRST)
    profile_end_call(host->profile, ENTRY_NAMES[event->type]);
  if (outcome != HOST_ENDED) {  // the coroutine waits, or is dead
    luaL_unref(host->L, LUA_REGISTRYINDEX, host->idle_ref);
    host->idle = NULL;
  } else if (lua_isthread(co, 1)) {
    outcome = wake(host, co);
    if (outcome != HOST_ENDED) host_done(host);
  }
  return outcome;
}

void host_done(Host *host) {
  host->results = NULL;
  if (host->idle != NULL) lua_settop(host->idle, 0);
}

// Ends the handler's unit of writes before it carries out the commands, because a
// command may wait for another handler.
void host_commit(Host *host) {
  host_store_end_unit(host);
  relay_commit(host->relay);
  host->mark = (HostMark){0};
  host->transaction++;
}

void host_begin_commit(Host *host) {
  host_store_end_unit(host);
  relay_begin_commit(host->relay);
  host->transaction++;
}

void host_hold(Host *host) {
  host->is_held = true;
  host->mark = (HostMark){relay_mark(host->relay), host_store_mark(host)};
}

void host_cut(Host *host) {
  host_store_cut(host, host->mark.store);
  relay_forget(host->relay, host->mark.relay);
}

void host_forget(Host *host) {
  host->mark = (HostMark){0};
  host_cut(host);
}

void host_release(Host *host) {
  host_forget(host);
  host->is_held = false;
  host_commit(host);
}

// Sets the version. A new version discards all compiled code, because traces of the
// host refer to traces of the previous version, and would keep its objects alive.
void host_set_version(Host *host, uint32_t number, const char *hash) {
  if (number != host->version) {
    call_cost_reset(host);
    luaJIT_setmode(host->L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_FLUSH);
  }
  host->version = number;
  snprintf(host->hash, sizeof host->hash, "%s", hash != NULL ? hash : "");
  log_set_version(number, host->hash);
}
