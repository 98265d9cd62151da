// A hash table in which each key has a few possible adjacent places. If all of them are
// in use, the table grows. A table of full size replaces the oldest key instead. Orders
// increase over all keys, so they show which key was updated longest ago.
#include "wire/udp/latest.h"

#include <stddef.h>

#include "base/mem.h"

enum { FIRST_CAPACITY = 16, PLACES = 8 };

void udp_latest_deinit(UdpLatest *latest) {
  mem_free(latest->keys);
  *latest = (UdpLatest){0};
}

// Returns the place of `key`; otherwise a free place; otherwise the place of the key
// that was updated longest ago.
static UdpLatestKey *find(const UdpLatest *latest, uint32_t key) {
  UdpLatestKey *free_place = NULL, *oldest = NULL;
  uint32_t at = (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
  for (uint32_t i = 0; i < PLACES; i++) {
    UdpLatestKey *place = &latest->keys[(at + i) & (latest->capacity - 1)];
    if (place->order && place->key == key) return place;
    if (!place->order)
      free_place = place;
    else if (!oldest || (int32_t)(place->order - oldest->order) < 0)
      oldest = place;
  }
  return free_place ? free_place : oldest;
}

static void grow(UdpLatest *latest) {
  UdpLatest grown = *latest;
  grown.capacity = latest->capacity ? 2 * latest->capacity : FIRST_CAPACITY;
  grown.keys = mem_zalloc(grown.capacity * sizeof *grown.keys);
  for (uint32_t i = 0; i < latest->capacity; i++)
    if (latest->keys[i].order) *find(&grown, latest->keys[i].key) = latest->keys[i];
  mem_free(latest->keys);
  *latest = grown;
}

bool udp_latest_take(UdpLatest *latest, uint32_t key, uint16_t order) {
  if (!latest->keys) {
    grow(latest);
    latest->newest = UINT16_MAX + 1 + (uint32_t)order;  // the first order may be any
                                                        // number
  }
  uint32_t full =
      latest->newest + (uint32_t)(int16_t)(order - (uint16_t)latest->newest);
  if (full == 0) full = UINT32_MAX;  // 0 marks a free place
  if ((int32_t)(full - latest->newest) > 0) latest->newest = full;
  UdpLatestKey *place = find(latest, key);
  while (place->order && place->key != key && latest->capacity < UDP_LATEST_KEYS) {
    grow(latest);
    place = find(latest, key);
  }
  if (place->order && place->key == key && (int32_t)(full - place->order) <= 0)
    return false;
  *place = (UdpLatestKey){key, full};
  return true;
}
