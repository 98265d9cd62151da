// The counters of the server in one list, for perigee.stats, MCP and the control API.
#pragma once

#include <stdint.h>

#include "script/cost.h"
#include "script/reload.h"
#include "script/script.h"
#include "store/store.h"

typedef struct Figure {
  const char *name;  // static
  double value;
} Figure;

enum { FIGURES_MAX = 32 };

/// Write the figures of the server, of UDP, or of the store. Return their number.
uint32_t figures_of_server(const Script *script, Figure figures[FIGURES_MAX]);
uint32_t figures_of_udp(const Script *script, Figure figures[FIGURES_MAX]);
uint32_t figures_of_store(const Script *script, Figure figures[FIGURES_MAX]);

typedef struct ScriptFigures {
  uint32_t version;  // live version of the game; 0: none
  const char *hash;  // its hash, valid until the next version
  uint64_t reloads[RELOAD_OUTCOMES];
  uint64_t collector_us;  // time of the Lua collector
  bool has_collector;     // whether that time is known
} ScriptFigures;

ScriptFigures figures_of_script(const Script *script);

/// Returns the counters of the store; zeros without one.
StoreStats figures_of_commits(const Script *script);

/// Returns the sums of all handlers of all versions. The caller frees `items`. The names
/// belong to the script.
CostSums figures_of_handlers(Script *script);

/// Returns the figures of the game's queues as JSON, {"count", "queues"}, valid until the
/// next handler; empty without a game.
Text figures_of_queues(const Script *script);
