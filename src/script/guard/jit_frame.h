// Makes errors in compiled code safe. Private to src/script.
//
// LuaJIT's state contains the frame of the running function, on which LuaJIT builds
// error messages. Compiled code does not update this frame. In Debian's LuaJIT, an
// error in compiled code therefore uses the frame of an earlier function: it overwrites
// values that are in use, or crashes the process. A script causes such an error in two
// ways: by `t[0 / 0] = value`, and by a string that memory.h refuses. LuaJIT fixed both
// errors in June and August 2023 ("Fix frame for ..."), before its first version 2.1
// that is not a beta.
//
// Before either error, LuaJIT allocates memory for the larger table or the string.
// Therefore the allocator updates the frame. This code uses private members of LuaJIT,
// whose places jit_frame_open checks. tests/c/script/guard/test_memory.c crashes
// without it.
#pragma once

#include <lua.h>
#include <stdbool.h>

typedef struct JitFrame {
  const struct Global *global;  // LuaJIT's global state; NULL: the frame needs no
                                // updates
} JitFrame;

/// Prepares updates for the main state `L`, whose library `jit` is open. Returns false
/// if this LuaJIT needs updates but has unexpected members. The caller must then switch
/// the JIT off.
bool jit_frame_open(JitFrame *frame, lua_State *L);

/// Returns LuaJIT's global state, or NULL if its members are not at the expected places.
const void *jit_frame_global(lua_State *L);

/// Updates the frame if compiled code is running. The state's allocator calls this
/// function.
void jit_frame_update(const JitFrame *frame);
