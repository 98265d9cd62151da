// The size of the Lua heap. Past memory_limit handlers fail at their next look; the
// allocator itself refuses only what would go far beyond that. Garbage is collected
// ahead of the limit, a little after each drain, so that nobody fails for garbage.
// Private to src/script.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "script/guard/jit_frame.h"
#include "script/guard/pages.h"

typedef struct Host Host;

typedef struct Memory {
  lua_Alloc allocate;  // LuaJIT's own,
  void *arena;         // and its first argument
  JitFrame jit_frame;  // that allocations update
  size_t bytes;        // of the Lua heap
  size_t live_bytes;   // what was left when memory_settle last saw full cycles through
  size_t next_bytes;   // size from which on there is work for memory_settle
  uint32_t cycles;     // of the collector that it still has to see through
  Pages pages;         // that go back to the system
  bool was_refused;    // an allocation of the running call
  bool refuses_next;   // whatever its size; see deadline.c
  uint64_t warned_us;  // when the log was told last; 0: never
  uint32_t
      refuse_in;  // for tests: large blocks, with the JIT only of text, until one is
                  // refused; 0: none is
} Memory;

enum {
  // Bytes of blocks that are never refused: more than the stack of a coroutine at its
  // deepest (65,500 slots of 8), as compiled code does not survive that it cannot grow.
  MEMORY_SMALL = 640 << 10,
  // Bytes of one string that the `..` operator makes, and of the buffer that it is made
  // in: the one thing of any size that a script does without a check in between.
  MEMORY_TEXT_MAX = (32 << 20) + 64,
};

/// Whether a handler may have a block of `size` bytes, more than the `old_size` that it
/// has. Only what runs inside lua_resume is ever refused: elsewhere a refusal would end
/// the process. Scripts that grow by little are stopped by looks.
bool memory_grants(Host *host, size_t old_size, size_t size);

/// Whether the running call has to end because of what it has allocated. Lets the
/// collector try first, as long as the call's time lasts.
bool memory_is_over(Host *host, lua_State *L);

/// Has what a call leaves that failed for want of memory collected soon.
void memory_reclaim(Host *host);

/// Has the collector work for a moment if the heap has come near its limit, and gives
/// memory back to the system if it has shrunk. To be called at the end of a drain;
/// `now_us` is the clock's. Warns in the log.
void memory_settle(Host *host, uint64_t now_us);

/// Returns whether so much is to be collected, or given back, that it should not wait
/// for the next event.
bool memory_is_pressed(const Host *host);
