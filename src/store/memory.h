// The back end of simulations and of ":memory:". It keeps documents until it is closed,
// and fails on request.
#pragma once

#include "store/backend.h"

typedef enum MemoryCalls {
  MEMORY_ALL,
  MEMORY_WRITES,  // units, before their commit
  MEMORY_COMMITS,
  MEMORY_READS,  // get, find, count, scan
} MemoryCalls;

typedef struct MemoryFailure {
  StoreFault fault;   // what the calls return
  MemoryCalls calls;  // which calls fail
  uint32_t times;     // how many; 0: all until the next memory_fail
} MemoryFailure;

/// Makes later calls fail. NULL: they work again.
void memory_fail(Backend *backend, const MemoryFailure *failure);
