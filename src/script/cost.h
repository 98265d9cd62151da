// The costs of handlers: calls, total time, and a histogram of times. A bucket is at most
// an eighth of its time wide. Needs neither Lua nor a clock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  COST_HANDLERS = 256,  // handlers counted separately; all later ones count as one
  COST_NAMES = 64,      // messages of one function counted separately; likewise
  COST_BUCKETS = 192,
  COST_NAME_SIZE = 96,  // bytes of a handler's or file's name with its NUL; longer
                        // names are cut
};

/// Identifies a handler. The pointers are never dereferenced.
typedef struct CostKey {
  const void *function;
  const void *message;  // message of the handler; NULL: none
  uint32_t line;        // line of the function if `function` is a file's name
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
  bool is_warned;  // the log has reported it as slow
} Cost;

typedef struct Costs {
  Cost *slots[COST_HANDLERS];  // owned; `count` of them
  uint32_t count;
  Cost *last;          // cost of the last call
  uint64_t logged_us;  // last time that costs_due returned more than COSTS_NOT_DUE; 0:
                       // no call yet
  bool was_slow;       // a call since then was slow
} Costs;

/// Whether the slowest handlers should be logged now.
typedef enum CostsDue {
  COSTS_NOT_DUE,
  COSTS_DUE,       // a minute has passed,
  COSTS_DUE_SLOW,  // and a call in it was slow
} CostsDue;

/// Frees all costs.
void costs_clear(Costs *costs);

/// Returns the cost of a handler. Sets `is_new` if it is a new one, which needs a name.
Cost *costs_find(Costs *costs, const CostKey *key, bool *is_new);

/// Adds a call.
void cost_add(Cost *cost, uint64_t us);

/// Notes a call that ended at `now_us`. Returns more than COSTS_NOT_DUE once a minute while
/// calls occur.
CostsDue costs_due(Costs *costs, uint64_t now_us, bool is_slow);

/// Returns the time that 99 of 100 calls did not exceed, rounded up a little.
uint64_t cost_p99(const Cost *cost);

/// Stores the handlers with the longest single calls, the longest first; returns their number.
size_t costs_slowest(const Costs *costs, const Cost **out, size_t size);
