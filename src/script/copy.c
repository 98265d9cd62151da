// Copies a value recursively. The table `seen` contains the copies so far by address,
// so that shared and circular tables are copied once.
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "script/tool_modules.h"

enum { DEPTH_MAX = 64, VALUES_MAX = 1000000, STACK_NEEDED = 8 };

typedef struct Copy {
  lua_State *from, *to;
  int seen;   // stack index in `to` of a table: address in `from` -> copy
  int count;  // number of values copied so far
  const char *problem;
} Copy;

static bool push(Copy *copy, int at, int depth);

static bool fail(Copy *copy, const char *problem) {
  copy->problem = problem;
  return false;
}

static void push_function(const Copy *copy, int at) {
  lua_Debug debug;
  lua_pushvalue(copy->from, at);
  lua_getinfo(copy->from, ">S", &debug);
  if (debug.linedefined > 0)
    lua_pushfstring(copy->to, "function %s:%d", debug.short_src, debug.linedefined);
  else
    lua_pushfstring(copy->to, "function %s", debug.short_src);
}

// Pushes a field of the table at index `at` of the state `from`, onto the same state.
static void get_raw(lua_State *from, int at, const char *name) {
  lua_pushstring(from, name);
  lua_rawget(from, at);
}

static bool is_class(lua_State *from, int at, const char *name) {
  if (!lua_getmetatable(from, at)) return false;
  get_raw(from, lua_gettop(from), "__metatable");
  bool is_it =
      lua_type(from, -1) == LUA_TSTRING && strcmp(lua_tostring(from, -1), name) == 0;
  lua_pop(from, 2);
  return is_it;
}

// Pushes a table { name = VALUE } in place of an object. VALUE is the object's `field`.
static bool push_object(Copy *copy, int at, const char *name, const char *field) {
  lua_createtable(copy->to, 0, 1);
  get_raw(copy->from, at, field);
  bool is_good = push(copy, lua_gettop(copy->from), DEPTH_MAX);
  lua_pop(copy->from, 1);
  if (is_good) lua_setfield(copy->to, -2, name);
  return is_good;
}

static bool push_entries(Copy *copy, int at, int depth) {
  lua_State *from = copy->from;
  lua_newtable(copy->to);
  lua_pushlightuserdata(copy->to, (void *)lua_topointer(from, at));
  lua_pushvalue(copy->to, -2);
  lua_rawset(copy->to, copy->seen);
  lua_pushnil(from);
  while (lua_next(from, at)) {
    int value = lua_gettop(from);
    if (!push(copy, value - 1, depth + 1) || !push(copy, value, depth + 1)) {
      lua_pop(from, 2);
      return false;
    }
    lua_rawset(copy->to, -3);
    lua_pop(from, 1);
  }
  return true;
}

static bool push_table(Copy *copy, int at, int depth) {
  lua_pushlightuserdata(copy->to, (void *)lua_topointer(copy->from, at));
  lua_rawget(copy->to, copy->seen);
  if (!lua_isnil(copy->to, -1)) return true;
  lua_pop(copy->to, 1);
  if (depth >= DEPTH_MAX) return fail(copy, "tables nest too deep in it");
  if (is_class(copy->from, at, "peer")) return push_object(copy, at, "peer", "_id");
  if (is_class(copy->from, at, "room")) return push_object(copy, at, "room", "_name");
  return push_entries(copy, at, depth);
}

// Pushes a copy. After a failure, `to` may have additional values on its stack.
static bool push(Copy *copy, int at, int depth) {
  lua_State *from = copy->from, *to = copy->to;
  size_t size;
  const char *text;
  if (++copy->count > VALUES_MAX) return fail(copy, "it is too large");
  if (!lua_checkstack(from, STACK_NEEDED) || !lua_checkstack(to, STACK_NEEDED))
    return fail(copy, "tables nest too deep in it");
  switch (lua_type(from, at)) {
    case LUA_TNIL:
      lua_pushnil(to);
      return true;
    case LUA_TBOOLEAN:
      lua_pushboolean(to, lua_toboolean(from, at));
      return true;
    case LUA_TNUMBER:
      lua_pushnumber(to, lua_tonumber(from, at));
      return true;
    case LUA_TSTRING:
      text = lua_tolstring(from, at, &size);
      lua_pushlstring(to, text, size);
      return true;
    case LUA_TTABLE:
      return push_table(copy, at, depth);
    case LUA_TFUNCTION:
      push_function(copy, at);
      return true;
    default:
      lua_pushstring(to, lua_typename(from, lua_type(from, at)));
      return true;
  }
}

const char *copy_value(lua_State *from, int at, lua_State *to) {
  if (!lua_checkstack(from, STACK_NEEDED) || !lua_checkstack(to, STACK_NEEDED))
    return "there is no room for it";
  Copy copy = {.from = from, .to = to};
  lua_newtable(to);
  copy.seen = lua_gettop(to);
  if (push(&copy, at, 0)) {
    lua_remove(to, copy.seen);
    return NULL;
  }
  lua_settop(to, copy.seen - 1);
  return copy.problem;
}
