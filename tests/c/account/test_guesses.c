// At most five failures a minute are allowed, for a name and for an address. Attempts
// that have not ended yet count as failures, and a success does not count.
#include "account/guesses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/mem.h"

static Text address(uint32_t number) {
  static char text[32];
  snprintf(text, sizeof text, "10.0.%u.%u", number / 256, number % 256);
  return text_from(text);
}

static void test_an_address_waits_after_five(void **state) {
  (void)state;
  Guesses *guesses = guesses_new();
  char name[16];
  for (uint32_t i = 0; i < GUESSES_MAX; i++) {
    snprintf(name, sizeof name, "name%u", i);
    assert_int_equal(guesses_begin(guesses, text_from(name), address(1), i * 1000), 0);
  }
  assert_int_equal(guesses_begin(guesses, text_from("x"), address(1), 5000), 55);
  assert_int_equal(guesses_begin(guesses, text_from("x"), address(2), 5000), 0);
  assert_int_equal(guesses_begin(guesses, text_from("x"), address(1), 59999), 1);
  assert_int_equal(guesses_begin(guesses, text_from("x"), address(1), 60000), 0);
  assert_int_equal(guesses_begin(guesses, text_from("x"), address(1), 60000), 1);
  guesses_free(guesses);
}

static void test_a_name_waits_whatever_the_address(void **state) {
  (void)state;
  Guesses *guesses = guesses_new();
  for (uint32_t i = 0; i < GUESSES_MAX; i++)
    assert_int_equal(guesses_begin(guesses, text_from("ada"), address(i), 0), 0);
  assert_int_equal(guesses_begin(guesses, text_from("ada"), address(99), 0), 60);
  assert_int_equal(guesses_begin(guesses, text_from("bob"), address(99), 0), 0);
  guesses_free(guesses);
}

static void test_a_success_does_not_count(void **state) {
  (void)state;
  Guesses *guesses = guesses_new();
  for (uint64_t i = 0; i < 100; i++) {
    assert_int_equal(guesses_begin(guesses, text_from("ada"), address(1), i), 0);
    guesses_forgive(guesses, text_from("ada"), address(1), i);
  }
  // A success with the attacker's own account does not clear its failures with others.
  for (uint64_t i = 0; i < GUESSES_MAX - 1; i++)
    assert_int_equal(guesses_begin(guesses, text_from("bob"), address(1), i), 0);
  assert_int_equal(guesses_begin(guesses, text_from("ada"), address(1), 9), 0);
  guesses_forgive(guesses, text_from("ada"), address(1), 9);
  assert_int_equal(guesses_begin(guesses, text_from("bob"), address(1), 10), 0);
  assert_true(guesses_begin(guesses, text_from("bob"), address(1), 11) > 0);
  guesses_free(guesses);
}

static void test_an_empty_name_counts_for_the_address_alone(void **state) {
  (void)state;
  Guesses *guesses = guesses_new();
  for (uint32_t i = 0; i < 20; i++)
    assert_int_equal(guesses_begin(guesses, (Text){0}, address(i), 0), 0);
  guesses_free(guesses);
}

static void test_a_flood_of_names_takes_no_memory(void **state) {
  (void)state;
  Guesses *guesses = guesses_new();
  size_t live = mem_live();
  char name[16];
  for (uint32_t i = 0; i < 200000; i++) {
    snprintf(name, sizeof name, "name%u", i);
    guesses_begin(guesses, text_from(name), address(i % 60000), i);
  }
  assert_int_equal(mem_live(), live);
  guesses_free(guesses);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_address_waits_after_five),
      cmocka_unit_test(test_a_name_waits_whatever_the_address),
      cmocka_unit_test(test_a_success_does_not_count),
      cmocka_unit_test(test_an_empty_name_counts_for_the_address_alone),
      cmocka_unit_test(test_a_flood_of_names_takes_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
