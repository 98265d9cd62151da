// The string and table libraries for scripts, compared with LuaJIT's own: the same
// results and errors for generated arguments, an end soon after the deadline, and a
// largest size of results. The comparison is in Lua: compare.lua, limits.lua.
//
// test_script_guard_string [cases [seed]]
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "script/core.h"
#include "script/guard/deadline.h"
#include "slowness.h"

enum { STACK_MAX = 1 << 20, CASES = 16000 / SLOWNESS, SEED = 1 };

static void set_functions(lua_State *L, Host *host, const luaL_Reg *functions) {
  for (; functions->name != NULL; functions++) {
    lua_pushlightuserdata(L, host);
    lua_pushcclosure(L, functions->func, 1);
    lua_setfield(L, -2, functions->name);
  }
}

// within(ms, fn, ...): calls fn with pcall under a deadline; returns the microseconds of
// processor time, and the results of pcall
static int within(lua_State *L) {
  Host *host = core_host(L);
  host->deadline.limits.handler_us = (uint64_t)(luaL_checknumber(L, 1) * 1000);
  deadline_tick(host);
  deadline_begin(host);
  clock_t started = clock();
  bool is_good = lua_pcall(L, lua_gettop(L) - 2, LUA_MULTRET, 0) == 0;
  clock_t passed = clock() - started;
  deadline_end(host);
  lua_pushboolean(L, is_good);
  lua_insert(L, 2);
  lua_pushnumber(L, (lua_Number)passed * 1e6 / CLOCKS_PER_SEC);
  lua_replace(L, 1);
  return lua_gettop(L);
}

static const luaL_Reg TEST_FUNCTIONS[] = {{"within", within}, {NULL, NULL}};

static void push_core(lua_State *L, Host *host) {
  lua_newtable(L);
  set_functions(L, host, core_string_functions);
  set_functions(L, host, core_table_functions);
  set_functions(L, host, core_deadline_functions);
  set_functions(L, host, TEST_FUNCTIONS);
  lua_pushinteger(L, DEADLINE_TEXT_MAX);
  lua_setfield(L, -2, "text_max");
  lua_pushinteger(L, SLOWNESS);
  lua_setfield(L, -2, "slowness");
}

static int run(lua_State *L) {
  Host *host = lua_touserdata(L, 1);
  luaL_openlibs(L);
  lua_getglobal(L, "package");
  lua_pushliteral(L, "lua/?.lua;tests/c/script/guard/?.lua");
  lua_setfield(L, -2, "path");
  lua_getfield(L, -1, "loaded");
  push_core(L, host);
  lua_setfield(L, -2, "perigee.core");
  static const char *const FILES[] = {"compare", "limits"};
  for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
    lua_getglobal(L, "require");
    lua_pushstring(L, FILES[i]);
    lua_call(L, 1, 1);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 3);
    lua_call(L, 2, 0);
  }
  return 0;
}

int main(int argc, char **argv) {
  Host host = {.stack = __builtin_frame_address(0), .stack_max = STACK_MAX};
  host.deadline.limits.memory = SIZE_MAX / 4;
  lua_State *L = luaL_newstate();
  host.L = L;
  deadline_init(&host);
  lua_pushcfunction(L, run);
  lua_pushlightuserdata(L, &host);
  lua_pushnumber(L, argc > 1 ? atof(argv[1]) : CASES);
  lua_pushnumber(L, argc > 2 ? atof(argv[2]) : SEED);
  int status = lua_pcall(L, 3, 0, 0);
  if (status != 0) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  deadline_deinit(&host);
  lua_close(L);
  return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
