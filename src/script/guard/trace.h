// Tracebacks in Lua's format. The time of Lua's own function grows with the square of the
// stack's depth: hundreds of milliseconds for a stack overflow. Private to src/script.
#pragma once

#include <lua.h>

/// Pushes on L the traceback of `of` from `level` on, after `message` if that is not NULL,
/// like luaL_traceback.
void trace_push(lua_State *L, lua_State *of, const char *message, int level);

/// Pushes "file:line: " of the script's innermost function, or "" without one on this coroutine.
void trace_push_where(lua_State *L);

/// Implements debug.traceback.
int trace_function(lua_State *L);
