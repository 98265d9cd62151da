// The numbers of channels: those that the game declares, and those that the script chooses.
#include "base/err.h"
#include "world.h"

static uint16_t open_within(World *world, const char *name, uint16_t first,
                            uint16_t last) {
  int err;
  return relay_channel(world->relay, text_from(name), first, last, &err);
}

static int fault_of(World *world, const char *name, uint16_t first, uint16_t last) {
  int err;
  assert_int_equal(relay_channel(world->relay, text_from(name), first, last, &err), 0);
  return err;
}

static void numbers_that_are_declared_go_to_nobody_else(void **state) {
  World *world = *state;
  script(world, 0, NULL);
  relay_channel_spans_begin(world->relay);
  relay_channel_span(world->relay, text_from("ide"), 1000, 1001);
  relay_channel_span(world->relay, text_from("physics"), 300, 300);
  assert_int_equal(open_within(world, "chat", 0, 0), 1002);
  assert_int_equal(open_within(world, "idea", 0, 0), 1003);
  assert_int_equal(open_within(world, "ide:lint", 0, 0), 1000);
  assert_int_equal(open_within(world, "physics", 0, 0), 300);
  assert_int_equal(open_within(world, "ide", 0, 0), 1001);
  assert_int_equal(fault_of(world, "ide:more", 0, 0), ERR_FULL);
  assert_int_equal(open_within(world, "ide", 0, 0), 1001);
}

static void the_script_chooses_a_number(void **state) {
  World *world = *state;
  Text name;
  script(world, 0, NULL);
  assert_int_equal(open_within(world, "a", 5, 5), 5);
  assert_int_equal(open_within(world, "b", 1200, 1201), 1200);
  assert_int_equal(open_within(world, "c", 1200, 1200), 1200);  // nobody serves b yet
  assert_true(relay_channel_name(world->relay, 1200, &name));
  assert_true(text_equals(name, text_from("c")));
  relay_commit(world->relay);
  assert_int_equal(fault_of(world, "d", 1200, 1200), ERR_TAKEN);
  assert_int_equal(fault_of(world, "a", 6, 6), ERR_TAKEN);
  assert_int_equal(open_within(world, "e", 1200, 1201), 1201);
  assert_int_equal(fault_of(world, "f", 1200, 1201), ERR_FULL);
  assert_false(relay_channel_name(world->relay, 7, &name));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(numbers_that_are_declared_go_to_nobody_else),
      TEST(the_script_chooses_a_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
