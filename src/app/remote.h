// How `perigee reload` finds the servers of this user and asks one at its control socket.
// Blocking.
#pragma once

#include <stdbool.h>
#include <stdint.h>

/// Requests that the server on `port` (0: the only one that runs) reload, and prints
/// the answer. A forced reload ignores the findings of a check of the game. Returns the
/// exit code.
int remote_reload(uint16_t port, bool is_forced);
