// What one call of a handler may take: time by the clock, and memory of the Lua heap.
// Private to src/script.
//
// Two come here to look at the clock and at the heap: running Lua code, when an alarm
// interrupts it (interrupt.h) because its time seems to be up or the heap has grown past the
// limit; and C functions that can run long, which charge the work they do. Once over, a
// call stays over: it is interrupted again and again until it has ended.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "script/script.h"

typedef struct Host Host;

enum {
  BUDGET_STEPS = 16384,        // of work in C between two looks at the clock
  BUDGET_TEXT_MAX = 16 << 20,  // bytes of a string that one call of a function makes
  // The heap never grows beyond this times memory_limit. The next instruction after
  // memory_limit is where a script ends, and no table more than doubles in one: this is
  // for what was not thought of, as compiled code has been seen to crash where a table
  // cannot grow.
  BUDGET_HARD_RATIO = 4,
  BUDGET_LOAD_US = 1000000,  // for a load of the game; handler_budget if that is more
};

typedef enum BudgetOver {
  BUDGET_KEPT,
  BUDGET_OVER_TIME,
  BUDGET_OVER_MEMORY
} BudgetOver;

typedef struct Budget {
  ScriptLimits limits;
  uint64_t now_us;      // when the last call ended, or the drain began
  uint64_t started_us;  // the running call
  uint64_t allowed_us;
  size_t started_bytes;  // of the heap when the running call began
  size_t alarm_bytes;    // of the heap past which to look; 0: at no size
  uint32_t steps;        // charged since the last look
  BudgetOver over;
  bool is_patient;  // nobody waits, and a busy machine must not change what happens
  bool is_load;
  bool is_open;       // alarm_close is owed
  bool is_alarmed;    // the running call is interrupted, or is about to be
  bool is_long_over;  // and that for so long that the host's own code ends, too
  uint32_t own_seen;  // instructions of that which were interrupted since the last tick
  bool is_long;       // it is past a quarter of its time;
  uint64_t processor_us;  // then: of the thread, when that was seen
  Buf text;               // C strings: the error of a call that is over,
  Buf trace;              // and where it was
} Budget;

/// Has the code of the host's state watched, with its JIT off where that is needed. To be
/// called when all libraries that scripts reach are loaded.
void budget_init(Host *host);
void budget_deinit(Host *host);

/// The real time, under a virtual clock too: a runaway has to end there as well.
uint64_t budget_clock_us(void);

/// Reads the clock, for the calls that follow.
void budget_tick(Host *host);

/// A call begins now, as of the last budget_tick.
void budget_begin(Host *host);

/// The call has ended: what the host does next is not part of it.
void budget_end(Host *host);

/// Whether the running call is over its budget.
static inline bool budget_is_over(const Budget *budget) {
  return budget->over != BUDGET_KEPT;
}

/// Charges `steps` of work that a C function does for the running handler (one is
/// about 5 ns). Raises a Lua error when the handler is over its budget, and again each
/// time until its call has ended.
void budget_charge(Host *host, lua_State *L, uint32_t steps);

/// Whether the running call has to end, for whatever has caught an error of it.
bool budget_is_spent(Host *host, lua_State *L);

/// Ends the running call, which is over. A C function returns what this returns.
int budget_stop(Host *host, lua_State *L);

/// The heap has grown past alarm_bytes: the running call is interrupted to look. For the
/// allocator.
void budget_alarm(Host *host);
