// Returns memory to the system after the Lua heap has shrunk. LuaJIT's allocator unmaps only
// segments that are entirely free, so one live block in each segment retains them all. A
// round therefore allocates the free blocks, has the system drop the pages within them, and
// frees them again: the allocator keeps their addresses, without resident memory.
// Private to src/script.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  PAGES_SHRUNK = 32 << 20,       // bytes by which a heap has to have shrunk
  PAGES_INTERVAL_US = 10000000,  // from one round to the next
  PAGES_QUIET_US = 1000000,      // for which it has to have shrunk no more
  PAGES_SLICE_US = 1000,         // of a round in one call
};

typedef struct Pages {
  size_t peak_bytes;  // of the heap since the last round began
  size_t low_bytes;   // of the heap since its peak
  uint64_t due_us;    // before which no round begins
  bool is_running;    // a round is, over several calls
  void *blocks;       // that it holds, each with the next one in its first word
  uint32_t step;      // which size of blocks it takes; the last step frees them
  uint32_t absent;    // blocks in a row that had no memory behind them
} Pages;

/// Begins a round if the heap, which has `bytes` now, has shrunk enough, or continues one.
/// `allocate` and `arena` are the allocator of the heap.
void pages_settle(Pages *pages, lua_Alloc allocate, void *arena, size_t bytes,
                  uint64_t now_us);

/// Frees what a running round holds.
void pages_stop(Pages *pages, lua_Alloc allocate, void *arena);
