// FNV-1a as its authors describe it: xor a byte, multiply by the prime.
#include "base/hash.h"

static const uint64_t PRIME = 0x100000001b3u;

uint64_t hash_add(uint64_t hash, const void *bytes, size_t size) {
  const uint8_t *at = bytes;
  for (const uint8_t *end = at + size; at < end; at++) hash = (hash ^ *at) * PRIME;
  return hash;
}
