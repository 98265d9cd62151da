// Documents as they are on disk, by key, on the loop. The least recently used ones make
// room for others. A document with writes that are not on disk yet is not in the cache.
#pragma once

#include "store/backend.h"

typedef struct Cache Cache;

/// Creates a cache of at most `bytes` bytes.
Cache *cache_new(size_t bytes);
void cache_free(Cache *cache);

/// Reads a document, whose value is valid until the next call. Returns false if it is not
/// in the cache.
bool cache_get(Cache *cache, uint32_t collection, Text id, StoreDocument *document);

/// Adds a document that was read, unless a write of it has begun.
void cache_put(Cache *cache, uint32_t collection, Text id,
               const StoreDocument *document);

/// The documents that a unit writes leave the cache until cache_end.
void cache_begin(Cache *cache, const StoreUnit *unit);

/// A unit is on disk, with `version`, or has failed (`version` 0).
void cache_end(Cache *cache, const StoreUnit *unit, int64_t version);
