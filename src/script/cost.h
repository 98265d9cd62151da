// What handlers cost: calls, time in all, and how it is spread, in a histogram whose
// buckets widen with the time (each an eighth of it at most). No Lua, no clock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  COST_HANDLERS = 256,  // that are told apart; what comes later is counted as one
  COST_NAMES = 64,      // of messages that one function takes; likewise
  COST_BUCKETS = 192,
  COST_NAME_SIZE = 96,  // of a handler or a file, with its NUL; longer ones are cut
};

/// What tells two handlers apart. Never read through.
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
  bool is_warned;  // the log was told that it is slow
} Cost;

typedef struct Costs {
  Cost *slots[COST_HANDLERS];  // owned
  uint32_t count;
  Cost *last;  // the one of the last call
} Costs;

/// Forgets everything.
void costs_clear(Costs *costs);

/// The handler's; `is_new` is set when it had none yet and wants a name.
Cost *costs_find(Costs *costs, const CostKey *key, bool *is_new);

/// One more call.
void cost_add(Cost *cost, uint64_t us);

/// The time that 99 of 100 calls did not exceed, a little too high.
uint64_t cost_p99(const Cost *cost);

/// Stores the handlers with the worst single calls, the worst first; returns how many.
size_t costs_slowest(const Costs *costs, const Cost **out, size_t size);
