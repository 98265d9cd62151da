// See control_path.h.
#include "server/control_path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_directory(const char *path) {
  struct stat info;
  return path != NULL && path[0] == '/' && stat(path, &info) == 0 &&
         S_ISDIR(info.st_mode);
}

bool control_folder(int index, char *path, size_t size) {
  const char *runtime = getenv("XDG_RUNTIME_DIR");
  int length;
  if (index == 1)
    length = snprintf(path, size, "/tmp/perigee-%u", (unsigned)geteuid());
  else if (is_directory(runtime))
    length = snprintf(path, size, "%s/perigee", runtime);
  else
    return false;
  return length < (int)size;
}

int control_path(char *path, size_t size, uint16_t port) {
  char folder[CONTROL_PATH_MAX - 16];
  path[0] = '\0';
  if (!control_folder(0, folder, sizeof folder) &&
      !control_folder(1, folder, sizeof folder))
    return -ENAMETOOLONG;
  snprintf(path, size, "%s/%u.sock", folder, port);
  return 0;
}
