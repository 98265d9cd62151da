// Randomness; all that can be told is that it is there.
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void two_draws_differ(void **state) {
  (void)state;
  uint8_t a[32] = {0}, b[32] = {0}, zeros[32] = {0};
  random_bytes(a, sizeof a);
  random_bytes(b, sizeof b);
  assert_memory_not_equal(a, b, sizeof a);
  assert_memory_not_equal(a, zeros, sizeof a);
}

static void only_the_bytes_asked_for_are_written(void **state) {
  (void)state;
  uint8_t bytes[16];
  memset(bytes, 0xaa, sizeof bytes);
  random_bytes(bytes + 4, 8);
  random_bytes(bytes, 0);
  assert_memory_equal(bytes, "\xaa\xaa\xaa\xaa", 4);
  assert_memory_equal(bytes + 12, "\xaa\xaa\xaa\xaa", 4);
}

static void a_long_draw_is_filled_to_the_end(void **state) {
  (void)state;
  static uint8_t bytes[100000], zeros[32];
  random_bytes(bytes, sizeof bytes);
  assert_memory_not_equal(bytes + sizeof bytes - 32, zeros, 32);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_draws_differ),
      cmocka_unit_test(only_the_bytes_asked_for_are_written),
      cmocka_unit_test(a_long_draw_is_filled_to_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
