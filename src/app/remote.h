// Finds the running servers of this user, and sends requests to their control sockets.
// Blocks.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/// Sends a line to the server on `*port` and reads the answer without its first word,
/// `ok`. If `*port` is 0, uses the only running server and stores its port. If the
/// request fails, prints an error. Returns the exit code.
int remote_ask(uint16_t *port, const char *request, Buf *reply);

/// Makes the server on `port` (0: the only running one) reload its game, and prints the
/// answer. A forced reload ignores the findings of a check of the game. Returns the
/// exit code.
int remote_reload(uint16_t port, bool is_forced);
