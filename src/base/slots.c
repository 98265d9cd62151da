// Objects with generation-tagged ids. Free slots form a queue. A new object gets the
// slot that was freed longest ago if the queue has at least RESTING slots, or if no
// unused slot is left. Therefore an id comes back only after about 4096 * RESTING other
// ids, unless the table is nearly full. Ids stay small for a long time.
#include "base/slots.h"

#include <assert.h>

#include "base/array.h"
#include "base/mem.h"

enum { RESTING = 1024, FIRST_CAPACITY = 16 };

void slots_deinit(Slots *slots) {
  mem_free(slots->slots);
  *slots = (Slots){0};
}

static uint32_t take_new(Slots *slots) {
  if (slots->size == 0) slots->size = 1;  // index 0 is never used
  if (slots->size >= slots->capacity) {
    slots->capacity =
        array_grow(&slots->slots, slots->capacity, sizeof(Slot), FIRST_CAPACITY);
    slots->slots[0] = (Slot){0};
  }
  uint32_t index = slots->size++;
  slots->slots[index] = (Slot){.id = index};
  return index;
}

uint32_t slots_add(Slots *slots, void *value) {
  assert(value);
  if (slots->count == SLOTS_MAX) return 0;
  uint32_t free_count = slots->size ? slots->size - 1 - slots->count : 0;
  uint32_t index = slots->free_head;
  if (free_count < RESTING && slots->size <= SLOTS_MAX) {
    index = take_new(slots);
  } else {
    slots->free_head = slots->slots[index].next;
    if (slots->free_head == 0) slots->free_tail = 0;
  }
  Slot *slot = &slots->slots[index];
  slot->value = value;
  slots->count++;
  return slot->id;
}

static void add_free(Slots *slots, uint32_t index) {
  if (slots->free_tail) {
    slots->slots[slots->free_tail].next = index;
  } else {
    slots->free_head = index;
  }
  slots->free_tail = index;
}

static void unlink_free(Slots *slots, uint32_t index) {
  uint32_t before = 0, at = slots->free_head;
  for (; at != index; at = slots->slots[at].next) before = at;
  uint32_t next = slots->slots[index].next;
  if (before == 0)
    slots->free_head = next;
  else
    slots->slots[before].next = next;
  if (next == 0) slots->free_tail = before;
}

bool slots_add_at(Slots *slots, uint32_t id, void *value) {
  assert(value);
  uint32_t index = id & SLOTS_MAX;
  if (index == 0 || (index < slots->size && slots->slots[index].value)) return false;
  while (slots->size <= index) add_free(slots, take_new(slots));
  unlink_free(slots, index);
  slots->slots[index] = (Slot){.value = value, .id = id};
  slots->count++;
  return true;
}

void slots_remove(Slots *slots, uint32_t id) {
  assert(slots_find(slots, id));
  uint32_t index = id & SLOTS_MAX;
  // The generation is in the highest bits of the id, so it wraps without changing the
  // index.
  slots->slots[index] = (Slot){.id = id + (1u << SLOTS_INDEX_BITS)};
  slots->count--;
  add_free(slots, index);
}

void *slots_next(const Slots *slots, uint32_t *cursor) {
  while (*cursor + 1 < slots->size) {
    void *value = slots->slots[++*cursor].value;
    if (value) return value;
  }
  return NULL;
}
