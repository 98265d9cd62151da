// perigee.core: the deadline of the running call, the weight of values, and the costs
// of handlers.
#include <lauxlib.h>
#include <stdatomic.h>
#include <string.h>

#include "relay/room.h"
#include "script/call_cost.h"
#include "script/core.h"
#include "script/guard/deadline.h"
#include "script/guard/trace.h"

enum { STEPS_MAX = 1 << 30 };

// charge(steps): charges steps of about 5 ns each to the running handler
static int core_charge(lua_State *L) {
  lua_Number steps = luaL_checknumber(L, 1);
  if (!(steps >= 0)) steps = 0;
  deadline_charge(core_host(L), L, steps < STEPS_MAX ? (uint32_t)steps : STEPS_MAX);
  return 0;
}

// ran(): returns the table `ran` of script/call_cost.h. The Lua half stores in it which
// function it calls, and for which message.
static int core_ran(lua_State *L) {
  call_cost_push_ran(core_host(L), L);
  return 1;
}

// --- The weight of values ---

// Limits and results while a value is weighed.
typedef struct Weight {
  Host *host;
  int depth_max;
  double weight, weight_max;
  double wide;
  bool has_wide;
  const char *wrong;
} Weight;

enum { NODE_WEIGHT = 2, NODE_STEPS = 6 };

static void weigh_plain(lua_State *L, Weight *sum) {
  sum->weight += NODE_WEIGHT;
  if (lua_type(L, -1) == LUA_TSTRING) {
    sum->weight += (double)lua_objlen(L, -1);
  } else if (lua_type(L, -1) == LUA_TNUMBER) {
    lua_Number number = lua_tonumber(L, -1);
    if (number >= sum->wide || number <= -sum->wide) sum->has_wide = true;
  }
  if (sum->weight > sum->weight_max) sum->wrong = "heavy";
}

// Returns the class of the table on top of the stack, "peer" or "room", or NULL.
static const char *class_of(lua_State *L) {
  const char *class = NULL;
  if (!lua_getmetatable(L, -1)) return NULL;
  lua_pushliteral(L, "__metatable");
  lua_rawget(L, -2);
  if (lua_type(L, -1) == LUA_TSTRING) {
    if (strcmp(lua_tostring(L, -1), "peer") == 0) class = "peer";
    if (strcmp(lua_tostring(L, -1), "room") == 0) class = "room";
  }
  lua_pop(L, 2);
  return class;
}

// Adds the weight of the value on top of the stack, and leaves the value there.
static void weigh(lua_State *L, Weight *sum, int depth) {
  deadline_charge(sum->host, L, NODE_STEPS);
  weigh_plain(L, sum);
  if (lua_type(L, -1) != LUA_TTABLE || sum->wrong != NULL) return;
  if ((sum->wrong = class_of(L)) != NULL) return;
  if (depth > sum->depth_max) {
    sum->wrong = "deep";
    return;
  }
  luaL_checkstack(L, 8, NULL);
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    weigh(L, sum, depth + 1);
    lua_pop(L, 1);
    if (sum->wrong == NULL) weigh_plain(L, sum);
    if (sum->wrong == NULL) continue;
    lua_pop(L, 1);
    return;
  }
}

// weigh(value, depth, weight, wide): returns nil if the value can be a message;
// otherwise returns the reason: "deep", "heavy", "peer" or "room". Also returns whether
// the value contains numbers as large as `wide`.
static int core_weigh(lua_State *L) {
  Weight sum = {.host = core_host(L),
                .depth_max = luaL_checkint(L, 2),
                .weight_max = luaL_checknumber(L, 3),
                .wide = luaL_checknumber(L, 4)};
  lua_settop(L, 1);
  weigh(L, &sum, 0);
  lua_pushstring(L, sum.wrong);
  lua_pushboolean(L, sum.has_wide);
  return 2;
}

// --- Costs ---

static void push_cost(lua_State *L, const Cost *cost) {
  lua_createtable(L, 0, 7);
  core_set_text(L, "handler", cost->name);
  core_set_number(L, "calls", (double)cost->times.count);
  core_set_number(L, "total", (double)cost->times.total_us / 1e6);
  core_set_number(L, "p99", (double)cost_p99(cost) / 1e6);
  core_set_number(L, "worst", (double)cost->worst_us / 1e6);
  if (cost->file[0] == '\0') return;
  core_set_text(L, "file", cost->file);
  core_set_number(L, "line", cost->line);
}

// slowest(): returns a list of the handlers with the longest calls
static int core_slowest(lua_State *L) {
  const Cost *slowest[COSTS_SLOWEST];
  size_t count = costs_slowest(&core_host(L)->costs, slowest, COSTS_SLOWEST);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    push_cost(L, slowest[i]);
    lua_rawseti(L, -2, (int)i + 1);
  }
  return 1;
}

// busiest(): returns the source that alone took more than half of the scripts' time in
// the last second, or nil
static int core_busiest(lua_State *L) {
  Host *host = core_host(L);
  const Busiest *busiest = busiest_find(host);
  if (busiest == NULL) return 0;
  const Room *room = relay_room(host->relay, busiest->found.room);
  lua_createtable(L, 0, 6);
  if (busiest->found.peer != 0) core_set_number(L, "peer", busiest->found.peer);
  if (room != NULL) {
    lua_pushlstring(L, room->name, room->name_size);
    lua_setfield(L, -2, "room");
  }
  core_set_number(L, "share", busiest->share);
  core_set_text(L, "handler", busiest->name);
  if (busiest->file[0] == '\0') return 1;
  core_set_text(L, "file", busiest->file);
  core_set_number(L, "line", busiest->line);
  return 1;
}

// --- The self test ---

// trial(fn, us): calls `fn` with a deadline of `us` microseconds, and returns whether
// the deadline has ended it. The self test uses this at the start, outside of handlers.
static int core_trial(lua_State *L) {
  Host *host = core_host(L);
  ScriptLimits limits = host->deadline.limits;
  host->deadline.limits.handler_us = (uint64_t)luaL_checknumber(L, 2);
  deadline_tick(host);
  deadline_begin(host);
  lua_pushvalue(L, 1);
  int status = lua_pcall(L, 0, 0, 0);
  lua_pushboolean(L, status != 0 && host->deadline.over == DEADLINE_OVER_TIME);
  deadline_end(host);
  host->deadline.limits = limits;
  return 1;
}

// is_proven(): returns false for the first call in the process, then true. One self
// test of LuaJIT is enough for all states.
static int core_is_proven(lua_State *L) {
  static atomic_bool is_proven;
  lua_pushboolean(L, atomic_exchange(&is_proven, true));
  return 1;
}

const luaL_Reg core_deadline_functions[] = {
    {"busiest", core_busiest}, {"charge", core_charge},   {"is_proven", core_is_proven},
    {"ran", core_ran},         {"slowest", core_slowest}, {"traceback", trace_function},
    {"trial", core_trial},     {"weigh", core_weigh},     {NULL, NULL}};
