// When a budget looks next.
#include "script/budget.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void quick_checks_are_looked_at_rarely(void **state) {
  (void)state;
  uint32_t count = 8;
  for (int i = 0; i < 20; i++) count = budget_count(count, 0, 0);
  assert_int_equal(count, 4096);
  assert_int_equal(budget_count(count, 5, 100), 4096);
}

static void slow_checks_are_looked_at_one_by_one(void **state) {
  (void)state;
  assert_int_equal(budget_count(4096, 100000, 0), 1);
  assert_int_equal(budget_count(1, 1000000, 0), 1);
  assert_int_equal(budget_count(1, 0, UINT64_MAX / 8192), 1);
}

static void the_distance_settles(void **state) {
  (void)state;
  uint32_t count = 8;
  for (int i = 0; i < 50; i++) count = budget_count(count, count / 10, 0);
  assert_in_range(count, 100, 400);  // 0.1 us each: 20 us are 200
}

static void large_things_are_looked_at_soon(void **state) {
  (void)state;
  assert_int_equal(budget_count(8, 0, 8 << 20), 1);
  uint32_t count = 8;
  for (int i = 0; i < 50; i++) count = budget_count(count, 0, count * 1024ull);
  assert_in_range(count, 32, 128);  // 1 KiB each: 64 KiB are 64
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quick_checks_are_looked_at_rarely),
      cmocka_unit_test(slow_checks_are_looked_at_one_by_one),
      cmocka_unit_test(the_distance_settles),
      cmocka_unit_test(large_things_are_looked_at_soon),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
