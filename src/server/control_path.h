// Paths of control sockets (os/control.h), and requests to these sockets.
// The socket of a server is PORT.sock in $XDG_RUNTIME_DIR/perigee, or in
// /tmp/perigee-UID if that folder does not exist.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONTROL_PATH_MAX = 256, CONTROL_FOLDERS = 2 };

// Requests to the control socket.
#define CONTROL_RELOAD "reload"
#define CONTROL_RELOAD_FORCED "reload --force"
#define CONTROL_STOP "stop"

/// Writes the path of the folder at `index`; the preferred one has index 0. Returns
/// false if it does not exist.
bool control_folder(int index, char *path, size_t size);

/// Writes the path of the control socket of the server on `port`. Returns 0 or an
/// error.
int control_path(char *path, size_t size, uint16_t port);
