// Objects behind ids. An id has 20 bits of index and 12 bits of generation, so that a
// stale id finds nothing instead of another object. Index 0 is never used, so id 0
// means "none"; the first ids are 1, 2, 3. A freed slot waits before it is used again,
// so that generations increase slowly.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SLOTS_INDEX_BITS = 20, SLOTS_MAX = (1 << SLOTS_INDEX_BITS) - 1 };

typedef struct Slot {
  void *value;    // object; NULL: the slot is free
  uint32_t id;    // id of the object; in a free slot: id of its next object
  uint32_t next;  // in a free slot: index of the next free slot
} Slot;

typedef struct Slots {
  Slot *slots;
  uint32_t size;      // slots used so far, including the unused slot 0
  uint32_t capacity;  // slots allocated
  uint32_t count;     // number of objects
  uint32_t free_head, free_tail;
} Slots;

/// Frees the table, but not the objects, which belong to their owners.
void slots_deinit(Slots *slots);

/// Stores `value` (not NULL) and returns its id, or 0 if SLOTS_MAX objects exist.
uint32_t slots_add(Slots *slots, void *value);

/// Stores `value` (not NULL) under this id, which another process has given out. Returns
/// false if the id means "none" or its slot has an object. Takes time in proportion to the
/// number of free slots.
bool slots_add_at(Slots *slots, uint32_t id, void *value);

/// Returns the value of an id, or NULL if it is stale or never existed.
static inline void *slots_find(const Slots *slots, uint32_t id) {
  uint32_t index = id & SLOTS_MAX;
  return index < slots->size && slots->slots[index].id == id ? slots->slots[index].value
                                                             : NULL;
}

/// Removes the object with the valid `id` from the table.
void slots_remove(Slots *slots, uint32_t id);

/// Returns the object after index `*cursor` (start at 0), or NULL at the end. The
/// caller may remove the returned object.
void *slots_next(const Slots *slots, uint32_t *cursor);
