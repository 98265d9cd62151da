// Writes a Lua value as the JSON of a document, with all digits of numbers. A
// part that JSON cannot express is a fault that names the place in the value.
#pragma once

#include <lua.h>
#include <stdbool.h>

#include "base/buf.h"

/// Appends the JSON of the value at `at` to `out`. Otherwise returns false and pushes a
/// sentence about the fault. Stops when the JSON has more than `most` bytes; the text is
/// then too long, too.
bool document_write(lua_State *L, int at, Buf *out, size_t most);
