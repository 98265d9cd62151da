// Finds the servers of this user, and asks one at its control socket. Blocking.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/// Sends a line to the server on `*port` (0: the only one that runs; stores its port), and
/// reads the answer after `ok`. Prints an error. Returns the exit code.
int remote_ask(uint16_t *port, const char *request, Buf *reply);

/// Has the server on `port` (0: the only one that runs) reload its game, and prints the answer.
/// A forced reload ignores the findings of a check of the game. Returns the exit code.
int remote_reload(uint16_t port, bool is_forced);
