// Values of labels: their numbers and their bound.
#include "base/labels.h"

#include <stdio.h>
#include <string.h>

#include "leaks.h"

static uint32_t number(Labels *labels, const char *text) {
  return labels_number(labels, text, strlen(text));
}

static void values_have_numbers_in_the_order_in_which_they_come(void **state) {
  (void)state;
  Labels labels;
  labels_init(&labels);
  assert_int_equal(number(&labels, "on_join"), 0);
  assert_int_equal(number(&labels, ""), 1);
  assert_int_equal(number(&labels, "on_join"), 0);
  assert_string_equal(labels_text(&labels, 0), "on_join");
  assert_string_equal(labels_text(&labels, 1), "");
  labels_deinit(&labels);
}

static void further_values_than_a_thousand_are_one(void **state) {
  (void)state;
  Labels labels;
  char text[16];
  labels_init(&labels);
  for (uint32_t i = 0; i < 3000; i++) {
    snprintf(text, sizeof text, "name %u", i);
    assert_int_equal(number(&labels, text), i < LABELS_MAX ? i : LABELS_MAX);
  }
  assert_int_equal(labels.count, 1000);
  assert_string_equal(labels_text(&labels, 999), "name 999");
  assert_string_equal(labels_text(&labels, LABELS_MAX), "other");
  assert_int_equal(number(&labels, "name 7"), 7);
  labels_deinit(&labels);
}

static void a_value_that_is_called_other_is_among_these(void **state) {
  (void)state;
  Labels labels;
  labels_init(&labels);
  assert_int_equal(number(&labels, "other"), LABELS_MAX);
  assert_int_equal(number(&labels, "others"), 0);
  labels_deinit(&labels);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(values_have_numbers_in_the_order_in_which_they_come),
      TEST(further_values_than_a_thousand_are_one),
      TEST(a_value_that_is_called_other_is_among_these),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
