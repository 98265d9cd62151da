// SipHash-2-4, implemented by libsodium.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Returns the hash of `size` bytes under `key`. Without knowing the key, nobody can
/// choose bytes whose hashes collide. If `key` is NULL, a fixed key is used.
uint64_t hash_bytes(const uint64_t key[2], const void *bytes, size_t size);
