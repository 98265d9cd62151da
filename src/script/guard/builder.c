// Collects bytes in the struct, and in a userdata when they exceed it. luaL_Buffer has no
// limit, and leaves partial strings on the stack.
#include "script/guard/builder.h"

#include <lauxlib.h>
#include <string.h>

#include "script/guard/deadline.h"

void builder_init(Builder *builder, lua_State *L, int slot, const char *name) {
  builder->L = L;
  builder->name = name;
  builder->slot = slot;
  builder->data = builder->small;
  builder->size = 0;
  builder->capacity = sizeof builder->small;
}

static void grow(Builder *builder, size_t needed) {
  if (needed > DEADLINE_TEXT_MAX)
    luaL_error(builder->L, "%s: the result would have %f bytes or more; %d is the most",
               builder->name, (double)needed, DEADLINE_TEXT_MAX);
  size_t capacity = builder->capacity * 2;
  if (capacity < needed) capacity = needed;
  char *data = lua_newuserdata(builder->L, capacity);
  if (builder->size > 0) memcpy(data, builder->data, builder->size);
  lua_replace(builder->L, builder->slot);  // Lua may free the old bytes now
  builder->data = data;
  builder->capacity = capacity;
}

void builder_add(Builder *builder, const void *bytes, size_t size) {
  if (builder->capacity - builder->size < size) grow(builder, builder->size + size);
  if (size > 0) memcpy(builder->data + builder->size, bytes, size);
  builder->size += size;
}

void builder_push(const Builder *builder) {
  lua_pushlstring(builder->L, builder->data, builder->size);
}
