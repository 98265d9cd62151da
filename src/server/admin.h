// Opens the admin listener according to the configuration.
#pragma once

#include <stdbool.h>

#include "server/engine.h"

typedef struct AdminStart {
  uint16_t port;      // TCP port; 0: no listener
  char host[256];     // address of the listener in the form that precedes a port
  char problem[320];  // one sentence: the reason why the server cannot start
} AdminStart;

/// Opens the listener unless it is off. A server inside another program opens it only
/// if it has a game or `admin` is set. If the port is in use, this function fails if
/// `admin` is set; otherwise it logs a warning. On an error, returns false and sets
/// `problem`.
bool admin_open(Engine *engine, bool is_program, AdminStart *start);
