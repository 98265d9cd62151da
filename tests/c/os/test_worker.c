// A worker's function runs beside the loop. Its end is reported in the loop, in
// worker_wait, or in workers_end.
#include "os/worker.h"

#include <stdatomic.h>

#include "loop_world.h"

enum { LONG_US = 20000000 };

typedef struct World {
  LoopWorld loop;
  atomic_bool may_end;
  atomic_int runs;
  uv_thread_t thread;  // thread on which the function ran
  int ends;
} World;

static void run(void *data) {
  World *world = data;
  world->thread = uv_thread_self();
  world->runs++;
  while (!world->may_end) uv_sleep(1);
}

static void on_end(void *data) { ((World *)data)->ends++; }

static bool has_ended(void *data) { return ((World *)data)->ends > 0; }

static void test_ends_in_the_loop(void **state) {
  (void)state;
  World world = {0};
  loop_world_init(&world.loop);
  Worker *worker = worker_start(world.loop.loop, run, on_end, &world);
  assert_non_null(worker);
  assert_false(worker_wait(worker, 1000));
  loop_world_turn_once(&world.loop);  // the loop goes on meanwhile
  assert_int_equal(world.ends, 0);
  world.may_end = true;
  assert_true(loop_world_wait(&world.loop, has_ended, &world));
  uv_thread_t self = uv_thread_self();
  assert_false(uv_thread_equal(&world.thread, &self));
  assert_int_equal(world.runs, 1);
  loop_world_deinit(&world.loop);
}

static void test_is_waited_for(void **state) {
  (void)state;
  World world = {.may_end = true};
  loop_world_init(&world.loop);
  Worker *worker = worker_start(world.loop.loop, run, on_end, &world);
  assert_true(worker_wait(worker, LONG_US));
  assert_int_equal(world.ends, 1);
  loop_world_turn_once(&world.loop);
  assert_int_equal(world.ends, 1);
  loop_world_deinit(&world.loop);
}

static void test_ends_before_its_loop(void **state) {
  (void)state;
  World worlds[3] = {{.may_end = true}, {.may_end = true}, {.may_end = true}};
  loop_world_init(&worlds[0].loop);
  for (int i = 0; i < 3; i++)
    assert_non_null(worker_start(worlds[0].loop.loop, run, on_end, &worlds[i]));
  workers_end(worlds[0].loop.loop);
  loop_world_deinit(&worlds[0].loop);
  for (int i = 0; i < 3; i++) {
    assert_int_equal(worlds[i].runs, 1);
    assert_int_equal(worlds[i].ends, 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ends_in_the_loop),
      cmocka_unit_test(test_is_waited_for),
      cmocka_unit_test(test_ends_before_its_loop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
