// SipHash-2-4, as libsodium has it.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Returns the hash of `size` bytes under `key`. Without the key, nobody can choose bytes
/// whose hashes collide. NULL: a key that is the same everywhere.
uint64_t hash_bytes(const uint64_t key[2], const void *bytes, size_t size);
