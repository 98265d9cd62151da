// `perigee run`: serves a game until SIGINT or SIGTERM, and says on standard output where.
#pragma once

#include "server/server.h"

/// Returns the exit code, after it has printed errors to standard error.
int run_server(const ServerOptions *options);
