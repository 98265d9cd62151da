// Growing an array in the heap. Its owner stores a pointer, a count and a capacity:
//
//   if (count == capacity) capacity = array_grow(&items, capacity, sizeof *items, 8);
//   items[count++] = item;
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Doubles an array. `array` is a pointer to the pointer to its items. An array without
/// memory gets `first` items. New items are not cleared. Returns the new capacity.
uint32_t array_grow(void *array, uint32_t capacity, size_t item_size, uint32_t first);

/// Grows the array by half until it contains `index`, and clears the new items. Returns
/// the new capacity.
uint32_t array_reach(void *array, uint32_t capacity, size_t item_size, uint32_t index);
