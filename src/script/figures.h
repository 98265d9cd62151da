// The counters of the server, in one list, which perigee.stats, MCP and the control API show.
#pragma once

#include <stdint.h>

#include "script/script.h"

typedef struct Figure {
  const char *name;  // static
  double value;
} Figure;

enum { FIGURES_MAX = 32 };

/// Write the figures of the server, and those of UDP, and return their number.
uint32_t figures_of_server(const Script *script, Figure figures[FIGURES_MAX]);
uint32_t figures_of_udp(const Script *script, Figure figures[FIGURES_MAX]);
