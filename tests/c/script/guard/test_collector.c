// Detects LuaJIT's collector while it works, in interpreted and in compiled code.
#include "script/guard/collector.h"

#include <lauxlib.h>
#include <luajit.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

typedef struct Watch {
  Collector collector;
  lua_Alloc allocate;
  void *data;
  int releases, allocations;  // number of calls while the collector was running
} Watch;

static void *allocate(void *data, void *block, size_t old_size, size_t size) {
  Watch *watch = data;
  if (collector_is_running(&watch->collector)) {
    watch->releases += size == 0;
    watch->allocations += old_size == 0;
  }
  return watch->allocate(watch->data, block, old_size, size);
}

// Runs code that makes garbage.
static void watch_garbage(Watch *watch, bool has_jit, int gc) {
  static const char CODE[] = "for i = 1, 1e6 do local t = { { i } } end";
  *watch = (Watch){0};
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if (!has_jit) luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  collector_open(&watch->collector, L);
  assert_non_null(watch->collector.activity);
  assert_int_equal(lua_gettop(L), 0);
  watch->allocate = lua_getallocf(L, &watch->data);
  lua_setallocf(L, allocate, watch);
  lua_gc(L, gc, 0);
  assert_false(collector_is_running(&watch->collector));
  assert_int_equal(luaL_dostring(L, CODE), 0);
  assert_false(collector_is_running(&watch->collector));
  lua_setallocf(L, watch->allocate, watch->data);
  lua_close(L);
}

static void the_collector_is_seen_while_it_frees(void **state) {
  (void)state;
  Watch watch;
  for (int has_jit = 0; has_jit < 2; has_jit++) {
    watch_garbage(&watch, has_jit, LUA_GCRESTART);
    assert_true(watch.releases > 100000);
    assert_true(watch.allocations < watch.releases / 100);
  }
}

static void a_stopped_collector_is_not_seen(void **state) {
  (void)state;
  Watch watch;
  for (int has_jit = 0; has_jit < 2; has_jit++) {
    watch_garbage(&watch, has_jit, LUA_GCSTOP);
    assert_int_equal(watch.releases, 0);
    assert_int_equal(watch.allocations, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_collector_is_seen_while_it_frees),
      cmocka_unit_test(a_stopped_collector_is_not_seen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
