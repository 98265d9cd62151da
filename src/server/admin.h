// The admin listener as the configuration has it.
#pragma once

#include <stdbool.h>

#include "server/engine.h"

typedef struct AdminStart {
  uint16_t port;      // it listens on; 0: there is none
  char host[256];     // the same, as it is written before a port
  char problem[320];  // why the server cannot start; one sentence
} AdminStart;

/// Opens it, unless it is off; in a server inside another program only where there is a game or
/// somebody chose it. A port that is taken is a problem only where somebody chose it; else a
/// warning. False with `problem`.
bool admin_open(Engine *engine, bool is_program, AdminStart *start);
