// The control socket from both sides: where a server puts it, and how `perigee reload`
// finds and asks the servers of this user. Blocking; not for use inside a server.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REMOTE_PATH_MAX = 256 };

// Requests to the control socket.
#define REMOTE_RELOAD "reload"
#define REMOTE_RELOAD_FORCED "reload --force"

/// Where the server on `port` has its control socket. Returns 0 or an error.
int remote_path(char *path, size_t size, uint16_t port);

/// Requests that the server on `port` (0: the only one that runs) reload, and prints
/// the answer. A forced reload ignores the findings of a check of the game. Returns the
/// exit code.
int remote_reload(uint16_t port, bool is_forced);
