// The end of a call's time, by the clock and by processor time. The test makes the
// interrupts itself.
#include "script/guard/deadline.h"

#include <lauxlib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "script/guard/interrupt.h"
#include "script/host.h"

enum { ALLOWED_US = 40000, LAST_US = 5000 };

static Host host;
static InterruptTick *tick;
static uint64_t next_tick_us;  // time of the requested tick; 0: none
static int interrupts;

bool interrupt_open(lua_State *L, InterruptTick *on_tick) {
  (void)L;
  tick = on_tick;
  return true;
}

void interrupt_close(lua_State *L) { (void)L; }

void interrupt_tick_in(uint64_t us) { next_tick_us = us; }

void interrupt_raise(lua_State *L, lua_Hook hook) {
  lua_sethook(L, hook, LUA_MASKCOUNT, 1);
  interrupts++;
}

bool interrupt_signal(lua_State *L, lua_Hook hook, const void *place) {
  (void)place;
  interrupt_raise(L, hook);
  return true;
}

void interrupt_sample_every(uint64_t first_us, uint64_t us) {
  (void)first_us;
  (void)us;
}

void interrupt_sample(lua_State *L, lua_Hook hook, const void *place,
                      bool in_compiled) {
  (void)in_compiled;
  interrupt_signal(L, hook, place);
}

void interrupt_seen(void) {}

void interrupt_end(lua_State *L) { lua_sethook(L, NULL, 0, 0); }

static uint64_t read_us(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void work(uint64_t us) {
  uint64_t end_us = read_us(CLOCK_THREAD_CPUTIME_ID) + us;
  while (read_us(CLOCK_THREAD_CPUTIME_ID) < end_us) continue;
}

static void begin(uint64_t allowed_us) {
  host.deadline.limits.handler_us = allowed_us;
  deadline_tick(&host);
  deadline_begin(&host);
  interrupts = 0;
  next_tick_us = 0;
}

static int charge(lua_State *L) {
  deadline_charge(&host, L, DEADLINE_STEPS);
  return 0;
}

static bool is_over(void) {
  bool has_failed = lua_cpcall(host.L, charge, NULL) != 0;
  lua_settop(host.L, 0);
  assert_int_equal(has_failed, deadline_is_over(&host.deadline));
  return has_failed;
}

// Begins a call. After a quarter of its time, the call sleeps for twice its time.
static void begin_and_sleep(void) {
  begin(ALLOWED_US);
  usleep(ALLOWED_US / 4);
  assert_false(is_over());
  usleep(2 * ALLOWED_US);
}

static void a_call_does_not_answer_for_a_busy_machine(void **state) {
  (void)state;
  begin_and_sleep();
  assert_false(is_over());
  work(ALLOWED_US / 2);
  assert_true(is_over());
  deadline_end(&host);
}

static void in_a_simulation_a_call_has_all_its_time(void **state) {
  (void)state;
  host.deadline.is_patient = true;
  begin_and_sleep();
  work(ALLOWED_US / 2);
  assert_false(is_over());
  work(ALLOWED_US);
  assert_true(is_over());
  deadline_end(&host);
  host.deadline.is_patient = false;
}

static void a_load_has_a_second_or_more(void **state) {
  (void)state;
  host.event.type = ENTRY_LOAD;
  begin(ALLOWED_US);
  assert_int_equal(host.deadline.allowed_us, DEADLINE_LOAD_US);
  deadline_end(&host);
  begin(2 * DEADLINE_LOAD_US);
  assert_int_equal(host.deadline.allowed_us, 2 * DEADLINE_LOAD_US);
  deadline_end(&host);
  host.event.type = 0;
}

static void a_tick_comes_at_the_end_of_the_time(void **state) {
  (void)state;
  begin(ALLOWED_US);
  tick(NULL, false);
  assert_int_equal(next_tick_us,
                   0);  // the next tick of processor time comes earlier
  deadline_end(&host);
  uint64_t began_us = read_us(CLOCK_MONOTONIC);
  begin(LAST_US);
  tick(NULL, false);
  bool was_in_time = read_us(CLOCK_MONOTONIC) < began_us + LAST_US;
  if (was_in_time) assert_in_range(next_tick_us, 1, LAST_US + 1);
  usleep(LAST_US);
  tick(NULL, false);
  assert_int_equal(interrupts, 0);
  work(LAST_US);
  tick(NULL, false);
  assert_int_equal(interrupts, 1);
  deadline_end(&host);
}

static int pass_deadline(lua_State *L) {
  (void)L;
  work(LAST_US);
  tick(NULL, false);
  work(LAST_US);
  tick(NULL, false);
  return 0;
}

// Code counts as a script if its globals are not those of the host's own code.
static void the_hosts_own_code_goes_on_to_its_end(void **state) {
  (void)state;
  lua_State *L = host.L;
  lua_register(L, "pass_deadline", pass_deadline);
  assert_int_equal(luaL_dostring(L,
                                 "function own()\n"
                                 "  pass_deadline()\n"
                                 "  steps = 0\n"
                                 "  for i = 1, 1000 do steps = steps + 1 end\n"
                                 "end"),
                   0);
  assert_int_equal(luaL_loadstring(L, "own() went_on = true"), 0);
  lua_createtable(L, 0, 1);
  lua_getglobal(L, "own");
  lua_setfield(L, -2, "own");
  lua_pushvalue(L, -1);
  lua_insert(L, 1);
  lua_setfenv(L, -2);
  begin(LAST_US);
  assert_int_not_equal(lua_pcall(L, 0, 0, 0), 0);
  deadline_end(&host);
  lua_getglobal(L, "steps");
  assert_int_equal(lua_tointeger(L, -1), 1000);
  lua_getfield(L, 1, "went_on");
  assert_true(lua_isnil(L, -1));
  lua_settop(L, 0);
}

static int open_state(void **state) {
  (void)state;
  host.stack = __builtin_frame_address(0);
  host.deadline.limits.memory = SIZE_MAX / 4;
  host.L = luaL_newstate();
  deadline_init(&host);
  return 0;
}

static int close_state(void **state) {
  (void)state;
  deadline_deinit(&host);
  lua_close(host.L);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_call_does_not_answer_for_a_busy_machine),
      cmocka_unit_test(in_a_simulation_a_call_has_all_its_time),
      cmocka_unit_test(a_load_has_a_second_or_more),
      cmocka_unit_test(a_tick_comes_at_the_end_of_the_time),
      cmocka_unit_test(the_hosts_own_code_goes_on_to_its_end),
  };
  return cmocka_run_group_tests(tests, open_state, close_state);
}
