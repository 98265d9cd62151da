// See hash.h.
#include "base/hash.h"

#include <sodium.h>

uint64_t hash_bytes(const uint64_t key[2], const void *bytes, size_t size) {
  static const uint64_t KNOWN[2] = {0};
  uint64_t hash;
  crypto_shorthash((uint8_t *)&hash, bytes, size,
                   (const uint8_t *)(key != NULL ? key : KNOWN));
  return hash;
}
