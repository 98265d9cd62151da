// Commands for operators. Each sends a request of the control API to a running server,
// and prints the answer.
#pragma once

#include <stdint.h>

/// Requests "status", "rooms", "peers" or "queues" from the server on `port` (0: the only running
/// one), and prints the answer. Returns the exit code, as do the functions below.
int operate_show(uint16_t port, const char *what);

/// Prints an address that signs a browser in to the dashboard.
int operate_dashboard(uint16_t port);

/// Disconnects a peer, given by number or name. `reason` may be NULL.
int operate_kick(uint16_t port, const char *peer, const char *reason);

/// Stops the server. Waits at most `timeout_s` seconds until it has ended; 0: does not
/// wait.
int operate_stop(uint16_t port, const char *reason, int timeout_s);
