// At most five failures a minute are allowed, for a name and for an address.
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

static uint32_t left(Guesses *guesses, const char *name, uint32_t number,
                     uint64_t now_ms) {
  uint32_t wait_s;
  return guesses_left(guesses, text_from(name), address(number), now_ms, &wait_s);
}

static uint32_t wait_of(Guesses *guesses, const char *name, uint32_t number,
                        uint64_t now_ms) {
  uint32_t wait_s;
  guesses_left(guesses, text_from(name), address(number), now_ms, &wait_s);
  return wait_s;
}

static void test_an_address_waits_after_five(void **state) {
  (void)state;
  Guesses *guesses = guesses_new();
  char name[16];
  for (uint32_t i = 0; i < GUESSES_MAX; i++) {
    assert_int_equal(left(guesses, "x", 1, i * 1000), GUESSES_MAX - i);
    snprintf(name, sizeof name, "name%u", i);
    guesses_fail(guesses, text_from(name), address(1), i * 1000);
  }
  assert_int_equal(left(guesses, "x", 1, 5000), 0);
  assert_int_equal(wait_of(guesses, "x", 1, 5000), 55);
  assert_int_equal(wait_of(guesses, "x", 2, 5000), 0);
  assert_int_equal(wait_of(guesses, "x", 1, 59999), 1);
  assert_int_equal(left(guesses, "x", 1, 60000), 1);
  guesses_fail(guesses, text_from("x"), address(1), 60000);
  assert_int_equal(wait_of(guesses, "x", 1, 60000), 1);
  assert_int_equal(left(guesses, "x", 1, 64000), 4);
  guesses_free(guesses);
}

static void test_a_name_waits_whatever_the_address(void **state) {
  (void)state;
  Guesses *guesses = guesses_new();
  for (uint32_t i = 0; i < GUESSES_MAX; i++)
    guesses_fail(guesses, text_from("ada"), address(i), 0);
  assert_int_equal(left(guesses, "ada", 99, 0), 0);
  assert_int_equal(wait_of(guesses, "ada", 99, 0), 60);
  assert_int_equal(left(guesses, "bob", 99, 0), GUESSES_MAX);
  assert_int_equal(left(guesses, "bob", 0, 0), GUESSES_MAX - 1);
  guesses_free(guesses);
}

static void test_the_longer_wait_counts(void **state) {
  (void)state;
  Guesses *guesses = guesses_new();
  for (uint32_t i = 0; i < GUESSES_MAX; i++) {
    guesses_fail(guesses, text_from("ada"), address(i + 2), 20000);
    guesses_fail(guesses, (Text){0}, address(1), 0);
  }
  assert_int_equal(wait_of(guesses, "ada", 1, 20000), 60);
  assert_int_equal(wait_of(guesses, "bob", 1, 20000), 40);
  guesses_free(guesses);
}

static void test_an_empty_name_counts_for_the_address_alone(void **state) {
  (void)state;
  Guesses *guesses = guesses_new();
  for (uint32_t i = 0; i < 20; i++) guesses_fail(guesses, (Text){0}, address(i), 0);
  assert_int_equal(left(guesses, "", 0, 0), GUESSES_MAX - 1);
  assert_int_equal(left(guesses, "", 99, 0), GUESSES_MAX);
  guesses_free(guesses);
}

static void test_a_flood_of_names_takes_no_memory(void **state) {
  (void)state;
  Guesses *guesses = guesses_new();
  size_t live = mem_live();
  char name[16];
  for (uint32_t i = 0; i < 200000; i++) {
    snprintf(name, sizeof name, "name%u", i);
    guesses_fail(guesses, text_from(name), address(i % 60000), i);
  }
  assert_int_equal(mem_live(), live);
  guesses_free(guesses);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_an_address_waits_after_five),
      cmocka_unit_test(test_a_name_waits_whatever_the_address),
      cmocka_unit_test(test_the_longer_wait_counts),
      cmocka_unit_test(test_an_empty_name_counts_for_the_address_alone),
      cmocka_unit_test(test_a_flood_of_names_takes_no_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
