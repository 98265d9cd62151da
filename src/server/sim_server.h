// A server in memory: an engine on a simulated net. Its settings come from the game and
// from the given flags, never from the environment; its log is kept; its files may be
// others than those on the disk. Many may live in one process.
#pragma once

#include "script/tool_sim.h"

/// What the tool interpreter makes such servers with.
const SimOps *sim_server_ops(void);
