// Secrets that are compared but never shown. Only their digests are stored.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Secret {
  uint8_t digest[16];
} Secret;

/// Returns the digest of `size` bytes under a key that is random for this process.
Secret secret_of(const void *bytes, size_t size);

/// Returns whether two secrets are equal. The time does not depend on the secrets.
bool secret_equals(const Secret *a, const Secret *b);
