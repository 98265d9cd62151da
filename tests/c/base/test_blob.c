// Shared bytes: references, and the total that they count in.
#include "base/blob.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static void the_last_reference_frees(void **state) {
  (void)state;
  size_t total = 0;
  Blob *blob = blob_new(5, &total);
  memcpy(blob->bytes, "hello", 5);
  assert_int_equal(total, 5);
  assert_ptr_equal(blob_ref(blob), blob);
  blob_unref(blob);
  assert_memory_equal(blob->bytes, "hello", 5);
  assert_int_equal(total, 5);
  blob_unref(blob);
  assert_int_equal(total, 0);
  assert_int_equal(mem_live(), 0);
}

static void an_empty_one_is_one_too(void **state) {
  (void)state;
  size_t total = 7;
  Blob *blob = blob_new(0, &total);
  assert_int_equal(total, 7);
  blob_unref(blob);
  assert_int_equal(mem_live(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_last_reference_frees),
      cmocka_unit_test(an_empty_one_is_one_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
