// A server in memory: an engine on a simulated net. Its settings come from the game and
// the given flags, never from the environment. It stores its log in memory. Files in
// memory may replace those on the disk. A process may have many of these servers.
#pragma once

#include "script/tool_sim.h"

/// Returns the functions by which the tool interpreter creates simulated servers.
const SimOps *sim_server_ops(void);
