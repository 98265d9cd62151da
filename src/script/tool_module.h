// The module perigee.tool of the tool interpreter: folders, the texts in the bundle, and
// `program`, the name by which this program was called. Private to src/script.
#pragma once

#include <lua.h>

/// A lua_CFunction that returns the module.
int tool_module_open(lua_State *L);
