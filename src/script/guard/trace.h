// Tracebacks in Lua's format. The time of Lua's own function grows with the square of
// the stack's depth. After a stack overflow, it would take hundreds of milliseconds.
// Private to src/script.
#pragma once

#include <lua.h>

/// Pushes the traceback of `of` from `level` on, as luaL_traceback does. `message`
/// precedes it if it is not NULL.
void trace_push(lua_State *L, lua_State *of, const char *message, int level);

/// Pushes "file:line: " of the script's innermost function, or "" if this coroutine has
/// none.
void trace_push_where(lua_State *L);

/// Implements debug.traceback.
int trace_function(lua_State *L);
