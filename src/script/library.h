// Loads Lua modules of the product: from the binary or, for their developers, from a
// folder.
#pragma once

#include <lua.h>

/// Pushes the compiled module `name` ("perigee.host") and returns true; or pushes an error
/// text and returns false. `lua_path` is a folder with perigee/*.lua; NULL: the binary. May
/// raise a Lua error.
int library_load(lua_State *L, const char *name, const char *lua_path);
