// Immutable bytes with several owners, such as a packet that is kept for many peers
// until it has arrived at each. The last reference frees them.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct Blob {
  uint32_t refs;
  uint32_t size;
  size_t *total;  // total of blob_new
  uint8_t bytes[];
} Blob;

/// Creates a blob of `size` bytes, which the caller fills, with one reference. `*total`
/// counts the size while the blob lives; it must outlive the blob.
Blob *blob_new(uint32_t size, size_t *total);

Blob *blob_ref(Blob *blob);

/// Drops one reference.
void blob_unref(Blob *blob);
