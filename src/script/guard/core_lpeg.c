// perigee.core: what lua/perigee/guard/patterns.lua inserts into patterns of lpeg. A match
// runs in C, where no hook interrupts it, but it calls these functions.
#include <lauxlib.h>

#include "script/core.h"
#include "script/guard/deadline.h"

enum {
  STEP = 16,      // steps of an iteration or a rule with its share of captures
  SPAN_SHIFT = 3  // bytes that lpeg passes in a step, as a power of two
};

// pattern_count(subject, at): charges a step of a match; true, so that the match goes on.
// The bytes before `at` are the most that lpeg may have passed by itself since the last step.
static int pattern_count(lua_State *L) {
  deadline_charge(core_host(L), L,
                  STEP + (uint32_t)(lua_tointeger(L, 2) >> SPAN_SHIFT));
  lua_pushboolean(L, 1);
  return 1;
}

// pattern_pass(..., at): charges captures that are used once more; returns them.
static int pattern_pass(lua_State *L) {
  int count = lua_gettop(L) - 1;
  deadline_charge(core_host(L), L, STEP + (uint32_t)count);
  return lua_pop(L, 1), count;
}

// pattern_size(pattern): the bytes of a pattern
static int pattern_size(lua_State *L) {
  lua_pushinteger(L, (lua_Integer)lua_objlen(L, 1));
  return 1;
}

// pattern_begin(): raises an error when functions of patterns match too deep in each other
static int pattern_begin(lua_State *L) {
  if (!host_has_stack(core_host(L))) return luaL_error(L, "stack overflow");
  return 0;
}

const luaL_Reg core_lpeg_functions[] = {{"pattern_begin", pattern_begin},
                                        {"pattern_count", pattern_count},
                                        {"pattern_pass", pattern_pass},
                                        {"pattern_size", pattern_size},
                                        {NULL, NULL}};
