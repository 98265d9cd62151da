// The module perigee.udp of the tool interpreter: what a client of src/wire's UDP needs besides
// a socket and a clock, which are the tool's. Private to src/script.
#pragma once

#include <lua.h>

/// A lua_CFunction that returns the module.
int tool_udp_open(lua_State *L);
