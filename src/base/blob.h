// Immutable bytes with several owners. An example is a packet that the server keeps
// until every receiver has acknowledged it. The release of the last reference frees
// the bytes.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct Blob {
  uint32_t refs;
  uint32_t size;
  size_t *total;  // sum of the sizes of live blobs; the caller of blob_new owns it
  uint8_t bytes[];
} Blob;

/// Creates a blob of `size` bytes, which the caller fills, with one reference. `*total`
/// counts the size while the blob lives; it must outlive the blob.
Blob *blob_new(uint32_t size, size_t *total);

Blob *blob_ref(Blob *blob);

/// Drops one reference.
void blob_unref(Blob *blob);
