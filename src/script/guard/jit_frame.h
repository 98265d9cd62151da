// Makes errors in compiled code safe. Private to src/script.
//
// LuaJIT's state names the running function (its frame), and a message of an error is built
// there. Compiled code does not update the frame. In Debian's LuaJIT an error that is raised
// in the middle of compiled code takes whatever the stack holds now where an earlier function
// was: it writes over values that are in use, or crashes the process. A script causes this by
// `t[0 / 0] = value`, and by a string that memory.h refuses. LuaJIT mended both in June and
// August 2023 ("Fix frame for ..."), before its first version 2.1 that is not a beta.
//
// Before either error LuaJIT asks the state's allocator for memory: for the table, which it
// enlarges for the key, or for the string. So the allocator updates the frame. What that
// takes are private members of LuaJIT's; jit_frame_open checks that they are where they are
// expected. tests/c/script/guard/test_memory.c crashes without it.
#pragma once

#include <lua.h>
#include <stdbool.h>

typedef struct JitFrame {
  const struct Global *global;  // LuaJIT's; NULL: the frame needs no updates
} JitFrame;

/// Prepares updates for the main state `L`, whose library `jit` is open. Returns false when
/// this LuaJIT needs them and its members are not the expected ones: its JIT has to be off.
bool jit_frame_open(JitFrame *frame, lua_State *L);

/// Updates the frame if compiled code runs. For the state's allocator.
void jit_frame_update(const JitFrame *frame);
