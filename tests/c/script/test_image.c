// Images of Lua data: a value that is read equals the written one, with its cycles,
// numbers and objects. Other bytes are refused.
#include "script/image.h"

#include <lauxlib.h>
#include <lualib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "slowness.h"

enum { AT_NAME = 1, AT_FIND = 2, ROOMS = 1000, SAVING_US = 150000 * SLOWNESS };

// `object(text)` makes an object that images name; it is the same one for the same text.
static const char SETUP[] =
    "local class, objects = {}, {}\n"
    "function object(text)\n"
    "  objects[text] = objects[text] or setmetatable({ text = text }, class)\n"
    "  return objects[text]\n"
    "end\n"
    "local function name(value)\n"
    "  return getmetatable(value) == class and value.text or nil\n"
    "end\n"
    "local function find(text) return objects[text] end\n"
    "return name, find, objects";

static lua_State *state_of(void **state) {
  lua_State *L = *state;
  lua_settop(L, AT_FIND);
  return L;
}

static void run(lua_State *L, const char *lua, int arguments, int results) {
  if (luaL_loadstring(L, lua) != 0) fail_msg("%s", lua_tostring(L, -1));
  lua_insert(L, -1 - arguments);
  if (lua_pcall(L, arguments, results, 0) != 0) fail_msg("%s", lua_tostring(L, -1));
}

static ImageResult take(lua_State *L, const char *lua, Buf *image) {
  run(L, lua, 0, 1);
  int top = lua_gettop(L);
  ImageResult result = image_take(L, top, AT_NAME, image);
  assert_int_equal(lua_gettop(L), top);
  return result;
}

// Writes a value to an image and reads it. `check` gets the value that was read as
// `...`.
static void expect(void **state, const char *value, const char *check) {
  lua_State *L = state_of(state);
  Buf image = {0};
  assert_int_equal(take(L, value, &image), IMAGE_TAKEN);
  int top = lua_gettop(L);
  assert_true(image_read(L, AT_FIND, image.data, image.size));
  assert_int_equal(lua_gettop(L), top + 1);
  run(L, check, 1, 0);
  buf_deinit(&image);
}

static void plain_values_come_back(void **state) {
  expect(state, "return nil", "assert(... == nil)");
  expect(state, "return 'text'", "assert(... == 'text')");
  expect(state, "return false", "assert(... == false)");
  expect(state,
         "return { 1, 2, { deep = 'a\\0b' }, [10] = true, [true] = 'key', [''] = {} }",
         "local t = ...\n"
         "assert(t[1] == 1 and t[2] == 2 and t[3].deep == 'a\\0b' and t[10] == true)\n"
         "assert(t[true] == 'key' and next(t['']) == nil)");
}

static void every_number_comes_back(void **state) {
  expect(state,
         "return { 0/0, 1/0, -1/0, -0.0, 0, 2^53, -2^53, 0.1, -1, 2^30, -2^30, 2^31,\n"
         "  5e-324, 63, 64, -64, -65, [0.5] = 1, [-3] = 2 }",
         "local t = ...\n"
         "local want = { 0/0, 1/0, -1/0, -0.0, 0, 2^53, -2^53, 0.1, -1, 2^30, -2^30,\n"
         "  2^31, 5e-324, 63, 64, -64, -65 }\n"
         "assert(t[1] ~= t[1] and 1 / t[4] == -1/0 and 1 / t[5] == 1/0)\n"
         "for i = 2, #want do assert(t[i] == want[i], i) end\n"
         "assert(t[0.5] == 1 and t[-3] == 2)");
}

static void cycles_and_shared_tables_stay_the_same(void **state) {
  expect(
      state,
      "local a, b = {}, {}\n"
      "a.self, a.b, b.a, b.list = a, b, a, { b, b }\n"
      "a[b] = 'key'\n"
      "return a",
      "local a = ...\n"
      "assert(a.self == a and a.b.a == a and a.b.list[1] == a.b and a[a.b] == 'key')\n"
      "assert(a.b.list[2] == a.b)");
}

static void objects_are_found_again(void **state) {
  expect(state,
         "local a = object 'a'\n"
         "return { a, points = { [a] = 3, [object 'b'] = 4 } }",
         "local t = ...\n"
         "assert(t[1] == object 'a' and t.points[object 'a'] == 3)\n"
         "assert(t.points[object 'b'] == 4)");
}

static void objects_that_are_gone_take_their_entries_along(void **state) {
  lua_State *L = state_of(state);
  Buf image = {0};
  assert_int_equal(
      take(L, "return { [object 'x'] = 1, kept = 2, at = object 'x' }", &image),
      IMAGE_TAKEN);
  run(L, "return function() end", 0, 1);
  assert_true(image_read(L, lua_gettop(L), image.data, image.size));
  run(L, "local t = ...; assert(next(t) == 'kept' and next(t, 'kept') == nil)", 1, 0);
  buf_deinit(&image);
}

static void a_long_list_is_not_too_deep(void **state) {
  expect(state,
         "local list\n"
         "for i = 1, 100000 do list = { list } end\n"
         "return list",
         "local list, count = ..., 0\n"
         "while list do list, count = list[1], count + 1 end\n"
         "assert(count == 100000)");
}

