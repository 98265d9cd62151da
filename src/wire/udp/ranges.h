// A set of bytes of a stream: sorted ranges that neither overlap nor touch.
#pragma once

#include <stdint.h>

typedef struct UdpRange {
  uint64_t start;
  uint64_t end;  // first byte behind the range
} UdpRange;

/// A set of bytes. A zero-initialized one is empty.
typedef struct UdpRanges {
  UdpRange *items;
  uint32_t count;
  uint32_t capacity;
} UdpRanges;

/// Frees the memory; the set is empty and usable again.
void udp_ranges_deinit(UdpRanges *ranges);

/// Adds the bytes from `start` to before `end`; some of them may already be in the set.
void udp_ranges_add(UdpRanges *ranges, uint64_t start, uint64_t end);

/// Removes the bytes from `start` to before `end`; some of them may not be in the set.
void udp_ranges_remove(UdpRanges *ranges, uint64_t start, uint64_t end);
