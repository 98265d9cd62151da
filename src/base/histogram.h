// Counts of times in microseconds, in buckets whose width is at most an eighth of their
// times. Reads no clock.
#pragma once

#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 192 };

typedef struct Histogram {
  uint64_t count;     // number of times
  uint64_t total_us;  // sum of the times
  uint64_t buckets[HISTOGRAM_BUCKETS];
} Histogram;

void histogram_add(Histogram *histogram, uint64_t us);

/// Adds all times of another histogram.
void histogram_merge(Histogram *to, const Histogram *from);

/// Returns the number of times below 2^shift microseconds. `shift` is from 3 to 26.
uint64_t histogram_below(const Histogram *histogram, unsigned shift);

/// Returns a percentile (1 to 100), rounded up to the end of its bucket; UINT64_MAX if it
/// is in the last one, which has no end, or without times.
uint64_t histogram_percentile(const Histogram *histogram, unsigned percent);

/// Returns the 99th percentile, rounded up to the end of its bucket; UINT64_MAX if it
/// is in the last one, which has no end.
uint64_t histogram_p99(const Histogram *histogram);
