// Writes a Lua value as the JSON of a document, with all digits of numbers. A
// part that JSON cannot express is a fault that names the place in the value.
#pragma once

#include <lua.h>
#include <stdbool.h>

#include "base/buf.h"

/// Appends the JSON of the value at `at` to `out`. If that is impossible, returns false
/// and pushes an error text. Stops when the JSON has more than `most` bytes, so a
/// longer text in `out` is incomplete.
bool document_write(lua_State *L, int at, Buf *out, size_t most);
