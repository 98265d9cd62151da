// A message on its way into net.
#pragma once

#include <stdint.h>
#include <string.h>

enum OutFlags {
  OUT_KEEP = 1,    // overflow does not drop the message; too many such messages end the
                   // connection (SlowConsumer)
  OUT_URGENT = 2,  // keeps its place, but makes this iteration flush the whole stream
  OUT_UNRELIABLE = 4,  // one packet that may be lost; uses UDP if the connection has it
};

/// One message, already framed, in up to three parts. It may consist of several whole
/// packets that stay together. Net copies the bytes.
typedef struct Out {
  const void *parts[3];
  uint32_t sizes[3];
  uint8_t priority;  // Priority
  uint8_t flags;     // OutFlags
  uint64_t key;  // key; the message replaces a waiting message of the same connection
                 // or group with the same key; 0: none
} Out;

static inline uint32_t out_size(const Out *out) {
  return out->sizes[0] + out->sizes[1] + out->sizes[2];
}

/// Writes the parts to `to`, which has out_size bytes of room.
static inline void out_gather(const Out *out, uint8_t *to) {
  for (int i = 0; i < 3; i++) {
    if (out->sizes[i] == 0) continue;
    memcpy(to, out->parts[i], out->sizes[i]);
    to += out->sizes[i];
  }
}
