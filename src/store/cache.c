// See cache.h. The entries form a list, from the most to the least recently used one.
// Entries with unfinished writes are not in that list, and have no value.
#include "store/cache.h"

#include "base/mem.h"
#include "base/names.h"
#include "base/slots.h"

typedef struct Entry {
  struct Entry *newer, *older;
  uint32_t slot;    // id in Cache.entries
  uint32_t writes;  // number of unfinished units that write the document
  uint32_t key_size;
  char *key;  // owned
  StoreDocument document;
  char *value;  // memory of `document.value`; owned; NULL: none
} Entry;

struct Cache {
  size_t limit;
  size_t bytes;  // bytes of the entries in the list
  Names names;   // key -> id in `entries`
  Slots entries;
  Entry *newest, *oldest;
  Buf key;
};

Cache *cache_new(size_t bytes) {
  Cache *cache = mem_zalloc(sizeof *cache);
  cache->limit = bytes;
  names_init(&cache->names);
  return cache;
}

static size_t size_of(const Entry *entry) {
  return sizeof *entry + entry->key_size + entry->document.value.size;
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

// Frees an entry that is not in the list.
static void entry_free(Cache *cache, Entry *entry) {
  names_remove(&cache->names, entry->key, entry->key_size);
  slots_remove(&cache->entries, entry->slot);
  mem_free(entry->key);
  mem_free(entry->value);
  mem_free(entry);
}

void cache_free(Cache *cache) {
  Entry *entry;
  for (uint32_t at = 0; (entry = slots_next(&cache->entries, &at)) != NULL;)
    entry_free(cache, entry);
  names_deinit(&cache->names);
  slots_deinit(&cache->entries);
  buf_deinit(&cache->key);
  mem_free(cache);
}

static Entry *find(Cache *cache, uint32_t collection, Text id) {
  cache->key.size = 0;
  buf_u32(&cache->key, collection);
  buf_append(&cache->key, id.bytes, id.size);
  uint32_t slot =
      names_find(&cache->names, (const char *)cache->key.data, cache->key.size);
  return slot != 0 ? slots_find(&cache->entries, slot) : NULL;
}

// Adds an entry for the key of the last `find`. Returns NULL if the cache has too many.
static Entry *add(Cache *cache) {
  Entry *entry = mem_zalloc(sizeof *entry);
  entry->slot = slots_add(&cache->entries, entry);
  if (entry->slot == 0) {
    mem_free(entry);
    return NULL;
  }
  entry->key_size = (uint32_t)cache->key.size;
  entry->key = mem_alloc(entry->key_size);
  memcpy(entry->key, cache->key.data, entry->key_size);
  names_set(&cache->names, entry->key, entry->key_size, entry->slot);
  return entry;
}

bool cache_get(Cache *cache, uint32_t collection, Text id, StoreDocument *document) {
  Entry *entry = find(cache, collection, id);
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
    entry_free(cache, oldest);
  }
}

void cache_put(Cache *cache, uint32_t collection, Text id,
               const StoreDocument *document) {
  if (document->version == 0 || find(cache, collection, id) != NULL) return;
  Entry *entry = add(cache);
  if (entry != NULL) fill(cache, entry, document);
}

static bool is_write(const StoreStep *step) {
  return step->type == STORE_PUT || step->type == STORE_DELETE;
}

void cache_begin(Cache *cache, const StoreUnit *unit) {
  StoreStep step;
  for (size_t at = 0; unit_next(unit, &at, &step);) {
    if (!is_write(&step)) continue;
    Entry *entry = find(cache, step.collection, step.id);
    if (entry == NULL) entry = add(cache);
    if (entry == NULL) continue;
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
    Entry *entry = is_write(&step) ? find(cache, step.collection, step.id) : NULL;
    if (entry == NULL || entry->writes == 0 || --entry->writes > 0) continue;
    const StoreDocument document = {version, step.schema, step.value};
    if (step.type == STORE_PUT && version != 0)
      fill(cache, entry, &document);
    else
      entry_free(cache, entry);
  }
}
