// A map from byte strings to non-zero u32. Hashed under a random key, so that
// strangers who choose the names cannot choose collisions.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct NamesEntry {
  char *text;  // NULL when empty
  uint32_t size;
  uint32_t value;
} NamesEntry;

typedef struct Names {
  NamesEntry *entries;
  uint32_t capacity;  // power of two, or 0
  uint32_t count;
  uint64_t key[2];
} Names;

/// Makes an empty map with a random key.
void names_init(Names *names);
void names_deinit(Names *names);

/// Returns the value of a name, or 0.
uint32_t names_find(const Names *names, const char *text, size_t size);

/// Sets (or replaces) the value of a name; `value` is not 0. The text is copied.
void names_set(Names *names, const char *text, size_t size, uint32_t value);

/// Adds `change` to the value of a name, which is a counter; removes the name when its
/// value becomes 0. Returns the value.
uint32_t names_add(Names *names, const char *text, size_t size, int change);

/// Removes a name, if the map has it.
void names_remove(Names *names, const char *text, size_t size);
