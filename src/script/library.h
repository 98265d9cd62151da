// Where Lua modules of the product come from: the table compiled into the binary, or,
// while they are being worked on, a folder.
#pragma once

#include <lua.h>

/// Pushes the module `name` ("perigee.host") compiled, or a text that says why not.
/// Returns whether it is the module. `lua_path` (may be NULL) is a folder that holds
/// perigee/*.lua. May raise a Lua error.
int library_load(lua_State *L, const char *name, const char *lua_path);
