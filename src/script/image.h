// Images: Lua data as bytes, for states that outlive the process. An image keeps cycles,
// tables that are reached several times, and every number (NaN, infinities, -0). Peers,
// rooms and other objects are texts, which the caller makes and finds again.
//
// An image is a byte with its format, the root value, and the entries of each table in the
// order in which the tables were met. Neither function recurses, because a long linked list
// is deep.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { IMAGE_MAX = 1 << 20 };  // bytes of an image

typedef enum ImageResult {
  IMAGE_TAKEN,
  IMAGE_NO_DATA,    // a value is no data: a function, or a table with a metatable
  IMAGE_TOO_LARGE,  // more than IMAGE_MAX bytes
} ImageResult;

/// Appends the image of the value at stack index `at`. The function at index `name`
/// returns the text of a table that has a metatable, or nil. Both indexes are absolute.
/// Without IMAGE_TAKEN, the appended bytes have no meaning. May raise errors of Lua.
ImageResult image_take(lua_State *L, int at, int name, Buf *image);

/// Pushes the value of an image. The function at absolute index `find` returns the object
/// of a text, or nil, which removes its entries. Returns false, and pushes nothing, if the
/// bytes are no image. May raise errors of Lua.
bool image_read(lua_State *L, int find, const void *bytes, size_t size);
