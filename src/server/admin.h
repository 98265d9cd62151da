// Opens the admin listener as the configuration says.
#pragma once

#include <stdbool.h>

#include "server/engine.h"

typedef struct AdminStart {
  uint16_t port;      // TCP port; 0: no listener
  char host[256];     // its address as written before a port
  char problem[320];  // one sentence: why the server cannot start
} AdminStart;

/// Opens the listener unless it is off. A server inside another program opens it only with a game
/// or where `admin` is set. A port in use is a problem where `admin` is set, else a warning.
/// Returns false with `problem`.
bool admin_open(Engine *engine, bool is_program, AdminStart *start);
