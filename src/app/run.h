// `perigee run`: serves a game until SIGINT or SIGTERM, and prints its addresses.
#pragma once

#include "perigee_server.h"

/// Prints errors to standard error. Returns the exit code.
int run_server(const perigee_server_config *config);
