// Ranges, against a map of bits.
#include "wire/udp/ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

enum { BYTES = 200 };

static void expect(const UdpRanges *ranges, const bool *map) {
  bool seen[BYTES] = {false};
  for (uint32_t i = 0; i < ranges->count; i++) {
    const UdpRange *range = &ranges->items[i];
    assert_true(range->start < range->end);
    if (i > 0) assert_true(ranges->items[i - 1].end < range->start);
    for (uint64_t at = range->start; at < range->end; at++) seen[at] = true;
  }
  assert_memory_equal(seen, map, sizeof seen);
}

static void ranges_are_a_set(void **state) {
  (void)state;
  UdpRanges ranges = {0};
  bool map[BYTES] = {false};
  uint32_t seed = 1;
  for (int i = 0; i < 20000; i++) {
    seed = seed * 1664525 + 1013904223;
    uint32_t start = (seed >> 8) % BYTES, end = start + (seed >> 24) % 20;
    if (end > BYTES) end = BYTES;
    bool is_added = seed >> 16 & 1;
    if (is_added)
      udp_ranges_add(&ranges, start, end);
    else
      udp_ranges_remove(&ranges, start, end);
    for (uint32_t at = start; at < end; at++) map[at] = is_added;
    expect(&ranges, map);
  }
  udp_ranges_deinit(&ranges);
  assert_int_equal(mem_live(), 0);
}

static void ranges_that_touch_are_one(void **state) {
  (void)state;
  UdpRanges ranges = {0};
  udp_ranges_add(&ranges, 0, 10);
  udp_ranges_add(&ranges, 20, 30);
  assert_int_equal(ranges.count, 2);
  udp_ranges_add(&ranges, 10, 20);
  assert_int_equal(ranges.count, 1);
  udp_ranges_remove(&ranges, 0, UINT64_MAX);
  assert_int_equal(ranges.count, 0);
  udp_ranges_deinit(&ranges);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranges_are_a_set),
      cmocka_unit_test(ranges_that_touch_are_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
