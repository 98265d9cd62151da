// See cache.h. A hash table has all entries. The entries with a value also form a list,
// from the most to the least recently used one. Entries with unfinished writes are not
// in that list, and have no value.
#include "store/cache.h"

#include <sodium.h>

#include "base/hash.h"
#include "base/mem.h"

enum { FIRST_BUCKETS = 64 };

typedef struct Entry {
  struct Entry *next;  // next entry of the same bucket
  struct Entry *newer, *older;
  uint64_t hash;
  StoreDocument document;
  char *value;      // memory of `document.value`; owned; NULL: none
  uint32_t writes;  // number of unfinished units that write the document
  uint32_t collection;
  uint32_t id_size;
  char id[];
} Entry;

struct Cache {
  size_t limit;
  size_t bytes;           // bytes of the entries in the list
  uint64_t hash_key[2];   // random, because players may choose ids
  Entry **buckets;        // owned, with the entries
  uint32_t bucket_count;  // a power of two
  uint32_t count;         // number of entries
  Entry *newest, *oldest;
};

Cache *cache_new(size_t bytes) {
  Cache *cache = mem_zalloc(sizeof *cache);
  cache->limit = bytes;
  randombytes_buf(cache->hash_key, sizeof cache->hash_key);
  cache->bucket_count = FIRST_BUCKETS;
  cache->buckets = mem_zalloc(FIRST_BUCKETS * sizeof(Entry *));
  return cache;
}

static void entry_free(Entry *entry) {
  mem_free(entry->value);
  mem_free(entry);
}

void cache_free(Cache *cache) {
  for (uint32_t i = 0; i < cache->bucket_count; i++)
    for (Entry *entry = cache->buckets[i], *next; entry != NULL; entry = next) {
      next = entry->next;
      entry_free(entry);
    }
  mem_free(cache->buckets);
  mem_free(cache);
}

// --- The list ---

static size_t size_of(const Entry *entry) {
  return sizeof *entry + entry->id_size + entry->document.value.size;
}

static void link_newest(Cache *cache, Entry *entry) {
  entry->newer = NULL;
  entry->older = cache->newest;
  if (cache->newest != NULL) cache->newest->newer = entry;
  if (cache->oldest == NULL) cache->oldest = entry;
  cache->newest = entry;
  cache->bytes += size_of(entry);
}

static void unlink_entry(Cache *cache, const Entry *entry) {
  if (entry->newer != NULL)
    entry->newer->older = entry->older;
  else
    cache->newest = entry->older;
  if (entry->older != NULL)
    entry->older->newer = entry->newer;
  else
    cache->oldest = entry->newer;
  cache->bytes -= size_of(entry);
}

// --- The hash table ---

static uint64_t hash_of(const Cache *cache, uint32_t collection, Text id) {
  return hash_bytes(cache->hash_key, id.bytes, id.size) + collection;
}

static Entry **bucket_of(const Cache *cache, uint64_t hash) {
  return &cache->buckets[hash & (cache->bucket_count - 1)];
}

static Entry *find(const Cache *cache, uint64_t hash, uint32_t collection, Text id) {
  Entry *entry = *bucket_of(cache, hash);
  while (entry != NULL &&
         (entry->hash != hash || entry->collection != collection ||
          entry->id_size != id.size || memcmp(entry->id, id.bytes, id.size) != 0))
    entry = entry->next;
  return entry;
}

static void put_into_bucket(Cache *cache, Entry *entry) {
  Entry **bucket = bucket_of(cache, entry->hash);
  entry->next = *bucket;
  *bucket = entry;
}

static void grow(Cache *cache) {
  Entry **old = cache->buckets;
  uint32_t old_count = cache->bucket_count;
  cache->bucket_count *= 2;
  cache->buckets = mem_zalloc(cache->bucket_count * sizeof(Entry *));
  for (uint32_t i = 0; i < old_count; i++)
    for (Entry *entry = old[i], *next; entry != NULL; entry = next) {
      next = entry->next;
      put_into_bucket(cache, entry);
    }
  mem_free(old);
}

static Entry *add(Cache *cache, uint64_t hash, uint32_t collection, Text id) {
  if (cache->count++ == cache->bucket_count) grow(cache);
  Entry *entry = mem_alloc(sizeof *entry + id.size);
  *entry = (Entry){.hash = hash, .collection = collection, .id_size = id.size};
  memcpy(entry->id, id.bytes, id.size);
  put_into_bucket(cache, entry);
  return entry;
}

// Removes an entry that is not in the list.
static void remove_entry(Cache *cache, Entry *entry) {
  Entry **at = bucket_of(cache, entry->hash);
  while (*at != entry) at = &(*at)->next;
  *at = entry->next;
  cache->count--;
  entry_free(entry);
}

// --- Documents ---

bool cache_get(Cache *cache, uint32_t collection, Text id, StoreDocument *document) {
  Entry *entry = find(cache, hash_of(cache, collection, id), collection, id);
  if (entry == NULL || entry->writes > 0) return false;
  unlink_entry(cache, entry);
  link_newest(cache, entry);
  *document = entry->document;
  return true;
}

// Stores the document of an entry that is not in the list, and removes old entries if
// necessary.
static void fill(Cache *cache, Entry *entry, const StoreDocument *document) {
  entry->document = *document;
  entry->value = mem_alloc(document->value.size);
  memcpy(entry->value, document->value.bytes, document->value.size);
  entry->document.value.bytes = entry->value;
  link_newest(cache, entry);
  while (cache->bytes > cache->limit) {
    Entry *oldest = cache->oldest;
    unlink_entry(cache, oldest);
    remove_entry(cache, oldest);
  }
}

void cache_put(Cache *cache, uint32_t collection, Text id,
               const StoreDocument *document) {
  uint64_t hash = hash_of(cache, collection, id);
  if (document->version == 0 || find(cache, hash, collection, id) != NULL) return;
  fill(cache, add(cache, hash, collection, id), document);
}

static bool is_write(const StoreStep *step) {
  return step->type == STORE_PUT || step->type == STORE_DELETE;
}

void cache_begin(Cache *cache, const StoreUnit *unit) {
  StoreStep step;
  for (size_t at = 0; unit_next(unit, &at, &step);) {
    if (!is_write(&step)) continue;
    uint64_t hash = hash_of(cache, step.collection, step.id);
    Entry *entry = find(cache, hash, step.collection, step.id);
    if (entry == NULL) entry = add(cache, hash, step.collection, step.id);
    if (entry->writes++ > 0 || entry->value == NULL) continue;
    unlink_entry(cache, entry);
    mem_free(entry->value);
    entry->value = NULL;
    entry->document = (StoreDocument){0};
  }
}

void cache_end(Cache *cache, const StoreUnit *unit, int64_t version) {
  StoreStep step;
  for (size_t at = 0; unit_next(unit, &at, &step);) {
    if (!is_write(&step)) continue;
    Entry *entry =
        find(cache, hash_of(cache, step.collection, step.id), step.collection, step.id);
    if (entry == NULL || entry->writes == 0 || --entry->writes > 0) continue;
    const StoreDocument document = {version, step.schema, step.value};
    if (step.type == STORE_PUT && version != 0)
      fill(cache, entry, &document);
    else
      remove_entry(cache, entry);
  }
}
