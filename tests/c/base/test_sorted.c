// Names in byte order.
#include "base/sorted.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "expect.h"

enum { NAMES = 500 };

static void names_are_in_byte_order(void **state) {
  (void)state;
  static const char *const ADDED[] = {"duel:2",   "a", "duel",  "duel:10",
                                      "\xc3\xa9", "B", "duel:1"};
  static const char *const ORDER[] = {"B",       "a",      "duel",    "duel:1",
                                      "duel:10", "duel:2", "\xc3\xa9"};
  Sorted sorted;
  sorted_init(&sorted);
  for (size_t i = 0; i < 7; i++)
    sorted_add(&sorted, ADDED[i], strlen(ADDED[i]), (void *)(uintptr_t)ADDED[i]);
  const SortedNode *node = sorted_after(&sorted, "", 0);
  for (size_t i = 0; i < 7; i++, node = node->next[0]) {
    assert_int_equal(node->size, strlen(ORDER[i]));
    assert_string_equal(node->value, ORDER[i]);
  }
  assert_null(node);
  assert_string_equal(sorted_from(&sorted, "duel", 4)->value, "duel");
  assert_string_equal(sorted_after(&sorted, "duel", 4)->value, "duel:1");
  assert_string_equal(sorted_from(&sorted, "duel!", 5)->value, "duel:1");
  assert_string_equal(sorted_after(&sorted, "duel!", 5)->value, "duel:1");
  assert_null(sorted_after(&sorted, "\xc3\xa9", 2));
  sorted_deinit(&sorted);
}

// Adds and removes random names, and compares with an array of flags.
static void a_storm_keeps_the_order(void **state) {
  (void)state;
  size_t live = mem_live();
  static char names[NAMES][12];
  bool is_in[NAMES] = {false};
  uint32_t random = 7;
  Sorted sorted;
  sorted_init(&sorted);
  for (int i = 0; i < NAMES; i++) snprintf(names[i], sizeof names[i], "%04d", i);
  for (int step = 0; step < 20000; step++) {
    random = random * 1664525 + 1013904223;
    uint32_t i = (random >> 8) % NAMES;
    if (is_in[i])
      sorted_remove(&sorted, names[i], 4);
    else
      sorted_add(&sorted, names[i], 4, names[i]);
    is_in[i] = !is_in[i];
    uint32_t next = (random >> 4) % NAMES, want = next + 1;
    while (want < NAMES && !is_in[want]) want++;
    const SortedNode *node = sorted_after(&sorted, names[next], 4);
    assert_true(want == NAMES ? node == NULL : node && node->value == names[want]);
  }
  const SortedNode *node = sorted.first[0];
  for (int i = 0; i < NAMES; i++) {
    if (!is_in[i]) continue;
    assert_ptr_equal(node->value, names[i]);
    node = node->next[0];
  }
  assert_null(node);
  sorted_deinit(&sorted);
  assert_int_equal(mem_live(), live);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_are_in_byte_order),
      cmocka_unit_test(a_storm_keeps_the_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
