// Parses all source text of games, within limits. LuaJIT's parser takes time that grows
// with the square of a chain's length (`x or x or ...`, `elseif`, `goto`). Therefore
// the text is supplied to it in pieces, until PARSE_US have passed. Works with any Lua
// state, on any thread. Private to src/script.
#pragma once

#include <lua.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/reader.h"

enum {
  PARSE_SIZE_MAX = 2 << 20,  // limit of the size of a game's file
  PARSE_PIECE = 4096,        // bytes between two checks of the clock
  PARSE_US = 2000000,        // time limit of one file
};

#define PARSE_TOO_LARGE_TEXT "the file has more than 2 MiB; divide it into modules"

/// Parses the source `text` with the chunk name "@path". Pushes its function and
/// returns true; or pushes an error message and returns false. Refuses bytecode.
/// Another thread can cancel the parsing by setting `is_unwanted` (may be NULL).
bool parse_text(lua_State *L, const char *path, Text text,
                const atomic_bool *is_unwanted);

/// Parses in a separate Lua state. Appends bytecode with debug information to `code`,
/// for parse_load; or appends an error message and returns false.
bool parse_to_code(const char *path, Text text, const atomic_bool *is_unwanted,
                   Buf *code);

/// Pushes the function of the bytecode that parse_to_code has made in this process; or
/// pushes an error message and returns false.
bool parse_load(lua_State *L, const char *path, const Buf *code);
