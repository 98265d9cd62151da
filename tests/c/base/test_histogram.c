// Histograms of times: their buckets, sums and percentiles.
#include "base/histogram.h"

#include "leaks.h"

static void a_time_is_below_the_powers_of_two_that_are_greater(void **state) {
  (void)state;
  for (uint64_t us = 0; us < 100000000; us = us * 5 / 4 + 1) {
    Histogram histogram = {0};
    histogram_add(&histogram, us);
    for (unsigned shift = 3; shift <= 26; shift++)
      assert_int_equal(histogram_below(&histogram, shift), us < (uint64_t)1 << shift);
  }
}

static void a_histogram_counts_and_sums(void **state) {
  (void)state;
  Histogram one = {0}, other = {0};
  for (int i = 0; i < 10; i++) histogram_add(&one, 5);
  histogram_add(&other, 1000);
  histogram_add(&other, UINT64_MAX / 4);
  histogram_merge(&one, &other);
  assert_int_equal(one.count, 12);
  assert_true(one.total_us == 10 * 5 + 1000 + UINT64_MAX / 4);
  assert_int_equal(histogram_below(&one, 3), 10);
  assert_int_equal(histogram_below(&one, 10), 11);
  assert_int_equal(histogram_below(&one, 26), 11);
}

static void p99_is_at_most_an_eighth_too_high(void **state) {
  (void)state;
  for (uint64_t us = 1; us < 50000000; us = us * 3 / 2 + 1) {
    Histogram histogram = {0};
    for (int i = 0; i < 99; i++) histogram_add(&histogram, us);
    histogram_add(&histogram, us * 100);
    assert_true(histogram_p99(&histogram) >= us);
    assert_true(histogram_p99(&histogram) <= us + us / 8);
  }
}

static void the_last_bucket_has_no_end(void **state) {
  (void)state;
  Histogram histogram = {0};
  assert_true(histogram_p99(&histogram) == UINT64_MAX);
  histogram_add(&histogram, UINT64_MAX / 4);
  assert_true(histogram_p99(&histogram) == UINT64_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_time_is_below_the_powers_of_two_that_are_greater),
      TEST(a_histogram_counts_and_sums),
      TEST(p99_is_at_most_an_eighth_too_high),
      TEST(the_last_bucket_has_no_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
