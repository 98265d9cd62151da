// The counters of the server in one list, for perigee.stats, MCP and the control API.
#pragma once

#include <stdint.h>

#include "script/script.h"

typedef struct Figure {
  const char *name;  // static
  double value;
} Figure;

enum { FIGURES_MAX = 32 };

/// Write the figures of the server, of UDP, or of the store. Return their number.
uint32_t figures_of_server(const Script *script, Figure figures[FIGURES_MAX]);
uint32_t figures_of_udp(const Script *script, Figure figures[FIGURES_MAX]);
uint32_t figures_of_store(const Script *script, Figure figures[FIGURES_MAX]);

/// Returns the figures of the game's queues as JSON, {"count", "queues"}, valid until the
/// next handler; empty without a game.
Text figures_of_queues(const Script *script);
