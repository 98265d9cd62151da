// FNV-1a against the values that its authors publish.
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static uint64_t hash_of(const char *text) {
  return hash_add(HASH_START, text, strlen(text));
}

static void test_published_values(void **state) {
  (void)state;
  assert_int_equal(hash_of(""), 0xcbf29ce484222325u);
  assert_int_equal(hash_of("a"), 0xaf63dc4c8601ec8cu);
  assert_int_equal(hash_of("foobar"), 0x85944171f73967e8u);
}

static void test_piece_by_piece(void **state) {
  (void)state;
  uint64_t hash = hash_add(HASH_START, "foo", 3);
  assert_int_equal(hash_add(hash, "bar", 3), hash_of("foobar"));
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_published_values),
      cmocka_unit_test(test_piece_by_piece),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
