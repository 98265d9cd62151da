// Limits one call of a handler: its time by the clock, and the memory of the Lua heap. Private
// to src/script.
//
// The clock and the heap are looked at in two places. Running Lua code is interrupted
// (interrupt.h) when its time seems to be up or the heap has grown past the limit. C functions
// that can run long charge the work that they do. A call that is over stays over: it is
// interrupted again and again until it has ended.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "script/script.h"

typedef struct Host Host;

enum {
  DEADLINE_STEPS = 16384,        // of work in C between two looks at the clock
  DEADLINE_TEXT_MAX = 16 << 20,  // bytes of a string that one call of a function makes
  // The heap never grows beyond this times memory_limit. A script ends at the next
  // instruction after memory_limit, and one instruction at most doubles a table. The
  // factor leaves room for the unforeseen, because compiled code crashes where a table
  // cannot grow.
  DEADLINE_HARD_RATIO = 4,
  DEADLINE_LOAD_US = 1000000,  // for a load of the game; handler_budget if that is more
};

typedef enum DeadlineOver {
  DEADLINE_KEPT,
  DEADLINE_OVER_TIME,
  DEADLINE_OVER_MEMORY
} DeadlineOver;

typedef struct Deadline {
  ScriptLimits limits;
  uint64_t now_us;         // end of the last call, or beginning of the drain
  uint64_t started_us;     // beginning of the running call
  uint64_t allowed_us;     // time of the running call; UINT64_MAX: no call runs
  size_t started_bytes;    // size of the heap when the running call began
  size_t interrupt_bytes;  // size of the heap past which to look; 0: at no size
  uint32_t steps;          // work charged since the last look
  DeadlineOver over;
  bool is_patient;        // simulation: a busy machine must not change what happens
  bool is_load;           // the running call loads the game
  bool is_open;           // interrupt_close is due
  bool is_interrupted;    // the running call is interrupted, or is about to be
  bool is_long_over;      // the host's own code is ended, too
  bool is_long;           // the running call is past a quarter of its time
  uint64_t processor_us;  // processor time of the thread when that was seen
  Buf text;               // C string: the error of a call that is over
  Buf trace;              // C string: where the call was then
} Deadline;

/// Makes the code of the host's state interruptible, and switches its JIT off where that is
/// needed. Call it when all libraries that scripts reach are loaded.
void deadline_init(Host *host);
void deadline_deinit(Host *host);

/// The real time, under a virtual clock too: a runaway has to end there as well.
uint64_t deadline_clock_us(void);

/// Reads the clock, for the calls that follow.
void deadline_tick(Host *host);

/// Begins a call, as of the last deadline_tick.
void deadline_begin(Host *host);

/// Ends the call: what the host does next is not part of it.
void deadline_end(Host *host);

/// Whether the running call is over its deadline, or has filled the heap.
static inline bool deadline_is_over(const Deadline *deadline) {
  return deadline->over != DEADLINE_KEPT;
}

/// Charges `steps` of work that a C function does for the running handler (one is about
/// 5 ns). Raises a Lua error when the call is over, and again each time until it has ended.
void deadline_charge(Host *host, lua_State *L, uint32_t steps);

/// Interrupts the running call to look, because the heap has grown past interrupt_bytes. For
/// the allocator.
void deadline_interrupt(Host *host);
