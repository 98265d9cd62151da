// How `perigee reload` and `perigee stop` find the servers of this user, and ask one at its
// control socket. Blocking.
#pragma once

#include <stdint.h>

/// Sends `request` (server/control_path.h), with its end of line, to the server on `port` (0:
/// the only one that runs), and prints the answer. Returns the exit code.
int remote_ask(uint16_t port, const char *request);
