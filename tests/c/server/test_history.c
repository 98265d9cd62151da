// The last hour of a server: rates between samples, and a fixed number of rows.
#include "server/dashboard/history.h"

#include <string.h>

#include "leaks.h"

static History history;

static void add(double at_s, double peers, double messages, const Histogram *lateness) {
  history_add(&history, &(HistorySample){.at_us = (uint64_t)(at_s * 1e6),
                                         .peers = peers,
                                         .messages = messages,
                                         .errors = messages / 10,
                                         .lateness = lateness});
}

static const float *newest(void) {
  return history.rows[(history.count - 1) % HISTORY_ROWS];
}

static void counters_become_rates(void **state) {
  (void)state;
  Histogram lateness = {0};
  history = (History){.count = 0};
  histogram_add(&lateness, 900000);
  add(10, 1, 1000, &lateness);
  assert_int_equal(history.count, 0);  // nothing to compare with
  histogram_add(&lateness, 5);
  add(14, 3, 1200, &lateness);
  assert_int_equal(history.count, 1);
  assert_true(newest()[HISTORY_PEERS] == 3);
  assert_true(newest()[HISTORY_MESSAGES] == 50);
  assert_true(newest()[HISTORY_ERRORS] == 20);
  // The time before the first sample does not count.
  assert_true(newest()[HISTORY_LATENESS] == 0.005F);
  add(16, 3, 1200, &lateness);
  assert_true(newest()[HISTORY_MESSAGES] == 0);
  assert_true(newest()[HISTORY_LATENESS] == 0);  // no new times
}

static void an_hour_is_kept(void **state) {
  (void)state;
  Histogram lateness = {0};
  Buf json = {0};
  history = (History){.count = 0};
  for (int i = 0; i <= HISTORY_ROWS + 5; i++) add(2 * i, i, 0, &lateness);
  history_put(&history, &json);
  buf_u8(&json, '\0');
  const char *rows = strstr((const char *)json.data, "\"rows\":[[6,");
  uint32_t count = 0;
  assert_non_null(rows);  // row 1 to 5 are gone
  for (const char *at = rows; (at = strstr(at, "[")) != NULL; at++) count++;
  assert_int_equal(count, HISTORY_ROWS + 1);
  assert_non_null(strstr(rows, "[1805,"));
  buf_deinit(&json);
}

static void without_rows_the_lists_are_empty(void **state) {
  (void)state;
  Buf json = {0};
  history = (History){.count = 0};
  history_put_row(&history, &json);
  history_put(&history, &json);
  buf_u8(&json, '\0');
  assert_non_null(strstr((const char *)json.data, "[]{\"step\":2,"));
  assert_non_null(strstr((const char *)json.data, "\"rows\":[]}"));
  buf_deinit(&json);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(counters_become_rates),
      TEST(an_hour_is_kept),
      TEST(without_rows_the_lists_are_empty),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
