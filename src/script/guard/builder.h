// Builds a string of at most DEADLINE_TEXT_MAX bytes. The Lua state owns the memory, so an
// error may leave the function at any time. Private to src/script.
#pragma once

#include <lua.h>
#include <stddef.h>

enum { BUILDER_SMALL = 512 };  // bytes without an allocation

typedef struct Builder {
  lua_State *L;
  const char *name;  // function that builds the string, for errors
  int slot;          // index of the stack for the userdata with the bytes
  char *data;
  size_t size;
  size_t capacity;
  char small[BUILDER_SMALL];
} Builder;

/// Initializes a builder. `slot` is an unused index of the stack.
void builder_init(Builder *builder, lua_State *L, int slot, const char *name);

/// Appends bytes. Raises an error when the string would be too long.
void builder_add(Builder *builder, const void *bytes, size_t size);

/// Pushes the string.
void builder_push(const Builder *builder);
