// Limits one call of a handler: its time, and the size of the Lua heap. Private to src/script.
//
// Two places check clock and heap. Running Lua code is interrupted (interrupt.h) when its
// time seems to be over or the heap exceeds the limit. C functions that can run long charge
// their work. A call that is over stays over: it is interrupted again until it has ended.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "script/script.h"

typedef struct Host Host;

enum {
  DEADLINE_STEPS = 16384,        // steps of work in C between two checks of the clock
  DEADLINE_TEXT_MAX = 16 << 20,  // bytes of a string that one call of a function builds
  // Factor of memory_limit that the heap never exceeds. A script ends at the first
  // instruction after memory_limit, and one instruction at most doubles a table. The factor
  // is larger, because compiled code crashes when a table cannot grow.
  DEADLINE_HARD_RATIO = 4,
  DEADLINE_LOAD_US = 1000000,  // minimum for a load of the game; handler_budget may be
                               // more
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
  uint64_t allowed_us;     // time limit of the running call; UINT64_MAX: no call runs
  size_t started_bytes;    // size of the heap when the running call began
  size_t interrupt_bytes;  // size of the heap that causes a check; 0: none
  uint32_t steps;          // work charged since the last check
  DeadlineOver over;
  bool is_patient;        // simulation: a busy machine must not change results
  bool is_load;           // the running call loads the game
  bool is_open;           // deadline_deinit must call interrupt_close
  bool is_interrupted;    // the running call is interrupted, or an interrupt is pending
  bool is_long_over;      // interrupts end the host's own code, too
  bool is_long;           // the running call has used a quarter of its time
  uint64_t processor_us;  // processor time of the thread when is_long was set
  Buf text;               // C string: the error of a call that is over
  Buf trace;              // C string: the traceback of that moment
} Deadline;

/// Makes the code of the host's state interruptible; switches its JIT off if that is
/// impossible. Must be called after all libraries of scripts are loaded.
void deadline_init(Host *host);
void deadline_deinit(Host *host);

/// Returns the real time, also in a simulation, whose handlers have deadlines, too.
uint64_t deadline_clock_us(void);

/// Reads the clock, for the calls that follow.
void deadline_tick(Host *host);

/// Begins a call, as of the last deadline_tick.
void deadline_begin(Host *host);

/// Ends the call.
void deadline_end(Host *host);

/// Returns whether the running call is over its deadline or has filled the heap.
static inline bool deadline_is_over(const Deadline *deadline) {
  return deadline->over != DEADLINE_KEPT;
}

/// Charges work of a C function to the running handler; a step is about 5 ns. Raises a Lua
/// error if the call is over, each time until it has ended.
void deadline_charge(Host *host, lua_State *L, uint32_t steps);

/// Interrupts the running call for a check. The allocator calls it when the heap exceeds
/// interrupt_bytes.
void deadline_interrupt(Host *host);
