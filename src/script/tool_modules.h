// The tool interpreter's modules that are written in C, for its `require`. Private to
// src/script.
#pragma once

#include <lua.h>

#include "script/tool_sim.h"

/// A lua_CFunction that pushes perigee.tool: folders, the texts of the bundle, and
/// `program`, the name by which this program was called.
int tool_module_open(lua_State *L);

/// A lua_CFunction that pushes perigee.limit, which calls a function with a limit of
/// processor time, for example a test that may not end.
int tool_limit_open(lua_State *L);

/// Pushes perigee.sim: simulated servers, which `ops` creates.
void tool_sim_push(lua_State *L, const SimOps *ops);

/// Reads the options at argument 1. They are valid while the stack keeps the values
/// that this function pushes.
SimOptions tool_sim_options(lua_State *L);

/// Reads the files at argument `at`: a table path -> text, or nil. The files are valid
/// while the stack keeps the values that this function pushes.
const SimFile *tool_sim_files(lua_State *L, int at, size_t *count);

/// Pushes on `to` a copy of the value at index `at` of `from`. Tables are copied whole,
/// even shared and circular ones. Peers become { peer = id }, rooms { room = name };
/// functions, userdata and threads become a text. Returns NULL; or returns an error
/// text and pushes nothing. Calls no metamethods.
const char *copy_value(lua_State *from, int at, lua_State *to);
