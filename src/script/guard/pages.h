// Returns memory to the system after the Lua heap has shrunk. LuaJIT's allocator unmaps
// only segments that are entirely free, so one live block retains its whole segment. A
// round therefore allocates the free blocks, makes the system drop the pages within
// them, and frees them again. The allocator keeps their addresses, without resident
// memory. Private to src/script.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  PAGES_SHRUNK = 32 << 20,       // bytes by which the heap must have shrunk
  PAGES_INTERVAL_US = 10000000,  // time between two rounds
  PAGES_QUIET_US = 1000000,      // time without shrinking before a round begins
  PAGES_SLICE_US = 1000,         // time of a round in one call of pages_settle
};

typedef struct Pages {
  size_t peak_bytes;  // largest size of the heap since the last round began
  size_t low_bytes;   // smallest size of the heap since its peak
  uint64_t due_us;    // earliest time of the next round
  bool is_running;    // a round is in progress
  void *blocks;       // blocks of the round; the first word of each points to the next
  uint32_t step;      // index in the sizes of blocks; the last step frees all blocks
  uint32_t absent;    // successive blocks that were not resident
} Pages;

/// Continues the running round. Without one, begins a round if the heap, whose size is
/// `bytes`, has shrunk enough. `allocate` and `arena` are the allocator of the heap.
void pages_settle(Pages *pages, lua_Alloc allocate, void *arena, size_t bytes,
                  uint64_t now_us);

/// Frees the blocks of a running round.
void pages_stop(Pages *pages, lua_Alloc allocate, void *arena);
