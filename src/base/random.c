// Randomness from the kernel: getrandom(2), which blocks only before the machine has
// gathered any.
#include "base/random.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

void random_bytes(void *bytes, size_t size) {
  uint8_t *at = bytes;
  while (size > 0) {
    ssize_t got = getrandom(at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      perror("perigee: getrandom");
      abort();
    }
    at += got;
    size -= (size_t)got;
  }
}
