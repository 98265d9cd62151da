// Timers: order, moving, stopping, and what callbacks may do.
#include "base/timers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

// A timer that records its letter, and may then set or stop another timer.
typedef struct Probe {
  Timer timer;
  char letter;
  void (*then)(struct Probe *probe);
  uint64_t due_ms;       // deadline that `then` sets
  struct Probe *target;  // timer that `then` changes
} Probe;

static Timers timers;
static char calls[64];
static uint64_t called_at_ms;

static void on_due(void *data, uint64_t now_ms) {
  Probe *probe = data;
  assert_false(timers_is_set(&probe->timer));
  size_t size = strlen(calls);
  assert_true(size + 1 < sizeof calls);
  calls[size] = probe->letter;
  called_at_ms = now_ms;
  if (probe->then) probe->then(probe);
}

static void set(Probe *probe, uint64_t due_ms) {
  timers_set(&timers, &probe->timer, due_ms, on_due, probe);
}

static void set_target(Probe *probe) { set(probe->target, probe->due_ms); }
static void stop_target(Probe *probe) { timers_stop(&timers, &probe->target->timer); }
static void free_itself(Probe *probe) { mem_free(probe); }

static void run(uint64_t now_ms, const char *expected) {
  memset(calls, 0, sizeof calls);
  timers_run(&timers, now_ms);
  assert_string_equal(calls, expected);
}

static void nothing_is_due_without_timers(void **state) {
  (void)state;
  assert_true(timers_next_ms(&timers) == UINT64_MAX);
  run(1000, "");
}

static void a_timer_runs_once_when_it_is_due(void **state) {
  (void)state;
  Probe a = {.letter = 'a'};
  assert_false(timers_is_set(&a.timer));
  set(&a, 10);
  assert_true(timers_is_set(&a.timer));
  assert_true(timers_next_ms(&timers) == 10);
  run(9, "");
  run(10, "a");
  assert_int_equal(called_at_ms, 10);
  assert_false(timers_is_set(&a.timer));
  run(11, "");
}

static void timers_run_in_order_of_time(void **state) {
  (void)state;
  Probe a = {.letter = 'a'}, b = {.letter = 'b'}, c = {.letter = 'c'};
  set(&c, 30);
  set(&a, 10);
  set(&b, 20);
  run(100, "abc");
}

static void timers_for_the_same_time_run_in_the_order_of_setting(void **state) {
  (void)state;
  Probe probes[20];
  for (int i = 0; i < 20; i++) {
    probes[i] = (Probe){.letter = (char)('a' + i)};
    set(&probes[i], 5);
  }
  // A timer that is set again comes after timers that were set before.
  set(&probes[0], 5);
  run(5, "bcdefghijklmnopqrsta");
}

static void a_timer_that_is_set_again_is_moved(void **state) {
  (void)state;
  Probe a = {.letter = 'a'}, b = {.letter = 'b'};
  set(&a, 10);
  set(&b, 20);
  set(&a, 30);
  assert_int_equal(timers.count, 2);
  assert_true(timers_next_ms(&timers) == 20);
  run(20, "b");
  set(&b, 40);
  set(&b, 25);
  run(30, "ba");
}

static void a_stopped_timer_does_not_run(void **state) {
  (void)state;
  Probe a = {.letter = 'a'}, b = {.letter = 'b'};
  set(&a, 10);
  set(&b, 10);
  timers_stop(&timers, &a.timer);
  timers_stop(&timers, &a.timer);
  assert_false(timers_is_set(&a.timer));
  run(10, "b");
}

static void a_callback_may_set_its_own_timer_again(void **state) {
  (void)state;
  Probe a = {.letter = 'a', .then = set_target, .due_ms = 20};
  a.target = &a;
  set(&a, 10);
  run(10, "a");
  assert_true(timers_next_ms(&timers) == 20);
  a.then = NULL;
  run(20, "a");
}

static void what_a_callback_sets_for_the_past_waits_for_the_next_run(void **state) {
  (void)state;
  Probe a = {.letter = 'a', .then = set_target, .due_ms = 3};
  a.target = &a;
  Probe b = {.letter = 'b'}, c = {.letter = 'c'};
  set(&a, 1);
  set(&b, 5);
  set(&c, 10);
  run(10, "abc");  // callback 1 set a for the time 3, and a did not run before b
  assert_true(timers_next_ms(&timers) <= 10);
  run(10, "a");
  run(10, "a");
  timers_stop(&timers, &a.timer);
}

static void a_callback_may_set_a_timer_that_is_due_in_the_same_run(void **state) {
  (void)state;
  Probe b = {.letter = 'b'}, c = {.letter = 'c'};
  Probe a = {.letter = 'a', .then = set_target, .due_ms = 5, .target = &b};
  set(&a, 1);
  set(&b, 2);
  set(&c, 10);
  run(10, "ac");  // moving a timer is the same as setting it
  run(10, "b");
}

