// An interpreter for one bundled module. It has all libraries, because tools are the
// product's own code.
#include "script/tool.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

#include "script/guard/deadline.h"
#include "script/library.h"
#include "script/profile.h"
#include "script/tool_modules.h"

typedef struct Tool {
  const char *module;
  const char *lua_path;
  int argc;
  char **argv;
  const SimOps *sim;
  lua_CFunction open_client;
  int code;
} Tool;

// Searches the bundle, as an entry of package.loaders. Its upvalue is the Tool.
static int search(lua_State *L) {
  const Tool *tool = lua_touserdata(L, lua_upvalueindex(1));
  if (!library_load(L, luaL_checkstring(L, 1), tool->lua_path))
    lua_pushfstring(L, "\n\t%s", lua_tostring(L, -1));
  return 1;
}

// Adds the bundle's searcher as the first one, so that copies installed on the machine
// are not used.
static void add_searcher(lua_State *L, Tool *tool) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "loaders");
  for (int i = (int)lua_objlen(L, -1); i >= 2; i--) {
    lua_rawgeti(L, -1, i);
    lua_rawseti(L, -2, i + 1);
  }
  lua_pushlightuserdata(L, tool);
  lua_pushcclosure(L, search, 1);
  lua_rawseti(L, -2, 2);
  lua_pop(L, 2);
}

static int open_sim(lua_State *L) {
  const Tool *tool = lua_touserdata(L, lua_upvalueindex(1));
  tool_sim_push(L, tool->sim);
  return 1;
}

static void add_modules(lua_State *L, Tool *tool) {
  lua_getglobal(L, "package");
  lua_getfield(L, -1, "preload");
  lua_pushcfunction(L, tool_module_open);
  lua_setfield(L, -2, "perigee.tool");
  lua_pushcfunction(L, tool_limit_open);
  lua_setfield(L, -2, "perigee.limit");
  if (tool->open_client != NULL) {
    lua_pushcfunction(L, tool->open_client);
    lua_setfield(L, -2, "perigee.client.core");
  }
  lua_pushlightuserdata(L, tool);
  lua_pushcclosure(L, open_sim, 1);
  lua_setfield(L, -2, "perigee.sim");
  lua_pop(L, 2);
}

static int run(lua_State *L) {
  Tool *tool = lua_touserdata(L, 1);
  luaL_openlibs(L);
  add_searcher(L, tool);
  add_modules(L, tool);
  lua_getglobal(L, "require");
  lua_pushstring(L, tool->module);
  lua_call(L, 1, 1);
  if (lua_istable(L, -1)) lua_getfield(L, -1, "main");
  luaL_checkstack(L, tool->argc, "too many arguments");
  for (int i = 0; i < tool->argc; i++) lua_pushstring(L, tool->argv[i]);
  lua_call(L, tool->argc, 1);
  tool->code = lua_isnumber(L, -1) ? (int)lua_tointeger(L, -1) : 0;
  return 0;
}

int script_tool_run(const char *module, int argc, char **argv, const char *lua_path,
                    const SimOps *sim, int (*open_client)(lua_State *)) {
  Tool tool = {module, lua_path, argc, argv, sim, open_client, 0};
  lua_State *L = luaL_newstate();
  if (L == NULL) {
    fprintf(stderr, "perigee: out of memory\n");
    return 1;
  }
  if (lua_cpcall(L, run, &tool) != 0) {
    const char *text = lua_tostring(L, -1);
    fprintf(stderr, "perigee: %s\n", text == NULL ? "a tool failed" : text);
    tool.code = 1;
  }
  lua_close(L);
  return tool.code;
}

void script_tool_profile_begin(bool is_memory) {
  uint64_t now_us = deadline_clock_us();
  uint64_t most_us = (uint64_t)24 * 60 * 60 * 1000000;
  profile_share(profile_new(is_memory, now_us, now_us + most_us));
}

void script_tool_profile_end(Buf *json) {
  Profile *profile = profile_shared();
  profile_put(profile, deadline_clock_us(), json);
  profile_share(NULL);
  profile_free(profile);
}
