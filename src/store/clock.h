// The monotonic clock, for the threads of the store.
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t store_clock_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static inline uint64_t store_clock_ms(void) { return store_clock_us() / 1000; }
