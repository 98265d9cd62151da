// poll() for the sockets of tests.
#pragma once

#include "posix.h"

typedef unsigned long nfds_t;

static inline int poll(struct pollfd *fds, nfds_t count, int timeout_ms) {
  return WSAPoll(fds, count, timeout_ms);
}
