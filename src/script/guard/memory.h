// Limits the Lua heap. Beyond memory_limit, a handler fails at its next check. The
// allocator itself refuses only very long strings, and blocks far beyond the limit.
// After each drain, the collector runs a little, so that no handler fails because of
// garbage. Private to src/script.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "script/guard/collector.h"
#include "script/guard/jit_frame.h"
#include "script/guard/pages.h"

typedef struct Host Host;

typedef struct Memory {
  lua_Alloc allocate;  // LuaJIT's own allocator
  void *arena;         // first argument of `allocate`
  JitFrame jit_frame;  // frame that allocations update
  size_t bytes;        // size of the Lua heap
  size_t live_bytes;   // size after the last full cycles of the collector
  size_t next_bytes;   // heap size at which memory_settle begins full cycles
  uint32_t cycles;     // remaining full cycles
  Collector collector;
  uint64_t collector_us;  // time of the collector: its part of the processor time of
                          // handlers, by samples, and the time between handlers
  Pages pages;            // state of returning memory to the system
  bool was_refused;       // an allocation of the running call was refused
  bool refuses_next;      // refuse the next allocation of any size; see deadline.c
  uint64_t warned_us;     // time of the last warning; 0: none so far
  // For tests: refuses the large block with this number, counted from the next one on.
  // 0: none. With the JIT, only texts count.
  uint32_t refuse_in;
} Memory;

enum {
  // Size below which blocks are never refused. The stack of a coroutine (up to 65,500
  // slots of 8 bytes) must be smaller, because compiled code crashes when its stack
  // cannot grow.
  MEMORY_SMALL = 640 << 10,
  // Largest size of a string that the operator `..` makes, and of its buffer, because
  // no check happens within this operation.
  MEMORY_TEXT_MAX = (32 << 20) + 64,
};

/// Returns whether a block may grow from `old_size` to `size` bytes. Refuses only
/// within lua_resume, because elsewhere a refusal would end the process. Growth by
/// small blocks is left to the checks of the running call.
bool memory_grants(Host *host, size_t old_size, size_t size);

/// Returns whether the running call must end because of its allocations. Before it
/// returns true, it runs the collector while the call has time.
bool memory_is_over(Host *host, lua_State *L);

/// Schedules full cycles of the collector after a call that failed for lack of memory.
void memory_reclaim(Host *host);

/// Runs the collector briefly if the heap is near its limit, and returns memory to the
/// system if the heap has shrunk. Logs warnings. Must be called at the end of a drain;
/// `now_us` is the clock's time.
void memory_settle(Host *host, uint64_t now_us);

/// Returns whether memory_settle has work left, so that the next iteration should begin
/// at once.
bool memory_is_pressed(const Host *host);
