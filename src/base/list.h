// A growable array of pointers, in no particular order. It does not own the objects.
#pragma once

#include <stdint.h>

/// A list. A zeroed one is empty.
typedef struct List {
  void **items;
  uint32_t count, capacity;
} List;

void list_add(List *list, void *item);

/// Removes a pointer that the list contains, and moves the last pointer to its place.
void list_remove(List *list, const void *item);

void list_deinit(List *list);
