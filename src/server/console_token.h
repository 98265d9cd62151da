// The file with the token of the console (net_admin_secret): PORT.token beside the control
// socket of the server. It has mode 0600 and two lines, which `perigee console` reads: the
// address of the admin listener, such as "127.0.0.1:7778", and the token.
#pragma once

#include <stdint.h>

#include "server/control_path.h"

/// Writes the path of the token file beside a control socket. Returns 0 or an error.
int console_token_path(char path[CONTROL_PATH_MAX], const char *socket);

/// Creates or replaces the file beside `socket`, whose directory must belong to this user
/// alone. Returns 0 or an error.
int console_token_write(const char *socket, const char *address, const char *token);

/// Removes the file.
void console_token_remove(const char *socket);
