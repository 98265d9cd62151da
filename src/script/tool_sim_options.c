// Reads options from tables. The Lua stack owns all memory, so that an error leaks
// nothing.
#include "script/tool_modules.h"

#include <lauxlib.h>
#include <string.h>

static const lua_Number SEED_MAX = 9007199254740992;

static int count_entries(lua_State *L, int at) {
  int count = 0;
  for (lua_pushnil(L); lua_next(L, at); count++) lua_pop(L, 1);
  return count;
}

const SimFile *tool_sim_files(lua_State *L, int at, size_t *count) {
  *count = 0;
  if (lua_isnoneornil(L, at)) return NULL;
  luaL_checktype(L, at, LUA_TTABLE);
  SimFile *files =
      lua_newuserdata(L, ((size_t)count_entries(L, at) + 1) * sizeof *files);
  for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TSTRING)
      luaL_error(L, "files are texts by path");
    SimFile *file = &files[(*count)++];
    file->path = lua_tostring(L, -2);
    file->text = lua_tolstring(L, -1, &file->size);
  }
  return files;
}

// Returns a value in the form of a flag's text. Leaves the text on the stack.
static const char *push_value(lua_State *L, int at) {
  if (lua_type(L, at) == LUA_TBOOLEAN)
    lua_pushstring(L, lua_toboolean(L, at) ? "true" : "false");
  else
    lua_pushvalue(L, at);
  const char *text = lua_tostring(L, -1);
  if (text == NULL) luaL_error(L, "a value is a text, a number, true or false");
  return text;
}

// Returns an array of names and values, alternating. Leaves the values that own the
// array and its texts on the stack.
static const char *const *read_pairs(lua_State *L, const char *option) {
  lua_getfield(L, 1, option);
  int at = lua_gettop(L);
  if (lua_isnil(L, at)) return NULL;
  luaL_checktype(L, at, LUA_TTABLE);
  size_t count = 0;
  const char **pairs =
      lua_newuserdata(L, (2 * (size_t)count_entries(L, at) + 1) * sizeof *pairs);
  lua_newtable(L);
  int kept = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
    if (lua_type(L, -2) != LUA_TSTRING)
      luaL_error(L, "the keys of %s are names", option);
    pairs[count] = lua_tostring(L, -2);
    pairs[count + 1] = push_value(L, lua_gettop(L));
    count += 2;
    lua_rawseti(L, kept, (int)count);
  }
  pairs[count] = NULL;
  return pairs;
}

static void check_names(lua_State *L) {
  static const char *const NAMES[] = {"game", "seed",     "config",  "env",  "files",
                                      "hide", "lua_path", "shuffle", "echo", NULL};
  for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
    const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
    int i = 0;
    while (NAMES[i] != NULL && strcmp(NAMES[i], name) != 0) i++;
    if (NAMES[i] == NULL) luaL_error(L, "there is no option \"%s\"", name);
  }
}

// Returns a text option, which stays on the stack.
static const char *read_text(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  if (lua_isnil(L, -1)) return NULL;
  if (lua_type(L, -1) != LUA_TSTRING) luaL_error(L, "%s must be a text", name);
  return lua_tostring(L, -1);
}

static bool read_switch(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  bool is_on = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return is_on;
}

static uint64_t read_seed(lua_State *L) {
  lua_getfield(L, 1, "seed");
  lua_Number seed = lua_isnil(L, -1) ? 1 : luaL_checknumber(L, -1);
  lua_pop(L, 1);
  if (!(seed >= 0 && seed <= SEED_MAX)) luaL_error(L, "a seed is from 0 to 2^53");
  return (uint64_t)seed;
}

SimOptions tool_sim_options(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  check_names(L);
  SimOptions options = {
      .game = read_text(L, "game"),
      .lua_path = read_text(L, "lua_path"),
      .seed = read_seed(L),
      .hides_files = read_switch(L, "hide"),
      .is_shuffled = read_switch(L, "shuffle"),
      .is_echoed = read_switch(L, "echo"),
  };
  lua_getfield(L, 1, "files");
  options.files = tool_sim_files(L, lua_gettop(L), &options.file_count);
  options.config = read_pairs(L, "config");
  options.env = read_pairs(L, "env");
  return options;
}
