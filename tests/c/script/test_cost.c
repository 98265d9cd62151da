// Costs by handler: the percentile of the histogram, the limit of separate costs, and
// their order.
#include "script/cost.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static CostKey key_of(uintptr_t function, uintptr_t message) {
  return (CostKey){.function = (const void *)function,
                   .message = (const void *)message};
}

static void p99_is_at_most_an_eighth_too_high(void **state) {
  (void)state;
  for (uint64_t us = 1; us < 50000000; us = us * 3 / 2 + 1) {
    Cost cost = {0};
    for (int i = 0; i < 99; i++) cost_add(&cost, us);
    cost_add(&cost, us * 100);
    assert_true(cost_p99(&cost) >= us && cost_p99(&cost) <= us + us / 8);
    assert_true(cost.worst_us == us * 100 && cost.times.total_us == us * 199);
  }
}

static void p99_is_never_above_the_worst(void **state) {
  (void)state;
  Cost cost = {0};
  assert_int_equal(cost_p99(&cost), 0);
  cost_add(&cost, 1000);
  assert_int_equal(cost_p99(&cost), 1000);
  cost_add(&cost, UINT64_MAX / 4);
  assert_true(cost_p99(&cost) == UINT64_MAX / 4);
}

static void one_handler_is_one_cost(void **state) {
  (void)state;
  Costs costs = {0};
  bool is_new;
  CostKey a = key_of(16, 0), b = key_of(16, 32);
  Cost *cost = costs_find(&costs, &a, &is_new);
  assert_true(is_new);
  assert_ptr_not_equal(costs_find(&costs, &b, &is_new), cost);
  assert_true(is_new);
  assert_ptr_equal(costs_find(&costs, &a, &is_new), cost);
  assert_false(is_new);
  costs_clear(&costs);
  costs_find(&costs, &a, &is_new);
  assert_true(is_new);
  costs_clear(&costs);
}

static void messages_and_handlers_have_a_bound(void **state) {
  (void)state;
  Costs costs = {0};
  bool is_new;
  for (uintptr_t i = 1; i <= 1000; i++) {
    CostKey key = key_of(16, i);
    cost_add(costs_find(&costs, &key, &is_new), 1);
  }
  assert_int_equal(costs.count, COST_NAMES + 1);
  for (uintptr_t i = 1; i <= 1000; i++) {
    CostKey key = key_of(1000 + i, 0);
    cost_add(costs_find(&costs, &key, &is_new), 1);
  }
  assert_int_equal(costs.count, COST_HANDLERS);
  uint64_t calls = 0;
  for (uint32_t i = 0; i < costs.count; i++) calls += costs.slots[i]->times.count;
  assert_int_equal(calls, 2000);
  costs_clear(&costs);
}

static void costs_of_a_name_have_one_sum(void **state) {
  (void)state;
  Costs costs = {0};
  CostSums sums = {0};
  labels_init(&sums.names);
  for (int version = 1; version <= 2; version++) {
    for (uintptr_t i = 1; i <= 4; i++) {
      bool is_new;
      CostKey key = key_of(i, 0);
      Cost *cost = costs_find(&costs, &key, &is_new);
      cost->name[0] = i % 2 ? 'a' : 'b';
      cost_add(cost, i * 10);
      cost->failures = i == 4;
    }
    costs_sum(&costs, &sums);
    costs_clear(&costs);
  }
  assert_int_equal(sums.count, 2);
  assert_string_equal(labels_text(&sums.names, 0), "a");
  assert_int_equal(sums.items[0].times.count, 4);
  assert_int_equal(sums.items[0].times.total_us, 2 * (10 + 30));
  assert_int_equal(sums.items[0].failures, 0);
  assert_int_equal(sums.items[1].times.total_us, 2 * (20 + 40));
  assert_int_equal(sums.items[1].failures, 2);
  cost_sums_deinit(&sums);
}

static void the_slowest_come_first(void **state) {
  (void)state;
  Costs costs = {0};
  bool is_new;
  const uint64_t times[] = {5, 90, 20, 70, 90, 1, 30};
  for (uintptr_t i = 0; i < 7; i++) {
    CostKey key = key_of(i + 1, 0);
    cost_add(costs_find(&costs, &key, &is_new), times[i]);
  }
  const Cost *slowest[10];
  const uint64_t in_order[] = {90, 90, 70, 30, 20, 5, 1};
  for (size_t size = 0; size <= 10; size++) {
    size_t count = costs_slowest(&costs, slowest, size);
    assert_int_equal(count, size < 7 ? size : 7);
    for (size_t i = 0; i < count; i++)
      assert_int_equal(slowest[i]->worst_us, in_order[i]);
  }
  costs_clear(&costs);
}

static void the_slowest_are_told_once_a_minute(void **state) {
  (void)state;
  enum { SECOND = 1000000, START = 12345 };
  Costs costs = {0};
  assert_int_equal(costs_due(&costs, START, false), COSTS_NOT_DUE);
  assert_int_equal(costs_due(&costs, START + 59 * SECOND, false), COSTS_NOT_DUE);
  assert_int_equal(costs_due(&costs, START + 60 * SECOND, false), COSTS_DUE);
  assert_int_equal(costs_due(&costs, START + 61 * SECOND, true), COSTS_NOT_DUE);
  assert_int_equal(costs_due(&costs, START + 119 * SECOND, false), COSTS_NOT_DUE);
  assert_int_equal(costs_due(&costs, START + 120 * SECOND, false), COSTS_DUE_SLOW);
  assert_int_equal(costs_due(&costs, START + 999 * SECOND, true), COSTS_DUE_SLOW);
  assert_int_equal(costs_due(&costs, START + 999 * SECOND, false), COSTS_NOT_DUE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(p99_is_at_most_an_eighth_too_high),
      cmocka_unit_test(p99_is_never_above_the_worst),
      cmocka_unit_test(one_handler_is_one_cost),
      cmocka_unit_test(messages_and_handlers_have_a_bound),
      cmocka_unit_test(costs_of_a_name_have_one_sum),
      cmocka_unit_test(the_slowest_come_first),
      cmocka_unit_test(the_slowest_are_told_once_a_minute),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
