// Finds the handler of an ended call and adds the cost.
#include "script/call_cost.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "script/core.h"

enum { LOGGED = 3 };  // handlers that call_cost_log lists

// Returns the key of the called handler, from the table `ran`. Leaves the called
// function, or nil, on top of the stack of host->ran.
static CostKey read_key(const Host *host) {
  lua_State *L = host->ran;
  CostKey key = {0};
  if (host->event.type == EVENT_MESSAGE || host->event.type == EVENT_TEXT) {
    lua_rawgeti(L, 1, RAN_MESSAGE);
    key.message = lua_topointer(L, -1);
    lua_pop(L, 1);
  }
  lua_rawgeti(L, 1, RAN_FUNCTION);
  key.function = lua_topointer(L, -1);
  if (host->event.type == EVENT_TIMER && lua_isfunction(L, -1)) {
    // The function may be a new closure each time. Therefore its place in the source
    // identifies it.
    lua_Debug at;
    lua_pushvalue(L, -1);
    lua_getinfo(L, ">S", &at);
    key = (CostKey){.function = at.source, .line = (uint32_t)at.linedefined};
  }
  return key;
}

void call_cost_init(Host *host, lua_State *L) {
  host->ran = lua_newthread(L);
  luaL_ref(L, LUA_REGISTRYINDEX);
  lua_createtable(host->ran, RAN_MESSAGE, 0);
}

void call_cost_push_ran(const Host *host, lua_State *L) {
  lua_pushvalue(host->ran, 1);
  lua_xmove(host->ran, L, 1);
}

static void copy_text(char *out, const char *text) {
  snprintf(out, COST_NAME_SIZE, "%s", text);
}

typedef struct Naming {
  Host *host;
  Cost *cost;
} Naming;

// Asks the Lua half for the handler's name.
static int name_handler(lua_State *L) {
  const Naming *naming = lua_touserdata(L, 1);
  const Host *host = naming->host;
  lua_rawgeti(L, LUA_REGISTRYINDEX, host->label);
  lua_pushinteger(L, host->event.type);
  lua_pushnumber(L, host->event.room);
  lua_call(L, 2, 1);
  copy_text(naming->cost->name, luaL_optstring(L, -1, "?"));
  return 0;
}

static void describe(Host *host, Cost *cost) {
  lua_State *L = host->ran;
  Naming naming = {host, cost};
  lua_Debug at = {0};
  if (lua_isfunction(L, -1)) {
    lua_pushvalue(L, -1);
    lua_getinfo(L, ">S", &at);
    copy_text(cost->file, at.source[0] == '@' ? at.source + 1 : at.short_src);
    cost->line = at.linedefined > 0 ? (uint32_t)at.linedefined : 0;
  }
  if (cost->key.function == NULL) {
    copy_text(cost->name, "other");
  } else if (lua_cpcall(host->L, name_handler, &naming) != 0) {
    copy_text(cost->name, "?");
    lua_settop(host->L, 0);
  }
}

static void log_slowest(const Host *host, LogLevel level) {
  const Cost *slowest[LOGGED];
  size_t count = costs_slowest(&host->costs, slowest, LOGGED);
  for (size_t i = 0; i < count; i++) {
    const Cost *cost = slowest[i];
    LogField fields[] = {log_str("handler", cost->name),
                         log_num("calls", (int64_t)cost->times.count),
                         log_num("total_us", (int64_t)cost->times.total_us),
                         log_num("p99_us", (int64_t)cost_p99(cost)),
                         log_num("worst_us", (int64_t)cost->worst_us),
                         log_str("file", cost->file),
                         log_num("line", cost->line),
                         {0}};
    log_write(level, "slowest handlers", fields);
  }
}

// Logs the costs of handlers. Logs nothing in a simulation, because times differ
// between runs.
static void log_cost(Host *host, Cost *cost, uint64_t us) {
  const Deadline *deadline = &host->deadline;
  if (net_is_simulated(host->net)) return;
  bool is_slow = us > deadline->limits.handler_us / 2;
  if (is_slow && !cost->is_warned) {
    cost->is_warned = true;
    log_warn("a handler took more than half of its budget (handler_budget)",
             log_str("handler", cost->name), log_num("us", (int64_t)us),
             log_str("file", cost->file), log_num("line", cost->line));
  }
  CostsDue due = costs_due(&host->costs, deadline->now_us, is_slow);
  LogLevel level = due == COSTS_DUE_SLOW ? LOG_INFO : LOG_DEBUG;
  if (due != COSTS_NOT_DUE && log_is_on(level)) log_slowest(host, level);
}

void call_cost_end(Host *host, const Event *taken, bool has_failed) {
  Deadline *deadline = &host->deadline;
  uint64_t started_us = deadline->now_us;
  deadline_tick(host);
  uint64_t now_us = deadline->now_us, us = now_us - started_us;
  uint64_t source_us =
      relay_charge(host->relay, taken, &host->event, started_us, now_us);
  CostKey key = read_key(host);
  if (key.function != NULL && host->version != 0) {
    bool is_new;
    Cost *cost = costs_find(&host->costs, &key, &is_new);
    if (is_new) describe(host, cost);
    cost_add(cost, us);
    cost->failures += has_failed;
    log_cost(host, cost, us);
    busiest_add(host, cost, us, source_us);
    if (host->profile != NULL) profile_end_call(host->profile, cost->name);
  }
  lua_settop(host->ran, 1);
}

void call_cost_reset(Host *host) {
  busiest_forget_costs(&host->busiest);
  costs_sum(&host->costs, &host->past_costs);
  costs_clear(&host->costs);
}

void call_cost_log(const Host *host) {
  if (!net_is_simulated(host->net)) log_slowest(host, LOG_INFO);
}
