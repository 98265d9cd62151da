// Tracebacks of deep stacks take little time, and show both ends of the stack.
#include "script/guard/trace.h"

#include <lauxlib.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "slowness.h"

// LuaJIT's own traceback takes 200 ms.
enum { DEPTH = 15000, TIME_US = 20000 * SLOWNESS };

static int trace(lua_State *L) {
  clock_t began = clock();
  trace_push(L, L, "deep", 1);
  clock_t ended = clock();
  assert_true((ended - began) * 1000000 / CLOCKS_PER_SEC < TIME_US);
  return 1;
}

static const char *trace_at(lua_State *L, int depth) {
  lua_register(L, "trace", trace);
  assert_int_equal(luaL_loadstring(L,
                                   "local function inner(n)\n"
                                   "  local text = n == 0 and trace() or inner(n - 1)\n"
                                   "  return text\n"
                                   "end\n"
                                   "local text = inner(...)\n"
                                   "return text"),
                   0);
  lua_pushinteger(L, depth);
  assert_int_equal(lua_pcall(L, 1, 1, 0), 0);
  return lua_tostring(L, -1);
}

static void a_deep_stack_is_traced_from_both_ends_and_soon(void **state) {
  lua_State *L = *state;
  const char *text = trace_at(L, DEPTH);
  const char *gap = strstr(text, "\n\t...\n");
  assert_non_null(gap);
  assert_memory_equal(text, "deep\nstack traceback:\n\t", 23);
  assert_non_null(strstr(text, "in function <[string"));
  assert_non_null(strstr(gap, ":0>"));  // the main chunk
}

static void another_is_traced_as_lua_does(void **state) {
  lua_State *L = *state;
  const char *text = trace_at(L, 10);
  assert_null(strstr(text, "\n\t...\n"));
  assert_non_null(strstr(text, "in main chunk"));
}

static int open_state(void **state) {
  *state = luaL_newstate();
  luaL_openlibs(*state);
  return 0;
}

static int close_state(void **state) {
  lua_close(*state);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_deep_stack_is_traced_from_both_ends_and_soon),
      cmocka_unit_test(another_is_traced_as_lua_does),
  };
  return cmocka_run_group_tests(tests, open_state, close_state);
}
