// Turns source text into functions, within limits: all of a game's text is parsed here.
// LuaJIT's parser takes time that grows with the square of a chain's length (`x or x or
// ...`, `elseif`, `goto`), so its reader supplies the text in pieces and stops after
// PARSE_US. Works with any Lua state, on any thread. Private to src/script.
#pragma once

#include <lua.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/reader.h"

enum {
  PARSE_SIZE_MAX = 2 << 20,  // bytes of a file of a game
  PARSE_PIECE = 4096,        // bytes between two looks at the clock
  PARSE_US = 2000000,        // for one file
};

#define PARSE_TOO_LARGE_TEXT "the file has more than 2 MiB; divide it into modules"

/// Pushes the function that `text` is the source of, under the chunk name "@path"; or
/// pushes an error message and returns false. Bytecode is refused. Another thread can
/// cancel it by `is_unwanted`; NULL: none can.
bool parse_text(lua_State *L, const char *path, Text text,
                const atomic_bool *is_unwanted);

/// Parses in a Lua state of its own. Appends to `code` the bytecode for parse_load, with
/// debug information; or an error message, and then returns false.
bool parse_to_code(const char *path, Text text, const atomic_bool *is_unwanted,
                   Buf *code);

/// Pushes the function that parse_to_code has made in this process; or pushes an error
/// message and returns false.
bool parse_load(lua_State *L, const char *path, const Buf *code);
