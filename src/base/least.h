// The smaller and the larger of two numbers.
#pragma once

#include <stdint.h>

static inline uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }
