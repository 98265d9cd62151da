// A sorted array, because the ranges are few and most changes concern the first or the
// last one.
#include "wire/udp/ranges.h"

#include <string.h>

#include "base/array.h"
#include "base/mem.h"

enum { FIRST_CAPACITY = 8 };

void udp_ranges_deinit(UdpRanges *ranges) {
  mem_free(ranges->items);
  *ranges = (UdpRanges){0};
}

// Returns the index of the first range that ends at or after `at`, or the number of
// ranges if no range ends there.
static uint32_t find(const UdpRanges *ranges, uint64_t at) {
  uint32_t low = 0, high = ranges->count;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (ranges->items[middle].end < at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// Replaces the ranges from index `first` to before `last` by the `count` ranges `with`.
static void replace(UdpRanges *ranges, uint32_t first, uint32_t last,
                    const UdpRange *with, uint32_t count) {
  uint32_t after = ranges->count - last;
  uint32_t needed = first + count + after;
  if (needed > ranges->capacity)
    ranges->capacity = array_grow(&ranges->items, ranges->capacity,
                                  sizeof *ranges->items, FIRST_CAPACITY);
  if (after > 0)
    memmove(&ranges->items[first + count], &ranges->items[last], after * sizeof *with);
  if (count > 0) memcpy(&ranges->items[first], with, count * sizeof *with);
  ranges->count = needed;
}

void udp_ranges_add(UdpRanges *ranges, uint64_t start, uint64_t end) {
  if (start >= end) return;
  UdpRange range = {start, end};
  uint32_t first = find(ranges, start), last = first;
  while (last < ranges->count && ranges->items[last].start <= end) {
    const UdpRange *met = &ranges->items[last++];
    if (met->start < range.start) range.start = met->start;
    if (met->end > range.end) range.end = met->end;
  }
  replace(ranges, first, last, &range, 1);
}

void udp_ranges_remove(UdpRanges *ranges, uint64_t start, uint64_t end) {
  if (start >= end) return;
  UdpRange rest[2];
  uint32_t count = 0, first = find(ranges, start + 1), last = first;
  while (last < ranges->count && ranges->items[last].start < end) {
    const UdpRange *met = &ranges->items[last++];
    if (met->start < start) rest[count++] = (UdpRange){met->start, start};
    if (met->end > end) rest[count++] = (UdpRange){end, met->end};
  }
  if (first < last) replace(ranges, first, last, rest, count);
}
