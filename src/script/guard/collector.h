// Finds out whether LuaJIT's collector is running, to sum up its time. LuaJIT runs it
// bit by bit within allocations and does not report it, but notes it in a private member
// of its state. Private to src/script.
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Collector {
  const volatile int32_t *activity;  // what LuaJIT is doing; NULL: not found
} Collector;

/// Looks for the member in the main state `L`: the one that changes as it must while a C
/// function and the collector run.
void collector_open(Collector *collector, lua_State *L);

/// Returns whether the collector is running. Signal handlers may call this function.
static inline bool collector_is_running(const Collector *collector) {
  enum { COLLECTING = -3 };
  return collector->activity != NULL && *collector->activity == COLLECTING;
}
