// The module perigee.limit of the tool interpreter: calls a function that may take so much
// processor time and no more. For what is not trusted to end, such as tests. Private to
// src/script.
#pragma once

#include <lua.h>

/// A lua_CFunction that returns the module.
int tool_limit_open(lua_State *L);
