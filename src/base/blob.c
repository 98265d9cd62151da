// See blob.h.
#include "base/blob.h"

#include <assert.h>

#include "base/mem.h"

Blob *blob_new(uint32_t size, size_t *total) {
  Blob *blob = mem_alloc(sizeof *blob + size);
  blob->refs = 1;
  blob->size = size;
  blob->total = total;
  *total += size;
  return blob;
}

Blob *blob_ref(Blob *blob) {
  assert(blob->refs > 0);
  blob->refs++;
  return blob;
}

void blob_unref(Blob *blob) {
  assert(blob->refs > 0);
  if (--blob->refs > 0) return;
  *blob->total -= blob->size;
  mem_free(blob);
}
