#include "base/list.h"

#include "base/array.h"
#include "base/mem.h"

void list_add(List *list, void *item) {
  if (list->count == list->capacity)
    list->capacity = array_grow(&list->items, list->capacity, sizeof *list->items, 16);
  list->items[list->count++] = item;
}

void list_remove(List *list, const void *item) {
  for (uint32_t i = 0; i < list->count; i++)
    if (list->items[i] == item) {
      list->items[i] = list->items[--list->count];
      return;
    }
}

void list_deinit(List *list) {
  mem_free(list->items);
  *list = (List){0};
}
