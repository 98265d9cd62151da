// What one call of a handler may take: time by the clock, and memory of the Lua heap.
// Scripts are made to ask by checks that the loader inserts; C functions that can run
// long charge the work they do. Private to src/script.
//
// Checks count down in a Lua table that compiled code reaches without a call. At zero
// they come here to look: at the clock and at the heap. Once over, a call stays over:
// each check and each charge raises again until the call has ended.
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
  BUDGET_HARD_RATIO = 2,       // the heap never grows beyond this times memory_limit
  BUDGET_LOAD_US = 1000000,    // for a load of the game; handler_budget if that is more
};

// What lies where in the counter's table. Checks take turns with the numbers they count
// in (see instrument.lua); with the first that runs out a look is taken.
enum {
  COUNTER_LEFT = 1,      // checks until the next look
  COUNTER_LOOK = 2,      // what is called then
  COUNTER_FUNCTION = 3,  // that the host has called, for account.h
  COUNTER_MESSAGE = 4,   // whose handler that is, where it takes several
  COUNTER_MORE = 5,      // from here on the same as COUNTER_LEFT
  COUNTER_SIZE = 7,
};

typedef enum BudgetOver {
  BUDGET_KEPT,
  BUDGET_OVER_TIME,
  BUDGET_OVER_MEMORY
} BudgetOver;

typedef struct Budget {
  ScriptLimits limits;
  lua_State *L;         // holds the checks' counter, and nothing else
  uint64_t now_us;      // when the last call ended, or the drain began
  uint64_t started_us;  // the running call
  uint64_t allowed_us;
  uint64_t looked_us;
  size_t started_bytes;  // of the heap when the running call began
  uint64_t looked_allocated;
  uint32_t count;  // checks from the last look to the next
  uint32_t steps;  // charged since the last look
  BudgetOver over;
  bool is_patient;  // nobody waits, and a busy machine must not change what happens
  bool is_load;
  bool has_looked;        // in the running call
  bool is_long;           // the running call is past a quarter of its time;
  uint64_t processor_us;  // then: of the thread, when that was seen
  Buf text;               // C strings: the error of a call that is over,
  Buf trace;              // and where it was
} Budget;

/// Makes the counter. May raise a Lua error.
void budget_init(Host *host, lua_State *L);
void budget_deinit(Budget *budget);

/// Pushes the counter's table.
void budget_push_counter(Host *host, lua_State *L);

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

/// Checks until the next look: after `count` of them in `elapsed_us` that allocated
/// `bytes`. Pure.
uint32_t budget_count(uint32_t count, uint64_t elapsed_us, uint64_t bytes);
