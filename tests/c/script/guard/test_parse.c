// Limits of source text: size, time, and no bytecode. A file that another thread parses
// has the same result as one that is parsed here.
#include "script/guard/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <lauxlib.h>
#include <lualib.h>

#include "base/mem.h"
#include "net/net.h"
#include "slowness.h"

static void fails(const char *want, Text text) {
  lua_State *L = luaL_newstate();
  Buf code = {0};
  assert_false(parse_text(L, "game.lua", text, NULL));
  assert_non_null(strstr(lua_tostring(L, -1), want));
  assert_int_equal(lua_gettop(L), 1);
  assert_false(parse_to_code("game.lua", text, NULL, &code));
  buf_u8(&code, 0);
  assert_non_null(strstr((const char *)code.data, want));
  buf_deinit(&code);
  lua_close(L);
}

// Returns `unit` repeated to `size` bytes.
static Text repeat(Buf *buf, const char *unit, size_t size) {
  while (buf->size + strlen(unit) <= size) buf_append(buf, unit, strlen(unit));
  return (Text){(const char *)buf->data, (uint32_t)buf->size};
}

static void test_refused(void **state) {
  (void)state;
  Buf large = {0};
  fails("game.lua:2: '=' expected near 'is'", text_from("local x\nthis is no lua"));
  fails("game.lua: this is bytecode", text_from("\033LJ\002"));
  fails("game.lua: the file has more than 2 MiB",
        repeat(&large, " ", PARSE_SIZE_MAX + 1));
  large.size--;
  lua_State *L = luaL_newstate();
  assert_true(parse_text(L, "game.lua",
                         (Text){(const char *)large.data, (uint32_t)large.size}, NULL));
  lua_close(L);
  buf_deinit(&large);
  assert_int_equal(mem_live(), 0);
}

// Parses a file with a chain, which takes more than half a minute without a deadline.
// Expects an error that contains `want`; returns the microseconds that it took.
static uint64_t time_chain(const atomic_bool *is_unwanted, const char *want) {
  static const char HEAD[] = "local x\n\nlocal y = x ";
  Buf code = {0}, text = {0};
  buf_append(&text, HEAD, sizeof HEAD - 1);
  Text chain = repeat(&text, "or x ", PARSE_SIZE_MAX);
  uint64_t began_us = net_real_us();
  assert_false(parse_to_code("game.lua", chain, is_unwanted, &code));
  uint64_t took_us = net_real_us() - began_us;
  buf_u8(&code, 0);
  assert_non_null(strstr((const char *)code.data, want));
  buf_deinit(&text);
  buf_deinit(&code);
  assert_int_equal(mem_live(), 0);
  return took_us;
}

static void test_late(void **state) {
  (void)state;
  const char *want = "game.lua:3: parsing this file took longer than 2 s";
  assert_in_range(time_chain(NULL, want), PARSE_US,
                  (uint64_t)PARSE_US + 1000000 * SLOWNESS);
}

static void test_unwanted(void **state) {
  (void)state;
  atomic_bool is_unwanted = true;
  assert_true(time_chain(&is_unwanted, "game.lua") < PARSE_US / 2);
}

// The chunk name, the lines and the names of variables are those of the text.
static void test_code(void **state) {
  (void)state;
  static const char GAME[] = "local count\nreturn function()\n  return count + 1\nend";
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  Buf code = {0};
  assert_true(parse_to_code("rooms/duel.lua", text_from(GAME), NULL, &code));
  assert_true(parse_load(L, "rooms/duel.lua", &code));
  buf_deinit(&code);
  lua_call(L, 0, 1);
  assert_int_equal(lua_pcall(L, 0, 0, 0), LUA_ERRRUN);
  assert_string_equal(lua_tostring(L, -1),
                      "rooms/duel.lua:3: attempt to perform arithmetic on upvalue "
                      "'count' (a nil value)");
  lua_close(L);
  assert_int_equal(mem_live(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_late),
      cmocka_unit_test(test_unwanted),
      cmocka_unit_test(test_code),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