static void a_callback_may_put_off_a_timer_that_is_due(void **state) {
  (void)state;
  Probe b = {.letter = 'b'};
  Probe a = {.letter = 'a', .then = set_target, .due_ms = 50, .target = &b};
  set(&a, 1);
  set(&b, 2);
  run(10, "a");
  run(50, "b");
}

static void a_callback_may_stop_a_timer_that_is_due(void **state) {
  (void)state;
  Probe b = {.letter = 'b'}, c = {.letter = 'c'};
  Probe a = {.letter = 'a', .then = stop_target, .target = &b};
  set(&a, 1);
  set(&b, 2);
  set(&c, 3);
  run(10, "ac");
  assert_int_equal(timers.count, 0);
}

static void a_callback_may_free_its_timer(void **state) {
  (void)state;
  Probe *a = mem_zalloc(sizeof *a);
  a->letter = 'a';
  a->then = free_itself;
  Probe b = {.letter = 'b'};
  set(a, 1);
  set(&b, 2);
  run(10, "ab");
}

static void time_may_start_at_zero(void **state) {
  (void)state;
  Probe a = {.letter = 'a', .then = set_target, .due_ms = 0};
  a.target = &a;
  set(&a, 0);
  run(0, "a");
  run(0, "a");
  timers_stop(&timers, &a.timer);
}

static void far_away_timers_do_not_overflow(void **state) {
  (void)state;
  Probe a = {.letter = 'a'};
  set(&a, UINT64_MAX);
  run(UINT64_MAX - 1, "");
  timers_stop(&timers, &a.timer);
}

static uint64_t last_due_ms;
static uint32_t ran;

static void on_random(void *data, uint64_t now_ms) {
  Timer *timer = data;
  assert_true(timer->due_ms >= last_due_ms && timer->due_ms <= now_ms);
  last_due_ms = timer->due_ms;
  ran++;
}

static void the_heap_keeps_its_order_under_random_operations(void **state) {
  (void)state;
  enum { COUNT = 500 };
  static Timer all[COUNT];
  srand(2);
  uint64_t now_ms = 0;
  for (int step = 0; step < 100000; step++) {
    Timer *timer = &all[rand() % COUNT];
    int choice = rand() % 10;
    if (choice < 6) {
      timers_set(&timers, timer, now_ms + (uint64_t)(rand() % 1000), on_random, timer);
    } else if (choice < 9) {
      timers_stop(&timers, timer);
    } else {
      now_ms += (uint64_t)(rand() % 20);
      last_due_ms = 0;
      timers_run(&timers, now_ms);
      assert_true(timers_next_ms(&timers) > now_ms);
    }
    if (step % 100) continue;
    uint32_t set_count = 0;
    uint64_t least_ms = UINT64_MAX;
    for (int i = 0; i < COUNT; i++) {
      if (!timers_is_set(&all[i])) continue;
      set_count++;
      assert_ptr_equal(timers.heap[all[i].place - 1].timer, &all[i]);
      if (all[i].due_ms < least_ms) least_ms = all[i].due_ms;
    }
    assert_int_equal(timers.count, set_count);
    assert_true(timers_next_ms(&timers) == least_ms);
  }
  assert_true(ran > 1000);
  for (int i = 0; i < COUNT; i++) timers_stop(&timers, &all[i]);
}

static void deinit_unsets_what_is_left(void **state) {
  (void)state;
  Timers own = {0};
  Timer timer = {0};
  timers_set(&own, &timer, 1, on_random, NULL);
  timers_deinit(&own);
  assert_false(timers_is_set(&timer));
}

static int clean_up(void **state) {
  (void)state;
  assert_int_equal(timers.count, 0);
  timers_deinit(&timers);
  assert_int_equal(mem_live(), 0);
  return 0;
}

#define TEST(function) cmocka_unit_test_teardown(function, clean_up)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(nothing_is_due_without_timers),
      TEST(a_timer_runs_once_when_it_is_due),
      TEST(timers_run_in_order_of_time),
      TEST(timers_for_the_same_time_run_in_the_order_of_setting),
      TEST(a_timer_that_is_set_again_is_moved),
      TEST(a_stopped_timer_does_not_run),
      TEST(a_callback_may_set_its_own_timer_again),
      TEST(what_a_callback_sets_for_the_past_waits_for_the_next_run),
      TEST(a_callback_may_set_a_timer_that_is_due_in_the_same_run),
      TEST(a_callback_may_put_off_a_timer_that_is_due),
      TEST(a_callback_may_stop_a_timer_that_is_due),
      TEST(a_callback_may_free_its_timer),
      TEST(time_may_start_at_zero),
      TEST(far_away_timers_do_not_overflow),
      TEST(the_heap_keeps_its_order_under_random_operations),
      TEST(deinit_unsets_what_is_left),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
