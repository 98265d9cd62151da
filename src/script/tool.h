// Command-line tools written in Lua: modules of the bundle, each in a state of its own
// with all standard libraries.
#pragma once

#include "base/buf.h"
#include "script/tool_sim.h"

struct lua_State;

/// Runs `main` of the bundled module, or the module itself if it is a function, with
/// the arguments as strings. Returns the exit code: the integer that Lua returns, or 0.
/// On an error, prints one line on standard error and returns 1. `lua_path` is as in
/// ScriptOptions. `sim` creates the servers of perigee.sim. `open_client` opens
/// perigee.client.core; NULL if no tool needs it.
int script_tool_run(const char *module, int argc, char **argv, const char *lua_path,
                    const SimOps *sim, int (*open_client)(struct lua_State *));

/// Begins a profile of all simulated servers that start from now on.
void script_tool_profile_begin(bool is_memory);

/// Ends that profile and appends it as JSON.
void script_tool_profile_end(Buf *json);