static void values_that_are_no_data_are_refused(void **state) {
  static const char *const WRONG[] = {"return print",
                                      "return { a = { function() end } }",
                                      "return { [print] = 1 }",
                                      "return setmetatable({}, {})",
                                      "return coroutine.create(print)",
                                      "return newproxy()"};
  for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
    Buf image = {0};
    assert_int_equal(take(state_of(state), WRONG[i], &image), IMAGE_NO_DATA);
    buf_deinit(&image);
  }
}

static void a_large_value_is_refused_before_it_is_copied(void **state) {
  Buf image = {0};
  lua_State *L = state_of(state);
  assert_int_equal(take(L, "return ('x'):rep(100 * 2 ^ 20)", &image), IMAGE_TOO_LARGE);
  assert_true(image.capacity < 2 * IMAGE_MAX);
  image.size = 0;
  assert_int_equal(take(L,
                        "local t, text = {}, ('x'):rep(1000)\n"
                        "for i = 1, 1e5 do t[i] = text end\n"
                        "return t",
                        &image),
                   IMAGE_TOO_LARGE);
  assert_true(image.capacity < 4 * IMAGE_MAX);
  image.size = 0;
  assert_int_equal(take(L, "return ('x'):rep(2 ^ 20 - 8)", &image), IMAGE_TAKEN);
  assert_true(image_read(L, AT_FIND, image.data, image.size));
  buf_deinit(&image);
}

static void cut_or_changed_bytes_do_no_harm(void **state) {
  lua_State *L = state_of(state);
  Buf image = {0};
  take(L, "local t = { 1, 'two', { 3.5, -4 }, object 'a' }; t.t = t; return t", &image);
  int top = lua_gettop(L);
  for (size_t size = 0; size < image.size; size++) {
    uint8_t *cut = malloc(size + 1);  // has exactly its size, for ASan
    memcpy(cut, image.data, size);
    assert_false(image_read(L, AT_FIND, cut, size));
    free(cut);
  }
  for (size_t at = 0; at < image.size; at++)
    for (int byte = 0; byte < 256; byte++) {
      uint8_t was = image.data[at];
      image.data[at] = (uint8_t)byte;
      image_read(L, AT_FIND, image.data, image.size);
      lua_settop(L, top);
      image.data[at] = was;
    }
  static const uint8_t NAN_KEY[] = {1, 7, 5, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f, 3, 0};
  assert_false(image_read(L, AT_FIND, NAN_KEY, sizeof NAN_KEY));
  assert_int_equal(lua_gettop(L), top);
  buf_deinit(&image);
}

// A room of 10 KB: players with names, numbers and lists.
static const char ROOM[] =
    "local room = { round = 3, players = {} }\n"
    "for i = 1, 60 do\n"
    "  room.players[i] = { name = 'player number ' .. i, x = i * 1.37, y = i / 3,\n"
    "    score = i * 100, alive = i % 2 == 0, items = { 'sword', 'shield', i } }\n"
    "end\n"
    "return room";

static void a_thousand_rooms_take_a_small_part_of_a_core(void **state) {
  lua_State *L = state_of(state);
  Buf image = {0};
  run(L, ROOM, 0, 1);
  int top = lua_gettop(L);
  clock_t began = clock();
  for (int i = 0; i < ROOMS; i++) {
    image.size = 0;
    assert_int_equal(image_take(L, top, AT_NAME, &image), IMAGE_TAKEN);
  }
  clock_t taken = clock();
  for (int i = 0; i < ROOMS; i++) {
    assert_true(image_read(L, AT_FIND, image.data, image.size));
    lua_settop(L, top);
  }
  clock_t ended = clock();
  double take_us = (double)(taken - began) * 1e6 / CLOCKS_PER_SEC;
  double read_us = (double)(ended - taken) * 1e6 / CLOCKS_PER_SEC;
  print_message("%zu bytes: taken in %.0f us, read in %.0f us\n", image.size,
                take_us / ROOMS, read_us / ROOMS);
  assert_true(take_us < SAVING_US);
  buf_deinit(&image);
}

static int open_state(void **state) {
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  run(L, SETUP, 0, 2);
  *state = L;
  return 0;
}

static int close_state(void **state) {
  lua_close(*state);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_values_come_back),
      cmocka_unit_test(every_number_comes_back),
      cmocka_unit_test(cycles_and_shared_tables_stay_the_same),
      cmocka_unit_test(objects_are_found_again),
      cmocka_unit_test(objects_that_are_gone_take_their_entries_along),
      cmocka_unit_test(a_long_list_is_not_too_deep),
      cmocka_unit_test(values_that_are_no_data_are_refused),
      cmocka_unit_test(a_large_value_is_refused_before_it_is_copied),
      cmocka_unit_test(cut_or_changed_bytes_do_no_harm),
      cmocka_unit_test(a_thousand_rooms_take_a_small_part_of_a_core),
  };
  return cmocka_run_group_tests(tests, open_state, close_state);
}
