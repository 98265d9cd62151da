// perigee.core: functions that lua/perigee/guard/patterns.lua inserts into lpeg's
// patterns. A match runs in C, where no hook interrupts it. But it calls these
// functions, which charge its work.
#include <lauxlib.h>

#include "script/core.h"
#include "script/guard/deadline.h"

enum {
  STEP = 16,      // steps charged for an iteration or a rule, with its captures
  SPAN_SHIFT = 3  // bytes that lpeg passes in one step, as a power of two
};

// pattern_count(subject, at): charges a part of a match and returns true, so that the
// match continues. Since the last count, lpeg may have passed all bytes before `at`.
static int pattern_count(lua_State *L) {
  deadline_charge(core_host(L), L,
                  STEP + (uint32_t)(lua_tointeger(L, 2) >> SPAN_SHIFT));
  lua_pushboolean(L, 1);
  return 1;
}

// pattern_pass(..., at): charges captures that a pattern uses again, and returns them
static int pattern_pass(lua_State *L) {
  int count = lua_gettop(L) - 1;
  deadline_charge(core_host(L), L, STEP + (uint32_t)count);
  return lua_pop(L, 1), count;
}

// pattern_size(pattern): returns the bytes of a pattern
static int pattern_size(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)lua_objlen(L, 1));
  return 1;
}

// pattern_begin(): raises an error if calls of pattern functions nest too deeply
static int pattern_begin(lua_State *L) {
  if (!host_has_stack(core_host(L))) return luaL_error(L, "stack overflow");
  return 0;
}

const luaL_Reg core_lpeg_functions[] = {{"pattern_begin", pattern_begin},
                                        {"pattern_count", pattern_count},
                                        {"pattern_pass", pattern_pass},
                                        {"pattern_size", pattern_size},
                                        {NULL, NULL}};
