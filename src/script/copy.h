// Copies values from one Lua state to another. Private to src/script.
#pragma once

#include <lua.h>

/// Pushes on `to` a copy of the value at index `at` of `from`. Tables are copied as a
/// whole, also shared and circular ones. Peers become { peer = id }, rooms { room = name },
/// and functions, userdata and threads a text. Returns NULL, or an error text without
/// pushing a value. Calls no metamethods.
const char *copy_value(lua_State *from, int at, lua_State *to);
