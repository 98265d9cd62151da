// Interrupts at any moment: compiled loops notice them, and a call that is interrupted
// without a reason has its usual result. The programs are in interrupted.lua.
//   test_script_guard_interrupt [PROGRAMS [SEED]]    more programs, others
#define _GNU_SOURCE  // gettid
#include "script/guard/interrupt.h"

#include <lauxlib.h>
#include <lualib.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "slowness.h"

enum {
  PROGRAMS = 30 / SLOWNESS,
  SEED = 1,
  EVERY_US = 150,
  TRIES_MAX = 1000,
  // Limit of processor time from the first try to the end. ThreadSanitizer makes ticks
  // slow, and ticks during its own work do not count.
  LATE_US = 40000 * SLOWNESS * SLOWNESS,
};

static lua_State *state;
static lua_Hook wanted;
static volatile sig_atomic_t count;  // number of hooks that have run
static volatile sig_atomic_t tries;  // number of interrupts that should end the call
static double programs = PROGRAMS, seed = SEED;

static volatile uint64_t due_us;  // time of the next interrupt; 0: none is wanted
static volatile uint64_t
    period_us;  // time between interrupts; 0: each tick is an interrupt
static volatile uint64_t tried_us;  // processor time at the first interrupt

static volatile sig_atomic_t ticks;            // number of ticks in the first thread
static volatile sig_atomic_t ticks_elsewhere;  // number of ticks in other threads

static uint64_t read_us(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void start_interrupts(uint64_t first_us, uint64_t every_us) {
  period_us = every_us;
  due_us = read_us(CLOCK_MONOTONIC) + first_us;
  interrupt_tick_in(first_us);
}

static void stop_interrupts(void) {
  due_us = 0;
  interrupt_end(state);
}

static void on_tick(const void *place, bool is_sample) {
  (void)is_sample;
  if (gettid() == getpid())
    ticks++;
  else
    ticks_elsewhere++;
  if (due_us == 0 || read_us(CLOCK_MONOTONIC) < due_us) return;
  if (tries++ == 0) tried_us = read_us(CLOCK_THREAD_CPUTIME_ID);
  interrupt_signal(state, wanted, place);
  if (period_us > 0) start_interrupts(period_us, period_us);
}

static void pass(lua_State *L, lua_Debug *at) {
  (void)at;
  count++;
  interrupt_end(L);
}

static void end(lua_State *L, lua_Debug *at) {
  (void)at;
  count++;
  interrupt_end(L);
  luaL_error(L, "ended");
}

// interrupted(fn): returns the results of fn, which is interrupted without a reason all
// the time
static int interrupted(lua_State *L) {
  wanted = pass;
  start_interrupts(EVERY_US, EVERY_US);
  lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
  stop_interrupts();
  return lua_gettop(L);
}

// ended(fn, us): returns whether an interrupt after that many microseconds ended fn
// soon. The next tick tries again if the interrupt was lost, which must be rare.
static int ended(lua_State *L) {
  uint64_t us = (uint64_t)luaL_checkint(L, 2);
  lua_settop(L, 1);
  wanted = end;
  tries = 0;
  start_interrupts(us, 0);
  int status = lua_pcall(L, 0, 0, 0);
  stop_interrupts();
  bool is_soon = read_us(CLOCK_THREAD_CPUTIME_ID) - tried_us < LATE_US;
  lua_pushboolean(L, status == LUA_ERRRUN && tries < TRIES_MAX && is_soon);
  return 1;
}

static int run(lua_State *L) {
  lua_getglobal(L, "package");
  lua_pushliteral(L, "tests/c/script/guard/?.lua;tests/lua/?.lua");
  lua_setfield(L, -2, "path");
  lua_register(L, "interrupted", interrupted);
  lua_register(L, "ended", ended);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "interrupted");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, (const char *)lua_touserdata(L, 1));
  lua_pushnumber(L, programs);
  lua_pushnumber(L, seed);
  lua_call(L, 2, 0);
  return 0;
}

static void check(const char *name) {
  count = 0;
  if (lua_cpcall(state, run, (void *)name) != 0)
    fail_msg("%s", lua_tostring(state, -1));
  assert_true(count > 0);
}

static void an_interrupted_program_goes_on_as_it_would_have(void **data) {
  (void)data;
  check("programs");
}

static void an_endless_loop_is_ended_compiled_or_not(void **data) {
  (void)data;
  check("loops");
}

static void compiled_code_that_is_nearly_always_in_c_is_ended(void **data) {
  (void)data;
  check("waits");
}

static void only_one_state_of_a_process_is_compiled(void **data) {
  (void)data;
  lua_State *other = luaL_newstate();
  assert_false(interrupt_open(other, on_tick));
  interrupt_close(other);
  lua_close(other);
}

// The profiler takes no samples, because its signal could come at any time, to any
// thread.
static void the_profiler_takes_no_samples(void **data) {
  (void)data;
  struct itimerval timer;
  assert_int_equal(getitimer(ITIMER_PROF, &timer), 0);
  assert_int_equal(timer.it_value.tv_sec, 0);
  assert_int_equal(timer.it_value.tv_usec, 0);
}

static void *work(void *is_over) {
  while (!atomic_load((atomic_bool *)is_over)) continue;
  return NULL;
}

static void ticks_come_to_the_thread_that_runs_scripts(void **data) {
  (void)data;
  pthread_t other;
  atomic_bool is_over = false;
  assert_int_equal(pthread_create(&other, NULL, work, &is_over), 0);
  sig_atomic_t wanted_ticks = ticks + 5;
  while (ticks < wanted_ticks)
    assert_false(luaL_dostring(state, "for i = 1, 1e6 do end"));
  atomic_store(&is_over, true);
  pthread_join(other, NULL);
  assert_int_equal(ticks_elsewhere, 0);
}

static int open_state(void **data) {
  (void)data;
  state = luaL_newstate();
  luaL_openlibs(state);
  return interrupt_open(state, on_tick) ? 0 : -1;
}

static int close_state(void **data) {
  (void)data;
  interrupt_close(state);
  lua_close(state);
  return 0;
}

int main(int argc, char **argv) {
  if (argc > 1) programs = atof(argv[1]);
  if (argc > 2) seed = atof(argv[2]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_interrupted_program_goes_on_as_it_would_have),
      cmocka_unit_test(an_endless_loop_is_ended_compiled_or_not),
      cmocka_unit_test(compiled_code_that_is_nearly_always_in_c_is_ended),
      cmocka_unit_test(only_one_state_of_a_process_is_compiled),
      cmocka_unit_test(the_profiler_takes_no_samples),
      cmocka_unit_test(ticks_come_to_the_thread_that_runs_scripts),
  };
  return cmocka_run_group_tests(tests, open_state, close_state);
}
