// Timers of the script, on a relay without Lua.
#include "script/timer.h"

#include "../relay/world.h"
#include "script/host.h"

static Host host;

static int set_up_host(void **state) {
  set_up(state);
  World *world = *state;
  script(world, 0, NULL);
  host = (Host){.relay = world->relay, .net = world->net};
  seam_attach(&host);
  return 0;
}

static int tear_down_host(void **state) {
  script_timers_end(&host);
  slots_deinit(&host.timers);
  return tear_down(state);
}

// Lets `ms` pass and drains in every iteration; returns the number of events.
static uint32_t run(World *world, uint64_t ms) {
  uint32_t count = 0;
  for (uint64_t i = 0; i < ms; i++) {
    Event event;
    fake_advance(world->net, 1);
    begin(world);
    while (relay_next_event(world->relay, &event)) count++;
  }
  return count;
}

static void a_timer_fires_once(void **state) {
  World *world = *state;
  uint32_t timer = script_timer_set(&host, 100, 0, 0, 0, false);
  relay_commit(world->relay);
  fake_advance(world->net, 99);
  expect_no_events(world);
  fake_advance(world->net, 1);
  begin(world);
  assert_int_equal(next(world, EVENT_TIMER).a, timer);
  assert_false(script_timer_cancel(&host, timer));
  end(world);
  assert_int_equal(run(world, 1000), 0);
}

static void a_timer_repeats_until_it_is_cancelled(void **state) {
  World *world = *state;
  uint32_t timer = script_timer_set(&host, 100, 10, 0, 0, false);
  relay_commit(world->relay);
  assert_int_equal(run(world, 195), 10);
  assert_true(script_timer_cancel(&host, timer));
  relay_commit(world->relay);
  assert_int_equal(run(world, 100), 0);
}

static void a_repeating_timer_does_not_catch_up(void **state) {
  World *world = *state;
  script_timer_set(&host, 10, 10, 0, 0, false);
  relay_commit(world->relay);
  fake_jump(world->net, 1000);
  begin(world);
  next(world, EVENT_TIMER);
  end(world);
  fake_advance(world->net, 10);
  begin(world);
  next(world, EVENT_TIMER);
  end(world);
}

static void a_timer_cancelled_in_the_same_iteration_does_not_fire(void **state) {
  World *world = *state;
  uint32_t first = script_timer_set(&host, 10, 0, 0, 0, false);
  uint32_t second = script_timer_set(&host, 10, 0, 0, 0, false);
  relay_commit(world->relay);
  fake_advance(world->net, 10);
  begin(world);
  assert_int_equal(next(world, EVENT_TIMER).a, first);
  assert_true(script_timer_cancel(&host, second));
  relay_commit(world->relay);
  end(world);
}

static void a_timer_without_delay_fires_in_the_next_iteration(void **state) {
  World *world = *state;
  script_timer_set(&host, 0, 0, 0, 0, false);
  expect_no_events(world);
  relay_commit(world->relay);
  expect_no_events(world);
  fake_jump(world->net, 0);
  begin(world);
  next(world, EVENT_TIMER);
  end(world);
}

static void a_timer_of_a_handler_that_failed_never_exists(void **state) {
  World *world = *state;
  uint32_t kept = script_timer_set(&host, 10, 0, 0, 0, false);
  RelayMark mark = relay_mark(world->relay);
  uint32_t gone = script_timer_set(&host, 10, 0, 0, 0, false);
  relay_rollback(world->relay, mark);
  assert_false(script_timer_cancel(&host, gone));
  relay_commit(world->relay);
  fake_advance(world->net, 10);
  begin(world);
  assert_int_equal(next(world, EVENT_TIMER).a, kept);
  end(world);
  assert_int_equal(host.timers.count, 0);
}

static void no_timer_fires_after_the_end(void **state) {
  World *world = *state;
  script_timer_set(&host, 10, 10, 0, 0, false);
  script_timer_set(&host, 1000, 0, 0, 0, false);
  relay_commit(world->relay);
  fake_advance(world->net, 10);
  script_timers_end(&host);
  assert_int_equal(run(world, 1000), 0);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_host, tear_down_host)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_timer_fires_once),
      TEST(a_timer_repeats_until_it_is_cancelled),
      TEST(a_repeating_timer_does_not_catch_up),
      TEST(a_timer_cancelled_in_the_same_iteration_does_not_fire),
      TEST(a_timer_without_delay_fires_in_the_next_iteration),
      TEST(a_timer_of_a_handler_that_failed_never_exists),
      TEST(no_timer_fires_after_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
