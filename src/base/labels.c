#include "base/labels.h"

#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"

static const char OTHER[] = "other";

void labels_init(Labels *labels) {
  *labels = (Labels){0};
  names_init(&labels->numbers);
}

void labels_deinit(Labels *labels) {
  names_deinit(&labels->numbers);
  for (uint32_t i = 0; i < labels->count; i++) mem_free(labels->texts[i]);
  mem_free(labels->texts);
  *labels = (Labels){0};
}

// Returns the number of a value, which may be new. The numbers in the map are higher by
// one, because the map contains no 0.
uint32_t labels_number(Labels *labels, const char *text, size_t size) {
  uint32_t known = names_find(&labels->numbers, text, size);
  if (known > 0) return known - 1;
  bool is_other = size == sizeof OTHER - 1 && memcmp(text, OTHER, size) == 0;
  if (labels->count == LABELS_MAX || is_other) return LABELS_MAX;
  if (labels->count == labels->capacity)
    labels->capacity =
        array_grow(&labels->texts, labels->capacity, sizeof *labels->texts, 16);
  char *copy = mem_zalloc(size + 1);
  if (size > 0) memcpy(copy, text, size);
  labels->texts[labels->count++] = copy;
  names_set(&labels->numbers, text, size, labels->count);
  return labels->count - 1;
}

const char *labels_text(const Labels *labels, uint32_t number) {
  return number < labels->count ? labels->texts[number] : OTHER;
}
