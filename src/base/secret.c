// See secret.h.
#include "base/secret.h"

#include <sodium.h>

Secret secret_of(const void *bytes, size_t size) {
  static uint8_t key[crypto_generichash_KEYBYTES];
  static bool has_key;
  if (!has_key) randombytes_buf(key, sizeof key);
  has_key = true;
  Secret secret;
  crypto_generichash(secret.digest, sizeof secret.digest, bytes, size, key, sizeof key);
  return secret;
}

bool secret_equals(const Secret *a, const Secret *b) {
  return sodium_memcmp(a->digest, b->digest, sizeof a->digest) == 0;
}
