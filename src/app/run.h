// `perigee run`: serves a game until SIGINT or SIGTERM, and says on standard output where.
#pragma once

#include "perigee_server.h"

/// Returns the exit code, after it has printed errors to standard error.
int run_server(const perigee_server_config *config);
