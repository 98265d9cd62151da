// A set of bytes of a stream, as ranges that neither overlap nor touch, in order.
#pragma once

#include <stdint.h>

typedef struct UdpRange {
  uint64_t start;
  uint64_t end;  // the first byte after it
} UdpRange;

/// Zero-initialised is empty.
typedef struct UdpRanges {
  UdpRange *items;
  uint32_t count;
  uint32_t capacity;
} UdpRanges;

/// Frees the memory; the set is empty and usable again.
void udp_ranges_deinit(UdpRanges *ranges);

/// Adds the bytes from `start` to before `end`; the set may have some of them.
void udp_ranges_add(UdpRanges *ranges, uint64_t start, uint64_t end);

/// Removes the bytes from `start` to before `end`, as far as the set has them.
void udp_ranges_remove(UdpRanges *ranges, uint64_t start, uint64_t end);
