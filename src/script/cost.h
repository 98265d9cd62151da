// The costs of handlers: histograms of their times, the worst calls, and failures. Uses
// neither Lua nor a clock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/histogram.h"
#include "base/labels.h"

enum {
  COST_HANDLERS =
      LABELS_MAX + 1,   // most costs; all further handlers share the last one
  COST_INDEX = 2048,    // places of the index; a power of two
  COST_NAMES = 64,      // messages of a function that have costs of their own; its
                        // further messages share one cost
  COST_NAME_SIZE = 96,  // most bytes of the name of a handler or file, with its NUL
};

/// Identifies a handler. The pointers are never dereferenced.
typedef struct CostKey {
  const void *function;
  const void *message;  // name of the handled message; NULL: none
  uint32_t line;        // line of the function, if `function` is the name of a file
} CostKey;

typedef struct Cost {
  CostKey key;
  Histogram times;
  uint64_t worst_us;
  uint64_t failures;  // calls that failed
  char name[COST_NAME_SIZE];
  char file[COST_NAME_SIZE];
  uint32_t line;
  bool is_shared;  // the further messages of its function share it
  bool is_warned;  // the log has reported it as slow
} Cost;

typedef struct Costs {
  Cost *slots[COST_HANDLERS];  // the first `count` entries are costs; owned
  uint16_t index[COST_INDEX];  // 1 + number of the cost, by hash of its key; 0: none
  uint32_t count;
  Cost *last;          // cost of the last call
  uint64_t logged_us;  // time of the last due log, or of the first call; 0: none
  bool was_slow;       // whether a call since `logged_us` was slow
} Costs;

/// The decision about logging the slowest handlers now.
typedef enum CostsDue {
  COSTS_NOT_DUE,
  COSTS_DUE,       // a minute has passed
  COSTS_DUE_SLOW,  // a minute has passed, with a slow call
} CostsDue;

/// The times and failures of the handlers of one name, of all versions of the script.
typedef struct CostSum {
  Histogram times;
  uint64_t worst_us;
  uint64_t failures;
} CostSum;

typedef struct CostSums {
  Labels names;
  CostSum *items;  // sums by number of the name; the item LABELS_MAX is for all further
                   // names; owned
  uint32_t count;
} CostSums;

/// Adds the costs to the sums of their names. The caller initializes `sums->names`.
void costs_sum(const Costs *costs, CostSums *sums);
void cost_sums_deinit(CostSums *sums);

/// Frees all costs.
void costs_clear(Costs *costs);

/// Returns the cost of a handler. Sets `is_new` if the cost is new and needs a name.
Cost *costs_find(Costs *costs, const CostKey *key, bool *is_new);

/// Adds a call.
void cost_add(Cost *cost, uint64_t us);

/// Handles the end of a call at `now_us`. Returns COSTS_DUE or COSTS_DUE_SLOW if a
/// minute has passed since it last did so.
CostsDue costs_due(Costs *costs, uint64_t now_us, bool is_slow);

/// Returns the 99th percentile of the times, rounded up slightly.
uint64_t cost_p99(const Cost *cost);

/// Stores the handlers with the longest single calls, the longest first; returns their
/// number.
size_t costs_slowest(const Costs *costs, const Cost **out, size_t size);
