// SipHash-2-4 against the values that its authors publish.
#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_published_values(void **state) {
  (void)state;
  const uint64_t key[2] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  uint8_t bytes[15];
  for (uint8_t i = 0; i < sizeof bytes; i++) bytes[i] = i;
  assert_true(hash_bytes(key, bytes, 0) == 0x726fdb47dd0e0e31);
  assert_true(hash_bytes(key, bytes, 1) == 0x74f839c593dc67fd);
  assert_true(hash_bytes(key, bytes, sizeof bytes) == 0xa129ca6149be45e5);
}

static void test_keys_make_different_hashes(void **state) {
  (void)state;
  const uint64_t one[2] = {1, 0}, other[2] = {0, 1}, zeros[2] = {0};
  assert_true(hash_bytes(one, "foo", 3) != hash_bytes(other, "foo", 3));
  assert_true(hash_bytes(NULL, "foo", 3) == hash_bytes(zeros, "foo", 3));
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_published_values),
      cmocka_unit_test(test_keys_make_different_hashes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
