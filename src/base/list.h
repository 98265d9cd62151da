// A growable array of pointers that it does not own, in no particular order.
#pragma once

#include <stdint.h>

/// A zeroed one is empty.
typedef struct List {
  void **items;
  uint32_t count, capacity;
} List;

void list_add(List *list, void *item);

/// Removes a pointer that the list has; the last one takes its place.
void list_remove(List *list, const void *item);

void list_deinit(List *list);
