// Lua with perigee.client.core built in, for the Lua driver of stories. luajit itself
// cannot load a sanitized library, and its clock cannot be replaced. Runs the file in
// its first argument, with the other arguments.
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

#include "clock.h"
#include "module.h"

// pass_time(seconds): lets that number of seconds pass
static int pass_time(lua_State *lua) {
  clock_pass(luaL_checknumber(lua, 1));
  return 0;
}

int main(int argc, char **argv) {
  lua_State *lua = luaL_newstate();
  luaL_openlibs(lua);
  lua_register(lua, "pass_time", pass_time);
  lua_getglobal(lua, "package");
  lua_getfield(lua, -1, "preload");
  lua_pushcfunction(lua, luaopen_perigee_client_core);
  lua_setfield(lua, -2, "perigee.client.core");
  lua_newtable(lua);
  for (int i = 2; i < argc; i++) {
    lua_pushstring(lua, argv[i]);
    lua_rawseti(lua, -2, i - 1);
  }
  lua_setglobal(lua, "arg");
  int failed = argc < 2 || luaL_dofile(lua, argv[1]);
  if (failed) fprintf(stderr, "%s\n", lua_tostring(lua, -1));
  lua_close(lua);
  return failed;
}
