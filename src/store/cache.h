// A cache of documents on disk, by key, for the loop. New documents replace the least
// recently used ones. The cache has no document with writes that are not on disk yet.
#pragma once

#include "store/backend.h"

typedef struct Cache Cache;

/// Creates a cache of at most `bytes` bytes.
Cache *cache_new(size_t bytes);
void cache_free(Cache *cache);

/// Reads a document. Its value is valid until the next call. Returns false if the
/// document is not in the cache.
bool cache_get(Cache *cache, uint32_t collection, Text id, StoreDocument *document);

/// Adds a document that was read, unless a write of it has begun.
void cache_put(Cache *cache, uint32_t collection, Text id,
               const StoreDocument *document);

/// Removes the documents that a unit writes, until cache_end.
void cache_begin(Cache *cache, const StoreUnit *unit);

/// Reports that a unit is on disk with `version`, or has failed (`version` 0).
void cache_end(Cache *cache, const StoreUnit *unit, int64_t version);
