// The times that a loop counts: of its iterations without their waits, and the lateness
// of its timers.
#include "os/loop.h"

#include "loop_world.h"

enum { WORK_US = 5000 };

static void work(void) {
  uint64_t end_us = uv_hrtime() / 1000 + WORK_US;
  while (uv_hrtime() / 1000 < end_us) {
  }
}

static void on_timer(void *data, uint64_t now_ms) {
  int *calls = data;
  (void)now_ms;
  work();
  ++*calls;
}

static void run_timer(LoopWorld *world, uint64_t due_ms) {
  Timer timer = {0};
  int calls = 0;
  timers_set(&world->loop->timers, &timer, due_ms, on_timer, &calls);
  while (calls == 0) loop_world_turn_once(world);
}

static void an_iteration_counts_its_work_and_not_its_wait(void **state) {
  (void)state;
  LoopWorld world;
  loop_world_init(&world);
  const Histogram *times = &world.loop->iterations;
  for (int i = 0; i < 4; i++) loop_world_turn_once(&world);
  assert_true(times->count >= 4);
  assert_true(times->total_us < 4 * TURN_MS * 1000);
  uint64_t before_us = times->total_us;
  run_timer(&world, loop_now_ms(world.loop));
  assert_true(times->total_us - before_us >= WORK_US);
  loop_world_deinit(&world);
}

static void a_timer_counts_how_late_it_is(void **state) {
  (void)state;
  LoopWorld world;
  loop_world_init(&world);
  uint64_t late_ms = loop_now_ms(world.loop) - 300;
  const Histogram *lateness = &world.loop->lateness;
  uint64_t count = lateness->count, total_us = lateness->total_us;
  run_timer(&world, late_ms);
  assert_true(lateness->count > count);
  assert_true(lateness->total_us - total_us >= 300000);
  loop_world_deinit(&world);
}

static bool on_end(void *data, uint64_t now_us) {
  int *left = data;
  (void)now_us;
  work();
  return --*left > 0;
}

static void iterations_without_a_wait_count_one_by_one(void **state) {
  (void)state;
  Loop loop = {0};
  int left = 4;
  assert_int_equal(loop_init(&loop, on_end, &left), 0);
  uv_ref((uv_handle_t *)&loop.prepare);
  while (left > 0) loop_poll(&loop, 0);
  uint64_t count = loop.iterations.count;
  assert_true(count >= 3 && loop.iterations.total_us >= 3 * WORK_US);
  assert_int_equal(histogram_below(&loop.iterations, 10), 0);
  loop_deinit(&loop);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_iteration_counts_its_work_and_not_its_wait),
      cmocka_unit_test(a_timer_counts_how_late_it_is),
      cmocka_unit_test(iterations_without_a_wait_count_one_by_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
