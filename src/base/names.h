// A map from byte strings to numbers of 32 bits other than 0. The hash has a random
// key, so that peers that choose the names cannot choose collisions.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct NamesEntry {
  char *text;  // name; NULL: the entry is empty
  uint32_t size;
  uint32_t value;
} NamesEntry;

typedef struct Names {
  NamesEntry *entries;
  uint32_t capacity;  // number of entries, a power of two, or 0
  uint32_t count;
  uint64_t key[2];
} Names;

/// Creates an empty map with a random key.
void names_init(Names *names);
void names_deinit(Names *names);

/// Returns the value of a name, or 0.
uint32_t names_find(const Names *names, const char *text, size_t size);

/// Sets the value of a name. The value must not be 0. Copies the text.
void names_set(Names *names, const char *text, size_t size, uint32_t value);

/// Adds `change` to the value of a name and returns the result. Removes the name if the
/// result is 0.
uint32_t names_add(Names *names, const char *text, size_t size, int change);

/// Removes a name if the map contains it.
void names_remove(Names *names, const char *text, size_t size);
