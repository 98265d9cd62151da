#include "base/histogram.h"

enum {
  SUB_BITS = 3,
  SUBS = 1 << SUB_BITS,  // buckets between two powers of two
};

// Returns the bucket of a time. Each time below SUBS has its own bucket.
static uint32_t bucket_of(uint64_t us) {
  if (us < SUBS) return (uint32_t)us;
  uint32_t shift = 63 - (uint32_t)__builtin_clzll(us) - SUB_BITS;
  uint32_t bucket = (shift + 1) * SUBS + (uint32_t)(us >> shift) - SUBS;
  return bucket < HISTOGRAM_BUCKETS ? bucket : HISTOGRAM_BUCKETS - 1;
}

void histogram_add(Histogram *histogram, uint64_t us) {
  histogram->count++;
  histogram->total_us += us;
  histogram->buckets[bucket_of(us)]++;
}

void histogram_merge(Histogram *to, const Histogram *from) {
  to->count += from->count;
  to->total_us += from->total_us;
  for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) to->buckets[i] += from->buckets[i];
}

uint64_t histogram_below(const Histogram *histogram, unsigned shift) {
  uint64_t count = 0;
  uint32_t end = bucket_of((uint64_t)1 << shift);
  for (uint32_t i = 0; i < end; i++) count += histogram->buckets[i];
  return count;
}

uint64_t histogram_percentile(const Histogram *histogram, unsigned percent) {
  uint64_t count = histogram->count, seen = 0;
  uint64_t wanted = count - count * (100 - percent) / 100;
  for (uint32_t i = 0; i < HISTOGRAM_BUCKETS - 1; i++) {
    seen += histogram->buckets[i];
    if (seen < wanted || seen == 0) continue;
    // Returns the longest time that belongs to the bucket.
    return i < SUBS ? i : ((uint64_t)(i % SUBS + SUBS + 1) << (i / SUBS - 1)) - 1;
  }
  return UINT64_MAX;
}

uint64_t histogram_p99(const Histogram *histogram) {
  return histogram_percentile(histogram, 99);
}
