// Immutable bytes with several owners, such as a packet for many peers that is kept for
// each of them until it has arrived. The last reference frees them.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct Blob {
  uint32_t refs;
  uint32_t size;
  size_t *total;  // see blob_new
  uint8_t bytes[];
} Blob;

/// Makes a blob of `size` bytes, which the caller fills, with one reference. `*total`, which has to
/// outlive it, counts its size while it lives.
Blob *blob_new(uint32_t size, size_t *total);

Blob *blob_ref(Blob *blob);

/// Drops one reference.
void blob_unref(Blob *blob);
