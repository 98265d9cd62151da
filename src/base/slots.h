// Objects behind ids: 20 bits of index and 12 of generation, so that a stale id finds nothing
// instead of another object. Index 0 is never given out, so 0 means "none"; the first ids are 1,
// 2, 3. Freed slots wait their turn, which keeps a generation from coming round quickly.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SLOTS_INDEX_BITS = 20, SLOTS_MAX = (1 << SLOTS_INDEX_BITS) - 1 };

typedef struct Slot {
  void *value;    // NULL when free
  uint32_t id;    // id of the value, or the next id this slot will have
  uint32_t next;  // next free index when free
} Slot;

typedef struct Slots {
  Slot *slots;
  uint32_t size;      // slots ever used, the unused slot 0 included
  uint32_t capacity;  // slots allocated
  uint32_t count;     // values in
  uint32_t free_head, free_tail;
} Slots;

/// Frees the table; the values are their owner's.
void slots_deinit(Slots *slots);

/// Stores `value` (not NULL) and returns its id, or 0 when SLOTS_MAX values are in.
uint32_t slots_add(Slots *slots, void *value);

/// Returns the value of an id, or NULL if it is stale or never existed.
static inline void *slots_find(const Slots *slots, uint32_t id) {
  uint32_t index = id & SLOTS_MAX;
  return index < slots->size && slots->slots[index].id == id ? slots->slots[index].value
                                                             : NULL;
}

/// Forgets `id`, which must be valid.
void slots_remove(Slots *slots, uint32_t id);

/// Returns the value after index `*cursor` (start at 0), or NULL at the end. The caller may remove
/// the value just returned.
void *slots_next(const Slots *slots, uint32_t *cursor);
