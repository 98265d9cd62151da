// Tracebacks in the form of Lua's. Of a deep stack Lua's own takes time with the square of
// its depth: for a stack overflow, hundreds of milliseconds. Private to src/script.
#pragma once

#include <lua.h>

/// As luaL_traceback: pushes on L the traceback of `of` from `level` on, after `message`
/// if that is not NULL.
void trace_push(lua_State *L, lua_State *of, const char *message, int level);

/// Pushes "file:line: " of the script's innermost function, or "" without one on this
/// coroutine.
void trace_push_where(lua_State *L);

/// debug.traceback.
int trace_function(lua_State *L);
