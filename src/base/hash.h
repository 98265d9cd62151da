// FNV-1a with 64 bits: tells texts apart that were not made to be mistaken for each other.
// What a peer can choose is hashed with names_hash, under a secret key.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define HASH_START 0xcbf29ce484222325u

/// The hash of what `hash` is of, followed by these bytes.
uint64_t hash_add(uint64_t hash, const void *bytes, size_t size);
