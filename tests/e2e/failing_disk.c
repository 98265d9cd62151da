// A library for LD_PRELOAD whose disk is full while the file PERIGEE_FULL exists: writes
// to files fail, and those to sockets and pipes do not, because SQLite alone uses pwrite64.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t at) {
  static ssize_t (*next)(int, const void *, size_t, off64_t);
  if (next == NULL) next = dlsym(RTLD_NEXT, "pwrite64");
  if (access(getenv("PERIGEE_FULL"), F_OK) != 0) return next(fd, bytes, size, at);
  errno = ENOSPC;
  return -1;
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at) {
  return pwrite64(fd, bytes, size, at);
}
