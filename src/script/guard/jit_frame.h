// Makes errors in compiled code safe. Private to src/script.
//
// LuaJIT's state has the frame of the running function, on which it builds error messages.
// Compiled code does not update the frame. In Debian's LuaJIT an error within compiled code
// therefore uses the frame of an earlier function: it overwrites values that are in use, or
// crashes the process. A script causes this by `t[0 / 0] = value`, and by a string that
// memory.h refuses. LuaJIT fixed both in June and August 2023 ("Fix frame for ..."), before
// its first version 2.1 that is not a beta.
//
// Before either error LuaJIT allocates memory, to enlarge the table for the key or for the
// string. Therefore the allocator updates the frame. It uses private members of LuaJIT, whose
// places jit_frame_open checks. tests/c/script/guard/test_memory.c crashes without it.
#pragma once

#include <lua.h>
#include <stdbool.h>

typedef struct JitFrame {
  const struct Global *global;  // LuaJIT's global state; NULL: the frame needs no
                                // updates
} JitFrame;

/// Prepares updates for the main state `L`, whose library `jit` is open. Returns false when
/// this LuaJIT needs them but has other members than expected. Then its JIT must be off.
bool jit_frame_open(JitFrame *frame, lua_State *L);

/// Updates the frame if compiled code runs. The state's allocator calls it.
void jit_frame_update(const JitFrame *frame);
