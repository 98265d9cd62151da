// Generation-tagged ids.
#include "base/slots.h"

#include "leaks.h"

static int a, b, c;

static void the_first_ids_are_1_2_3(void **state) {
  (void)state;
  Slots slots = {0};
  assert_int_equal(slots_add(&slots, &a), 1);
  assert_int_equal(slots_add(&slots, &b), 2);
  assert_int_equal(slots_add(&slots, &c), 3);
  assert_ptr_equal(slots_find(&slots, 2), &b);
  assert_int_equal(slots.count, 3);
  slots_deinit(&slots);
}

static void ids_that_never_were_find_nothing(void **state) {
  (void)state;
  Slots slots = {0};
  assert_null(slots_find(&slots, 0));
  assert_null(slots_find(&slots, 1));
  slots_add(&slots, &a);
  assert_null(slots_find(&slots, 0));
  assert_null(slots_find(&slots, 2));
  assert_null(slots_find(&slots, 1u << SLOTS_INDEX_BITS));
  assert_null(slots_find(&slots, (1u << SLOTS_INDEX_BITS) + 1));
  assert_null(slots_find(&slots, UINT32_MAX));
  slots_deinit(&slots);
}

static void a_removed_id_finds_nothing(void **state) {
  (void)state;
  Slots slots = {0};
  uint32_t id = slots_add(&slots, &a);
  slots_remove(&slots, id);
  assert_null(slots_find(&slots, id));
  // The next id of the slot is unknown, too.
  assert_null(slots_find(&slots, id + (1u << SLOTS_INDEX_BITS)));
  assert_int_equal(slots.count, 0);
  slots_deinit(&slots);
}

static void stale_ids_do_not_find_the_successor(void **state) {
  (void)state;
  Slots slots = {0};
  static uint32_t ids[5000];
  for (int i = 0; i < 5000; i++) ids[i] = slots_add(&slots, &a);
  for (int i = 0; i < 5000; i++) slots_remove(&slots, ids[i]);
  for (int i = 0; i < 5000; i++) {
    uint32_t id = slots_add(&slots, &b);
    assert_ptr_equal(slots_find(&slots, id), &b);
  }
  for (int i = 0; i < 5000; i++) assert_null(slots_find(&slots, ids[i]));
  slots_deinit(&slots);
}

static void a_freed_slot_waits_until_many_others_are_free(void **state) {
  (void)state;
  Slots slots = {0};
  uint32_t first = slots_add(&slots, &a);
  slots_remove(&slots, first);
  uint32_t uses = 0;
  for (uint32_t id = 0; id != first + (1u << SLOTS_INDEX_BITS); uses++) {
    id = slots_add(&slots, &a);
    slots_remove(&slots, id);
  }
  assert_true(uses > 1000);
  assert_true(slots.size < 2000);  // one user does not use up the slots
  slots_deinit(&slots);
}

static void the_generation_wraps_and_the_index_stays(void **state) {
  (void)state;
  Slots slots = {0};
  uint32_t last = 0;
  uint32_t seen_last_generation = 0;
  for (uint32_t i = 0; i < 1100 * 4096 + 5000; i++) {
    last = slots_add(&slots, &a);
    assert_true((last & SLOTS_MAX) != 0);
    if (last >> SLOTS_INDEX_BITS == 4095) seen_last_generation++;
    assert_ptr_equal(slots_find(&slots, last), &a);
    slots_remove(&slots, last);
    if (slots_find(&slots, last)) fail();
  }
  assert_true(seen_last_generation > 0);
  assert_true(last >> SLOTS_INDEX_BITS < 4095);
  slots_deinit(&slots);
}

static void there_is_an_end_and_removal_makes_room_again(void **state) {
  (void)state;
  Slots slots = {0};
  for (uint32_t i = 1; i <= SLOTS_MAX; i++)
    if (slots_add(&slots, &a) != i) fail();
  assert_int_equal(slots_add(&slots, &b), 0);
  slots_remove(&slots, 77);
  assert_int_equal(slots_add(&slots, &b), 77 + (1u << SLOTS_INDEX_BITS));
  assert_int_equal(slots_add(&slots, &b), 0);
  slots_deinit(&slots);
}

static void next_visits_every_value_once(void **state) {
  (void)state;
  Slots slots = {0};
  uint32_t cursor = 0;
  assert_null(slots_next(&slots, &cursor));
  slots_add(&slots, &a);
  uint32_t middle = slots_add(&slots, &b);
  slots_add(&slots, &c);
  slots_remove(&slots, middle);
  assert_ptr_equal(slots_next(&slots, &cursor), &a);
  assert_ptr_equal(slots_next(&slots, &cursor), &c);
  assert_null(slots_next(&slots, &cursor));
  assert_null(slots_next(&slots, &cursor));
  slots_deinit(&slots);
}

static void the_value_just_visited_may_be_removed(void **state) {
  (void)state;
  Slots slots = {0};
  for (int i = 0; i < 100; i++) slots_add(&slots, &a);
  uint32_t cursor = 0, visits = 0;
  while (slots_next(&slots, &cursor)) {
    slots_remove(&slots, cursor);
    visits++;
  }
  assert_int_equal(visits, 100);
  assert_int_equal(slots.count, 0);
  slots_deinit(&slots);
}

static void an_id_of_another_process_can_be_taken(void **state) {
  (void)state;
  Slots slots = {0};
  int one, two, three;
  uint32_t id = 5 + (3u << SLOTS_INDEX_BITS);
  assert_true(slots_add_at(&slots, id, &one));
  assert_ptr_equal(slots_find(&slots, id), &one);
  assert_null(slots_find(&slots, 5));
  assert_false(slots_add_at(&slots, 5, &two));
  assert_false(slots_add_at(&slots, 0, &two));
  assert_true(slots_add_at(&slots, 2, &two));
  assert_int_equal(slots.count, 2);
  uint32_t next = slots_add(&slots, &three);
  assert_int_equal(next, 6);
  slots_remove(&slots, id);
  assert_null(slots_find(&slots, id));
  assert_true(slots_add_at(&slots, id, &one));
  // All free slots can still be used.
  slots_remove(&slots, id);
  slots_remove(&slots, 2);
  slots_remove(&slots, next);
  for (uint32_t i = 0; i < 5000; i++) slots_remove(&slots, slots_add(&slots, &one));
  assert_int_equal(slots.count, 0);
  slots_deinit(&slots);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_id_of_another_process_can_be_taken),
      TEST(the_first_ids_are_1_2_3),
      TEST(ids_that_never_were_find_nothing),
      TEST(a_removed_id_finds_nothing),
      TEST(stale_ids_do_not_find_the_successor),
      TEST(a_freed_slot_waits_until_many_others_are_free),
      TEST(the_generation_wraps_and_the_index_stays),
      TEST(there_is_an_end_and_removal_makes_room_again),
      TEST(next_visits_every_value_once),
      TEST(the_value_just_visited_may_be_removed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
