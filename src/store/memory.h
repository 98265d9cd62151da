// The back end of simulations and of ":memory:". It stores documents until it is
// closed. Its calls can be made to fail.
#pragma once

#include "store/backend.h"

typedef enum MemoryCalls {
  MEMORY_ALL,
  MEMORY_WRITES,  // units, before the commit
  MEMORY_COMMITS,
  MEMORY_READS,  // get, find, count, scan
} MemoryCalls;

typedef struct MemoryFailure {
  StoreFault fault;   // result of the failing calls
  MemoryCalls calls;  // calls that fail
  uint32_t times;     // number of failing calls; 0: all until the next memory_fail
} MemoryFailure;

/// Makes later calls fail. NULL: later calls succeed.
void memory_fail(Backend *backend, const MemoryFailure *failure);
