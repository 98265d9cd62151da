#include "store/memory_table.h"

#include "base/array.h"
#include "base/mem.h"
#include "store/query.h"

int memory_table_compare_ids(Text a, Text b) {
  const StoreValue left = {.type = STORE_TEXT, .text = a};
  const StoreValue right = {.type = STORE_TEXT, .text = b};
  return store_compare(&left, &right);
}

uint32_t memory_table_position(const Table *table, Text id) {
  uint32_t low = 0, high = table->count;
  while (low < high) {
    uint32_t middle = low + (high - low) / 2;
    if (memory_table_compare_ids(document_id(table->documents[middle]), id) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

Document *memory_table_find(const Table *table, Text id) {
  uint32_t at = memory_table_position(table, id);
  bool exists = at < table->count && text_equals(document_id(table->documents[at]), id);
  return exists ? table->documents[at] : NULL;
}

Document *document_new(const StoreStep *step, int64_t version) {
  Document *document = mem_alloc(sizeof *document + step->id.size + step->value.size);
  *document = (Document){.version = version,
                         .schema = step->schema,
                         .id_size = step->id.size,
                         .value_size = step->value.size};
  memcpy(document->bytes, step->id.bytes, step->id.size);
  memcpy(document->bytes + step->id.size, step->value.bytes, step->value.size);
  return document;
}

// Replaces `before` by `after`, which has the same id. NULL means no document.
static void replace(Table *table, const Document *before, Document *after) {
  if (after == NULL) {
    uint32_t at = memory_table_position(table, document_id(before));
    Document **place = table->documents + at;
    memmove(place, place + 1, (--table->count - at) * sizeof *place);
    return;
  }
  uint32_t at = memory_table_position(table, document_id(after));
  if (before == NULL) {
    if (table->count == table->capacity)
      table->capacity = array_grow(&table->documents, table->capacity, sizeof after, 8);
    Document **place = table->documents + at;
    memmove(place + 1, place, (table->count++ - at) * sizeof *place);
  }
  table->documents[at] = after;
}

void memory_table_deinit(Table *table) {
  for (uint32_t i = 0; i < table->count; i++) mem_free(table->documents[i]);
  mem_free(table->documents);
}

void changes_make(Changes *changes, Table *table, Document *before, Document *after) {
  if (before == NULL && after == NULL) return;
  replace(table, before, after);
  if (changes->count == changes->capacity)
    changes->capacity =
        array_grow(&changes->list, changes->capacity, sizeof *changes->list, 8);
  changes->list[changes->count++] = (Change){table, before, after};
}

void changes_undo(Changes *changes, uint32_t mark) {
  while (changes->count > mark) {
    const Change *last = &changes->list[--changes->count];
    replace(last->table, last->after, last->before);
    mem_free(last->after);
  }
}

void changes_keep(Changes *changes) {
  for (uint32_t i = 0; i < changes->count; i++) mem_free(changes->list[i].before);
  changes->count = 0;
}
