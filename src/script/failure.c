// Failures and faults of handlers: discards the handler's commands and notifies the Lua
// half.
#include "script/failure.h"

#include <lauxlib.h>
#include <string.h>

#include "base/log.h"
#include "script/guard/trace.h"
#include "script/store.h"

void failure_set_text(Host *host, const char *text, size_t size) {
  host->fault.size = 0;
  buf_append(&host->fault, text, size);
  buf_u8(&host->fault, 0);
}

typedef struct Failure {
  FailureKind kind;
  Host *host;
  lua_State *co;  // coroutine that failed; if `text` is NULL, its top is the error
                  // value
  const char *text;
} Failure;

// Pushes the traceback. A call that exceeded a limit stored its traceback at that time,
// because code that catches the error may raise it again elsewhere. After a lack of
// memory, the stack may be invalid, so the traceback is empty.
static void push_traceback(lua_State *L, const Failure *failure) {
  const Buf *trace = &failure->host->deadline.trace;
  switch (failure->kind) {
    case FAILED_PLAIN:
      trace_push(L, failure->co, NULL, 0);
      break;
    case FAILED_DEADLINE:
      lua_pushlstring(L, (const char *)trace->data, trace->size - 1);
      break;
    case FAILED_MEMORY:
      lua_pushliteral(L, "");
      break;
  }
}

// Reports a failure to the Lua half, which rolls back its own state, logs, and returns
// the error text.
static int report_failure(lua_State *L) {
  Failure *failure = lua_touserdata(L, 1);
  Host *host = failure->host;
  lua_rawgeti(L, LUA_REGISTRYINDEX, host->failed);
  lua_pushinteger(L, host->event.type);
  lua_pushinteger(L, host->event.peer);
  lua_pushinteger(L, host->event.room);
  if (failure->text != NULL)
    lua_pushstring(L, failure->text);
  else
    lua_xmove(failure->co, L, 1);
  push_traceback(L, failure);
  lua_pushboolean(L, failure->kind != FAILED_PLAIN);
  lua_call(L, 6, 1);
  size_t size;
  const char *text = luaL_checklstring(L, -1, &size);
  failure_set_text(host, text, size);
  return 0;
}

HostOutcome failure_end(Host *host, lua_State *co, FailureKind kind, const char *text) {
  Failure failure = {.kind = kind, .host = host, .co = co, .text = text};
  if (host->memory.was_refused || host->deadline.over == DEADLINE_OVER_MEMORY)
    memory_reclaim(host);
  deadline_end(host);
  host_store_cut(host, host->mark.store);
  relay_rollback(host->relay, host->mark.relay);
  if (lua_cpcall(host->L, report_failure, &failure) != 0) {
    const char *fault = lua_tostring(host->L, -1);
    if (fault == NULL) fault = "a handler failed, and so did its report";
    failure_set_text(host, fault, strlen(fault));
    log_error("handler failed", log_str("error", fault));
    lua_settop(host->L, 0);
  }
  if (!host->is_held) host->transaction++;
  return HOST_FAILED;
}

// --- Faults ---

// Returns whether the error of a coroutine is a fault, by which a handler answers its
// request. Loads and reloads have no request.
bool failure_is_fault(const Host *host, lua_State *co) {
  uint8_t type = host->event.type;
  bool is_of_host = type > ENTRY_BEFORE_FIRST && type != ENTRY_ACCEPT;
  if (type == EVENT_RELOAD || is_of_host) return false;
  if (lua_type(co, -1) != LUA_TTABLE || !lua_getmetatable(co, -1)) return false;
  lua_rawgeti(co, LUA_REGISTRYINDEX, host->fault_class);
  bool is_it = lua_rawequal(co, -1, -2);
  lua_pop(co, 2);
  return is_it;
}

// Passes a fault to the Lua half, which rolls back its own state, and returns code and
// JSON.
static int take_fault(lua_State *L) {
  Failure *failure = lua_touserdata(L, 1);
  Host *host = failure->host;
  lua_rawgeti(L, LUA_REGISTRYINDEX, host->faulted);
  lua_pushinteger(L, host->event.type);
  lua_pushinteger(L, host->event.room);
  lua_xmove(failure->co, L, 1);
  lua_call(L, 3, 2);
  size_t size;
  const char *code = luaL_checklstring(L, -2, &size);
  failure_set_text(host, code, size);
  const char *json = luaL_checklstring(L, -1, &size);
  host->answer.size = 0;
  buf_append(&host->answer, json, size);
  return 0;
}

// Ends a handler that has raised a fault. Its commands are discarded, but it does not
// count as failed.
HostOutcome failure_end_with_fault(Host *host, lua_State *co) {
  Failure failure = {.host = host, .co = co};
  deadline_end(host);
  host_cut(host);
  if (lua_cpcall(host->L, take_fault, &failure) != 0) {
    size_t size;
    const char *text = lua_tolstring(host->L, -1, &size);
    failure_set_text(host, text ? text : "", text ? size : 0);
    log_error("a fault could not be taken",
              log_str("error", (const char *)host->fault.data));
    lua_settop(host->L, 0);
    return HOST_FAILED;
  }
  if (!host->is_held) host->transaction++;
  return HOST_FAULTED;
}
