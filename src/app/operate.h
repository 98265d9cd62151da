// Commands for operators: each sends a request of the control API to a running server, and
// prints the answer.
#pragma once

#include <stdint.h>

/// Asks the server on `port` (0: the only one that runs) for its "status", "rooms" or "peers",
/// and prints them. Returns the exit code, as the functions below do.
int operate_show(uint16_t port, const char *what);

/// `peer` is a number or a name. `reason` may be NULL.
int operate_kick(uint16_t port, const char *peer, const char *reason);

/// Waits at most `timeout_s` seconds until the server has ended; with 0 not at all.
int operate_stop(uint16_t port, const char *reason, int timeout_s);
