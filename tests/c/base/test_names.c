// The map of names, compared with a plain array under random operations; its hash,
// compared with the reference.
#include "base/names.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "leaks.h"

static uint32_t find(const Names *names, const char *text) {
  return names_find(names, text, strlen(text));
}

static void an_empty_map_finds_nothing(void **state) {
  (void)state;
  Names names;
  names_init(&names);
  assert_int_equal(find(&names, "lobby"), 0);
  names_remove(&names, "lobby", 5);
  assert_int_equal(names.count, 0);
  names_deinit(&names);
}

static void names_are_found_replaced_and_removed(void **state) {
  (void)state;
  Names names;
  names_init(&names);
  names_set(&names, "lobby", 5, 1);
  names_set(&names, "duel", 4, 2);
  assert_int_equal(find(&names, "lobby"), 1);
  assert_int_equal(find(&names, "duel"), 2);
  assert_int_equal(find(&names, "lob"), 0);
  assert_int_equal(find(&names, "Lobby"), 0);
  names_set(&names, "lobby", 5, 9);
  assert_int_equal(find(&names, "lobby"), 9);
  assert_int_equal(names.count, 2);
  names_remove(&names, "lobby", 5);
  assert_int_equal(find(&names, "lobby"), 0);
  assert_int_equal(find(&names, "duel"), 2);
  assert_int_equal(names.count, 1);
  names_deinit(&names);
}

static void names_may_hold_any_bytes_or_none(void **state) {
  (void)state;
  Names names;
  names_init(&names);
  names_set(&names, NULL, 0, 1);
  names_set(&names, "a\0b", 3, 2);
  names_set(&names, "a\0c", 3, 3);
  names_set(&names, "a", 1, 4);
  assert_int_equal(names_find(&names, "", 0), 1);
  assert_int_equal(names_find(&names, "a\0b", 3), 2);
  assert_int_equal(names_find(&names, "a\0c", 3), 3);
  assert_int_equal(names_find(&names, "a", 1), 4);
  names_remove(&names, NULL, 0);
  assert_int_equal(names_find(&names, NULL, 0), 0);
  names_deinit(&names);
}

static void the_text_is_copied(void **state) {
  (void)state;
  Names names;
  names_init(&names);
  char text[] = "lobby";
  names_set(&names, text, 5, 1);
  memset(text, 'x', 5);
  assert_int_equal(find(&names, "lobby"), 1);
  names_deinit(&names);
}

static void a_map_agrees_with_an_array_under_random_operations(void **state) {
  (void)state;
  enum { KEYS = 700 };
  static uint32_t values[KEYS];
  Names names;
  names_init(&names);
  srand(1);
  for (int step = 1; step <= 200000; step++) {
    // Waves: mostly additions, then mostly removals.
    bool adds = rand() % 10 < (step / 20000 % 2 ? 2 : 8);
    char text[16];
    int i = rand() % KEYS;
    int size = snprintf(text, sizeof text, "room-%d", i);
    values[i] = adds ? (uint32_t)step : 0;
    if (adds) {
      names_set(&names, text, (size_t)size, (uint32_t)step);
    } else {
      names_remove(&names, text, (size_t)size);
    }
    if (step % 500) continue;
    uint32_t expected = 0;
    for (int k = 0; k < KEYS; k++) {
      size = snprintf(text, sizeof text, "room-%d", k);
      assert_int_equal(names_find(&names, text, (size_t)size), values[k]);
      expected += values[k] != 0;
    }
    assert_int_equal(names.count, expected);
  }
  names_deinit(&names);
}

static void a_map_that_churns_does_not_grow(void **state) {
  (void)state;
  Names names;
  names_init(&names);
  char text[16];
  for (int i = 0; i < 10000; i++) {
    int size = snprintf(text, sizeof text, "%d", i);
    names_set(&names, text, (size_t)size, 1);
    if (i < 8) continue;
    size = snprintf(text, sizeof text, "%d", i - 8);
    names_remove(&names, text, (size_t)size);
  }
  assert_int_equal(names.count, 8);
  assert_true(names.capacity <= 16);
  names_deinit(&names);
}

static void removal_keeps_colliding_names_within_reach(void **state) {
  (void)state;
  // Names whose home is one of the last two places, so that runs wrap around the end.
  Names names;
  names_init(&names);
  char texts[8][16];
  int found = 0;
  for (int i = 0; found < 8; i++) {
    int size = snprintf(texts[found], sizeof texts[found], "%d", i);
    uint64_t hash = hash_bytes(names.key, texts[found], (size_t)size);
    if ((hash & 15) >= 14) found++;
  }
  for (int removed = 0; removed < 8; removed++) {
    for (int i = 0; i < 8; i++)
      names_set(&names, texts[i], strlen(texts[i]), (uint32_t)i + 1);
    assert_int_equal(names.capacity, 16);
    names_remove(&names, texts[removed], strlen(texts[removed]));
    for (int i = 0; i < 8; i++)
      assert_int_equal(find(&names, texts[i]), i == removed ? 0 : i + 1);
  }
  names_deinit(&names);
}

static void every_map_has_its_own_key(void **state) {
  (void)state;
  Names one, other;
  names_init(&one);
  names_init(&other);
  assert_memory_not_equal(one.key, other.key, sizeof one.key);
  names_deinit(&one);
  names_deinit(&other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(an_empty_map_finds_nothing),
      TEST(names_are_found_replaced_and_removed),
      TEST(names_may_hold_any_bytes_or_none),
      TEST(the_text_is_copied),
      TEST(a_map_agrees_with_an_array_under_random_operations),
      TEST(a_map_that_churns_does_not_grow),
      TEST(removal_keeps_colliding_names_within_reach),
      TEST(every_map_has_its_own_key),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
