// Omits the middle of a deep stack without walking through it.
#include "script/guard/trace.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <string.h>

enum {
  DEPTH_PLAIN = 200,  // depth up to which Lua's own function is fast enough
  INNER = 12,         // innermost levels of a deeper stack that are printed
  OUTER = 8,          // outermost levels that are printed
};

static int has_level(lua_State *of, int level) {
  lua_Debug at;
  return lua_getstack(of, level, &at);
}

// Returns the number of levels. Finds it by bisection, because the time of lua_getstack
// grows with the level.
static int depth_of(lua_State *of) {
  int low = 0, high = DEPTH_PLAIN;
  while (has_level(of, high)) {
    low = high;
    high *= 2;
  }
  while (high - low > 1) {
    int middle = low + (high - low) / 2;
    if (has_level(of, middle))
      low = middle;
    else
      high = middle;
  }
  return low + 1;
}

// Adds a line for one level, with properties of the function itself only. For its
// current line and name, LuaJIT reads neighbouring frames, and below many error
// handlers it reads out of bounds.
static void add_level(luaL_Buffer *text, lua_State *L, lua_State *of, int level) {
  lua_Debug at;
  if (!lua_getstack(of, level, &at)) return;
  lua_getinfo(of, "S", &at);
  lua_pushfstring(L, "\n\t%s: in function <%s:%d>", at.short_src, at.short_src,
                  at.linedefined);
  luaL_addvalue(text);
}

static void push_deep(lua_State *L, lua_State *of, const char *message, int level,
                      int depth) {
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  if (message != NULL) {
    luaL_addstring(&text, message);
    luaL_addstring(&text, "\n");
  }
  luaL_addstring(&text, "stack traceback:");
  for (int i = level; i < level + INNER; i++) add_level(&text, L, of, i);
  luaL_addstring(&text, "\n\t...");
  for (int i = depth - OUTER; i < depth; i++) add_level(&text, L, of, i);
  luaL_pushresult(&text);
}

void trace_push(lua_State *L, lua_State *of, const char *message, int level) {
  int depth = depth_of(of);
  if (level < 0) level = 0;
  if (depth - level <= DEPTH_PLAIN)
    luaL_traceback(L, of, message, level);
  else
    push_deep(L, of, message, level, depth);
}

// traceback([thread,] [message [, level]]): see debug.traceback
int trace_function(lua_State *L) {
  lua_State *of = lua_isthread(L, 1) ? lua_tothread(L, 1) : L;
  int first = of == L && !lua_isthread(L, 1) ? 1 : 2;
  if (lua_tostring(L, first) == NULL && !lua_isnoneornil(L, first)) {
    lua_settop(L, first);
    return 1;  // a message that is not a text is returned unchanged
  }
  int level = luaL_optint(L, first + 1, of == L ? 1 : 0);
  trace_push(L, of, lua_tostring(L, first), level);
  return 1;
}

void trace_push_where(lua_State *L) {
  static const char OWN[] = "@lua/perigee/";
  lua_Debug at;
  for (int level = 0; lua_getstack(L, level, &at); level++) {
    lua_getinfo(L, "Sl", &at);
    bool is_own = strncmp(at.source, OWN, sizeof OWN - 1) == 0;
    if (at.currentline <= 0 || is_own) continue;
    const char *source = at.source[0] == '@' ? at.source + 1 : at.short_src;
    lua_pushfstring(L, "%s:%d: ", source, at.currentline);
    return;
  }
  lua_pushliteral(L, "");
}
