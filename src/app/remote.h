// How commands find the servers of this user and ask one at its control socket. Blocking.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/// Sends a line to the server on `*port` (0: the only one that runs; its port is stored), and
/// reads the rest of its `ok`. Returns the exit code, after it has printed what is wrong.
int remote_ask(uint16_t *port, const char *request, Buf *reply);

/// Requests that the server on `port` (0: the only one that runs) reload, and prints
/// the answer. A forced reload ignores the findings of a check of the game. Returns the
/// exit code.
int remote_reload(uint16_t port, bool is_forced);
