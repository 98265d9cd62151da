// Limits one call of a handler: its time, and the size of the Lua heap. Private to
// src/script.
//
// Two places check clock and heap. Running Lua code is interrupted (interrupt.h) when
// its time may be over or the heap exceeds the limit. C functions that can run long
// charge their work. A call that has exceeded a limit is interrupted again and again
// until it has ended.
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
  DEADLINE_TEXT_MAX = 16 << 20,  // most bytes of a string that one call of a function
                                 // builds
  // Size beyond which large blocks are refused, as a multiple of memory_limit. A script
  // ends at the first instruction beyond memory_limit, and one instruction at most
  // doubles a table. The multiple is larger than 2, because compiled code crashes when
  // a table cannot grow.
  DEADLINE_HARD_RATIO = 4,
  DEADLINE_LOAD_US = 1000000,  // least time for a load of the game; handler_budget may
                               // be longer
  DEADLINE_CONSOLE_US = 100000,       // time of a line of the console
  DEADLINE_CONSOLE_BYTES = 32 << 20,  // bytes by which such a line may enlarge the heap
};

typedef enum DeadlineOver {
  DEADLINE_KEPT,
  DEADLINE_OVER_TIME,
  DEADLINE_OVER_MEMORY
} DeadlineOver;

typedef struct Deadline {
  ScriptLimits limits;
  uint64_t now_us;         // time of the last call's end, or of the drain's beginning
  uint64_t started_us;     // time of the running call's beginning
  uint64_t allowed_us;     // time limit of the running call; UINT64_MAX: no call is
                           // running
  size_t started_bytes;    // size of the heap at the beginning of the running call
  size_t heap_max;         // limit of the heap for the running call
  size_t interrupt_bytes;  // size of the heap that causes a check; 0: none
  uint32_t steps;          // steps charged since the last check
  DeadlineOver over;
  bool is_patient;        // in a simulation: the whole time must be processor time, so
                          // that a busy machine does not change results
  bool is_load;           // the running call loads the game
  bool is_open;           // deadline_deinit must call interrupt_close
  bool is_interrupted;    // the running call is being interrupted, or an interrupt is
                          // pending
  bool is_long_over;      // interrupts also end the host's own code
  bool is_sampled;        // the running call is being interrupted for a sample
  bool is_long;           // the running call has used a quarter of its time
  uint64_t processor_us;  // processor time of the thread at the moment when is_long was
                          // set
  Buf text;               // error of a call that has exceeded a limit; C string
  Buf trace;              // traceback of the moment of `text`; C string
} Deadline;

/// Makes the code of the host's state interruptible. If that is impossible, switches
/// its JIT off. Must be called after all libraries of scripts are loaded.
void deadline_init(Host *host);
void deadline_deinit(Host *host);

/// Returns the real time, even in a simulation, because the handlers of a simulation
/// have deadlines, too.
uint64_t deadline_clock_us(void);

/// Reads the clock for the following calls.
void deadline_tick(Host *host);

/// Begins a call at the time of the last deadline_tick.
void deadline_begin(Host *host);

/// Ends the call.
void deadline_end(Host *host);

/// Returns whether the running call has exceeded its time or filled the heap.
static inline bool deadline_is_over(const Deadline *deadline) {
  return deadline->over != DEADLINE_KEPT;
}

/// Charges work of a C function to the running handler; a step is about 5 ns. If the
/// call has exceeded a limit, raises a Lua error. Each further charge raises it again.
void deadline_charge(Host *host, lua_State *L, uint32_t steps);

/// Interrupts the running call, so that its profile takes a sample. The allocator calls
/// this.
void deadline_sample(Host *host);

/// Interrupts the running call, so that it is checked. The allocator calls this when
/// the heap exceeds interrupt_bytes.
void deadline_interrupt(Host *host);
