// Arrays grow by factors and keep their elements. Where asked, new elements are zero.
#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/mem.h"

static void test_doubles(void **state) {
  (void)state;
  uint16_t *items = NULL;
  uint32_t count = 0, capacity = 0;
  for (uint16_t i = 0; i < 100; i++) {
    if (count == capacity) capacity = array_grow(&items, capacity, sizeof *items, 3);
    items[count++] = i;
  }
  assert_int_equal(capacity, 192);
  for (uint16_t i = 0; i < 100; i++) assert_int_equal(items[i], i);
  mem_free(items);
  assert_int_equal(mem_live(), 0);
}

static void test_reaches_an_index(void **state) {
  (void)state;
  uint64_t *items = NULL;
  uint32_t capacity = array_reach(&items, 0, sizeof *items, 5);
  for (uint32_t i = 0; i < capacity; i++) assert_int_equal(items[i], 0);
  items[5] = 7;
  assert_int_equal(array_reach(&items, capacity, sizeof *items, capacity - 1),
                   capacity);
  capacity = array_reach(&items, capacity, sizeof *items, 1000);
  assert_int_equal(capacity, 1093);
  for (uint32_t i = 0; i < capacity; i++) assert_int_equal(items[i], i == 5 ? 7 : 0);
  mem_free(items);
  assert_int_equal(mem_live(), 0);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_doubles),
      cmocka_unit_test(test_reaches_an_index),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
