// Copies the pointer to the items by memcpy, because its type is unknown here.
#include "base/array.h"

#include <string.h>

#include "base/mem.h"

enum { FIRST_REACHED = 64 };

static void resize(void *array, size_t size) {
  void *items;
  memcpy(&items, array, sizeof items);
  items = mem_grow(items, size);
  memcpy(array, &items, sizeof items);
}

uint32_t array_grow(void *array, uint32_t capacity, size_t item_size, uint32_t first) {
  uint32_t grown = capacity > 0 ? 2 * capacity : first;
  resize(array, grown * item_size);
  return grown;
}

uint32_t array_reach(void *array, uint32_t capacity, size_t item_size, uint32_t index) {
  if (index < capacity) return capacity;
  uint32_t grown = capacity > 0 ? capacity : FIRST_REACHED;
  while (grown <= index) grown += grown / 2;
  resize(array, grown * item_size);
  uint8_t *items;
  memcpy(&items, array, sizeof items);
  memset(items + capacity * item_size, 0, (grown - capacity) * item_size);
  return grown;
}
