// A message on its way into net.
#pragma once

#include <stdint.h>
#include <string.h>

enum OutFlags {
  OUT_KEEP = 1,  // overflow does not drop it; too many end the connection: SlowConsumer
  OUT_URGENT = 2,      // keeps its place, but flushes the whole stream this iteration
  OUT_UNRELIABLE = 4,  // one packet that may be lost: by UDP where there is UDP
};

/// One message (or several whole packets that stay together), already framed, in up to
/// three parts. Its bytes are copied.
typedef struct Out {
  const void *parts[3];
  uint32_t sizes[3];
  uint8_t priority;  // Priority
  uint8_t flags;     // OutFlags
  uint64_t key;  // not 0: replaces what still waits in its stream under the same key
} Out;

static inline uint32_t out_size(const Out *out) {
  return out->sizes[0] + out->sizes[1] + out->sizes[2];
}

/// Writes the parts to `to`, which has room for out_size.
static inline void out_gather(const Out *out, uint8_t *to) {
  for (int i = 0; i < 3; i++) {
    if (out->sizes[i] == 0) continue;
    memcpy(to, out->parts[i], out->sizes[i]);
    to += out->sizes[i];
  }
}
