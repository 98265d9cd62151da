// Costs of handlers: calls, total time, and its distribution in a histogram whose buckets widen
// with the time (by at most an eighth of it). No Lua, no clock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  COST_HANDLERS = 256,  // with a Cost of their own; all further handlers share one
  COST_NAMES = 64,      // the same for names of messages that one function handles
  COST_BUCKETS = 192,
  COST_NAME_SIZE = 96,  // of a handler or a file, with its NUL; longer ones are cut
};

/// Identifies a handler. Its pointers are never followed.
typedef struct CostKey {
  const void *function;
  const void *message;  // whose handler it is; NULL: none
  uint32_t line;        // where `function` is a file
} CostKey;

typedef struct Cost {
  CostKey key;
  uint64_t calls;
  uint64_t total_us;
  uint64_t worst_us;
  uint32_t buckets[COST_BUCKETS];
  char name[COST_NAME_SIZE];
  char file[COST_NAME_SIZE];
  uint32_t line;
  bool is_warned;  // the log has a warning that it is slow
} Cost;

typedef struct Costs {
  Cost *slots[COST_HANDLERS];  // owned
  uint32_t count;
  Cost *last;          // the one of the last call
  uint64_t logged_us;  // when costs_due said so last; 0: there has been no call
  bool was_slow;       // some call since then
} Costs;

/// Whether it is time to tell of the slowest.
typedef enum CostsDue {
  COSTS_NOT_DUE,
  COSTS_DUE,       // a minute has passed
  COSTS_DUE_SLOW,  // and some call in it was slow
} CostsDue;

/// Forgets everything.
void costs_clear(Costs *costs);

/// The handler's; `is_new` is set when it had none yet and wants a name.
Cost *costs_find(Costs *costs, const CostKey *key, bool *is_new);

/// One more call.
void cost_add(Cost *cost, uint64_t us);

/// A call has ended at `now_us`, and was slow or not: tells once a minute, as long as there
/// are calls.
CostsDue costs_due(Costs *costs, uint64_t now_us, bool is_slow);

/// The time that 99 of 100 calls did not exceed, a little too high.
uint64_t cost_p99(const Cost *cost);

/// Stores the handlers with the worst single calls, the worst first; returns how many.
size_t costs_slowest(const Costs *costs, const Cost **out, size_t size);
