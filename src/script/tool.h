// Command-line tools written in Lua: modules of the bundle that run in a state of their
// own, with all standard libraries and no server round them.
#pragma once

#include "script/tool_sim.h"

/// Runs `main` of the bundled module, or the function that the module is, with the
/// arguments as strings. Returns its exit code: the integer it returns, 0 for nothing,
/// 1 after an error, which it prints in one line to standard error. `lua_path` as in
/// ScriptOptions; `sim` makes the servers of perigee.sim.
int script_tool_run(const char *module, int argc, char **argv, const char *lua_path,
                    const SimOps *sim);
