// The control socket from both sides: where a server puts it, and how `perigee reload`
// finds and asks the servers of this user. Blocking; not for use inside a server.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { REMOTE_PATH_MAX = 256 };

/// Where the server on `port` has its control socket. Returns 0 or an error.
int remote_path(char *path, size_t size, uint16_t port);

/// Asks the server on `port` (0: the only one that runs) to reload, and prints the
/// answer. Returns the exit code.
int remote_reload(uint16_t port);
