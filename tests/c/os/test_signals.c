// Signals arrive on the loop. After the Signals are closed, they have their former
// effect.
#include "os/signals.h"

#include <signal.h>

#include "loop_world.h"

typedef struct World {
  LoopWorld loop;
  char stopped_by[16];
  uint32_t stops, reloads;
} World;

static void on_stop(void *data, const char *name) {
  World *world = data;
  world->stops++;
  snprintf(world->stopped_by, sizeof world->stopped_by, "%s", name);
}

static void on_reload(void *data) { ((World *)data)->reloads++; }

static bool is_told(void *data) {
  World *world = data;
  return world->stops + world->reloads > 0;
}

static void expect(World *world, int number, uint32_t stops, uint32_t reloads) {
  world->stops = world->reloads = 0;
  raise(number);
  assert_true(loop_world_wait(&world->loop, is_told, world));
  assert_int_equal(world->stops, stops);
  assert_int_equal(world->reloads, reloads);
}

static void test_signals(void **state) {
  (void)state;
  static const SignalEvents EVENTS = {.stop = on_stop, .reload = on_reload};
  World world = {0};
  signal(SIGHUP, SIG_IGN);
  loop_world_init(&world.loop);
  Signals *signals = signals_open(world.loop.loop, &EVENTS, &world);
  expect(&world, SIGHUP, 0, 1);
  expect(&world, SIGTERM, 1, 0);
  assert_string_equal(world.stopped_by, "SIGTERM");
  expect(&world, SIGINT, 1, 0);
  assert_string_equal(world.stopped_by, "SIGINT");
  raise(SIGPIPE);  // does not end the process
  signals_close(signals);
  loop_world_deinit(&world.loop);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_signals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
