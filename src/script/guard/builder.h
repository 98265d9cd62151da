// A string in the making, of at most DEADLINE_TEXT_MAX bytes. Its memory is the Lua
// state's, so an error may leave at any time. Private to src/script.
#pragma once

#include <lua.h>
#include <stddef.h>

enum { BUILDER_SMALL = 512 };  // bytes that need no memory of their own

typedef struct Builder {
  lua_State *L;
  const char *name;  // of the function that makes the string, for errors
  int slot;          // of the stack, for what holds the memory
  char *data;
  size_t size;
  size_t capacity;
  char small[BUILDER_SMALL];
} Builder;

/// `slot` is an index of the stack whose value is not needed.
void builder_init(Builder *builder, lua_State *L, int slot, const char *name);

/// Raises an error when the string would be too long.
void builder_add(Builder *builder, const void *bytes, size_t size);

/// Pushes the string.
void builder_push(const Builder *builder);
