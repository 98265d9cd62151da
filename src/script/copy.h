// Values from one Lua state to another. Private to src/script.
#pragma once

#include <lua.h>

/// Pushes on `to` a copy of the value at index `at` of `from`: of plain data all of it,
/// shared and circular tables included; of peers and rooms { peer = id } and
/// { room = name }; of functions and the like a text. Returns NULL, or in words what
/// does not go; then nothing is pushed. Calls no metamethods.
const char *copy_value(lua_State *from, int at, lua_State *to);
