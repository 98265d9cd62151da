// See console_token.h.
#include "server/console_token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int with_ending(char path[CONTROL_PATH_MAX], const char *socket,
                       const char *ending) {
  const char *dot = strrchr(socket, '.');
  if (dot == NULL) return -EINVAL;
  int size =
      snprintf(path, CONTROL_PATH_MAX, "%.*s%s", (int)(dot - socket), socket, ending);
  return size < CONTROL_PATH_MAX ? 0 : -ENAMETOOLONG;
}

int console_token_path(char path[CONTROL_PATH_MAX], const char *socket) {
  return with_ending(path, socket, ".token");
}

// Writes the file under another name and renames it, so that a reader always finds a whole
// file, and so that no earlier file keeps its permissions.
int console_token_write(const char *socket, const char *address, const char *token) {
  char path[CONTROL_PATH_MAX], temporary[CONTROL_PATH_MAX];
  int err = console_token_path(path, socket);
  if (err == 0) err = with_ending(temporary, socket, ".token.new");
  if (err != 0) return err;
  unlink(temporary);
  int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (fd < 0) return -errno;
  if (dprintf(fd, "%s\n%s\n", address, token) < 0) err = -errno;
  if (close(fd) != 0 && err == 0) err = -errno;
  if (err == 0 && rename(temporary, path) != 0) err = -errno;
  if (err != 0) unlink(temporary);
  return err;
}

void console_token_remove(const char *socket) {
  char path[CONTROL_PATH_MAX];
  if (console_token_path(path, socket) == 0) unlink(path);
}
