// The map uses open addressing with linear probing, and is at most three quarters full.
// A removal moves later entries of the same run back. Therefore the map needs no
// tombstones, and many changes do not make it slower.
#include "base/names.h"

#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

enum { FIRST_CAPACITY = 8 };

void names_init(Names *names) {
  *names = (Names){0};
  randombytes_buf(names->key, sizeof names->key);
}

void names_deinit(Names *names) {
  for (uint32_t i = 0; i < names->capacity; i++) mem_free(names->entries[i].text);
  mem_free(names->entries);
  *names = (Names){0};
}

// Returns the index at which the search for a name begins.
static uint32_t home_of(const Names *names, const char *text, size_t size) {
  return (uint32_t)hash_bytes(names->key, text, size) & (names->capacity - 1);
}

// Returns the name's entry, or the empty entry for it. The map must have an empty
// entry.
static NamesEntry *find_place(const Names *names, const char *text, size_t size) {
  uint32_t mask = names->capacity - 1;
  for (uint32_t i = home_of(names, text, size);; i = (i + 1) & mask) {
    NamesEntry *entry = &names->entries[i];
    bool is_same =
        entry->size == size && (size == 0 || memcmp(entry->text, text, size) == 0);
    if (!entry->text || is_same) return entry;
  }
}

uint32_t names_find(const Names *names, const char *text, size_t size) {
  if (names->count == 0) return 0;
  return find_place(names, text, size)->value;
}

static void grow(Names *names) {
  Names grown = *names;
  grown.capacity = names->capacity ? names->capacity * 2 : FIRST_CAPACITY;
  grown.entries = mem_zalloc(grown.capacity * sizeof(NamesEntry));
  for (uint32_t i = 0; i < names->capacity; i++) {
    const NamesEntry *entry = &names->entries[i];
    if (entry->text) *find_place(&grown, entry->text, entry->size) = *entry;
  }
  mem_free(names->entries);
  *names = grown;
}

void names_set(Names *names, const char *text, size_t size, uint32_t value) {
  if (names->count >= names->capacity / 4 * 3) grow(names);
  NamesEntry *entry = find_place(names, text, size);
  if (!entry->text) {
    *entry = (NamesEntry){.text = mem_alloc(size), .size = (uint32_t)size};
    if (size > 0) memcpy(entry->text, text, size);
    names->count++;
  }
  entry->value = value;
}

uint32_t names_add(Names *names, const char *text, size_t size, int change) {
  uint32_t value = names_find(names, text, size) + (uint32_t)change;
  if (value > 0)
    names_set(names, text, size, value);
  else
    names_remove(names, text, size);
  return value;
}

void names_remove(Names *names, const char *text, size_t size) {
  if (names->count == 0) return;
  NamesEntry *entry = find_place(names, text, size);
  if (!entry->text) return;
  mem_free(entry->text);
  names->count--;
  uint32_t mask = names->capacity - 1;
  uint32_t hole = (uint32_t)(entry - names->entries);
  for (uint32_t i = (hole + 1) & mask; names->entries[i].text; i = (i + 1) & mask) {
    // An entry may move to the hole unless its home is between the hole and the entry.
    NamesEntry moved = names->entries[i];
    uint32_t home = home_of(names, moved.text, moved.size);
    if (((i - home) & mask) < ((i - hole) & mask)) continue;
    names->entries[hole] = moved;
    hole = i;
  }
  names->entries[hole] = (NamesEntry){0};
}
