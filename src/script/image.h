// Images: Lua data as bytes, for states that outlive the process. An image keeps
// cycles, tables that are reachable in several ways, and every number (NaN, infinities,
// -0). Peers, rooms and other objects become texts; functions of the caller convert
// them in both directions.
//
// An image consists of a byte with its format, the root value, and the entries of each
// table, in the order in which the tables were found. Neither function recurses,
// because a long linked list nests deeply.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { IMAGE_MAX = 1 << 20 };  // bytes of an image

typedef enum ImageResult {
  IMAGE_TAKEN,
  // The value is not data: it contains a function, or a table with a metatable.
  IMAGE_NO_DATA,
  IMAGE_TOO_LARGE,  // more than IMAGE_MAX bytes
} ImageResult;

/// Appends the image of the value at stack index `at`. The function at index `name`
/// returns the text of a table that has a metatable, or nil. Both indexes are absolute.
/// If the result is not IMAGE_TAKEN, the appended bytes are useless. May raise Lua
/// errors.
ImageResult image_take(lua_State *L, int at, int name, Buf *image);

/// Pushes the value of an image. The function at absolute index `find` returns the
/// object of a text; nil removes the entry with the object. If the bytes are not an
/// image, returns false and pushes nothing. May raise Lua errors.
bool image_read(lua_State *L, int find, const void *bytes, size_t size);
