// Secrets that are compared but never shown: only their digests are kept.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Secret {
  uint8_t digest[16];
} Secret;

/// Returns the digest of `size` bytes under a random key of this process.
Secret secret_of(const void *bytes, size_t size);

/// Returns whether two secrets are equal, in a time that does not depend on them.
bool secret_equals(const Secret *a, const Secret *b);
