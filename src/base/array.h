// Grows arrays in the heap. The owner of an array stores a pointer, a count and a
// capacity:
//
//   if (count == capacity) capacity = array_grow(&items, capacity, sizeof *items, 8);
//   items[count++] = item;
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Doubles an array. `array` is a pointer to the pointer to its items. An array without
/// memory gets `first` items. New items are not cleared. Returns the new capacity.
uint32_t array_grow(void *array, uint32_t capacity, size_t item_size, uint32_t first);

/// Makes the array large enough to contain `index`. Each step adds half of the
/// capacity. Clears the new items and returns the new capacity.
uint32_t array_reach(void *array, uint32_t capacity, size_t item_size, uint32_t index);
