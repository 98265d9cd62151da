// The side of tool_sim.h that knows Lua: the module, and what its open and reload are
// given. Private to src/script.
#pragma once

#include <lua.h>

#include "script/tool_sim.h"

/// The options at argument 1. They live as long as what is on the stack now.
SimOptions tool_sim_options(lua_State *L);

/// The files at argument `at`, path -> text or nil; likewise.
const SimFile *tool_sim_files(lua_State *L, int at, size_t *count);

/// Pushes the module, whose servers `ops` makes.
void tool_sim_push(lua_State *L, const SimOps *ops);
