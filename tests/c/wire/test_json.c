// JSON text: valid values, and the pieces of a value.
#include "wire/json.h"
#include "wire/message.h"

#include <string.h>

#include "leaks.h"

static bool is_value(const char *text, size_t size) {
  // Makes the copy one byte longer, because its size may be 0. Nothing reads that byte.
  char *copy = mem_alloc(size + 1);
  memcpy(copy, text, size);
  bool is = json_is_value((Text){copy, (uint32_t)size});
  mem_free(copy);
  return is;
}

static void check(const char *text, bool expected) {
  if (is_value(text, strlen(text)) != expected) fail_msg("%s", text);
}

static void values_are_told_from_other_text(void **state) {
  (void)state;
  static const char *const GOOD[] = {"{}",
                                     "[]",
                                     "null",
                                     "true",
                                     "false",
                                     "0",
                                     "-0",
                                     "-1.5e+3",
                                     "1E9",
                                     "\"\"",
                                     "\"\\u00fc\\n\"",
                                     "[1,[2,{}],\"]\"]",
                                     "{\"a\":1 , \"b\" : [ ] }",
                                     "\"\\ud83d\\ude00\"",
                                     "{\"a\":1,\"a\":2}",
                                     NULL};
  static const char *const BAD[] = {
      "",         " 1",    "1 ",      "{",         "}",           "[1,]",
      "[,1]",     "{1:2}", "{\"a\"}", "{\"a\":}",  "{\"a\":1,}",  "01",
      "1.",       ".5",    "+1",      "1e",        "-",           "tru",
      "nullx",    "\"",    "\"\\x\"", "\"\\u12\"", "\"\\ud800\"", "\"\\udc00\"",
      "\"a\nb\"", "'a'",   "[1 2]",   "NaN",       "{\"a\":1}}",  "\"\xff\"",
      "[\"\\",    NULL};
  for (int i = 0; GOOD[i] != NULL; i++) check(GOOD[i], true);
  for (int i = 0; BAD[i] != NULL; i++) check(BAD[i], false);
  assert_false(is_value("\0", 1));
  assert_false(is_value("\"\0\"", 3));
}

static void values_nest_only_so_deep(void **state) {
  (void)state;
  char text[4 * JSON_DEPTH_MAX];
  for (size_t depth = 1; depth <= JSON_DEPTH_MAX + 2; depth++) {
    memset(text, '[', depth);
    memset(text + depth, ']', depth);
    assert_int_equal(is_value(text, 2 * depth), depth <= JSON_DEPTH_MAX);
  }
}

static void expect_text(Text text, const char *expected) {
  assert_int_equal(text.size, strlen(expected));
  assert_memory_equal(text.bytes, expected, text.size);
}

static void members_and_elements_come_in_order(void **state) {
  (void)state;
  static const char OBJECT[] = "{ \"a\" : [1, {}] ,\"b\\n\":\"x\\\"y\"}",
                    LIST[] = "[ 1 ,[2],\"3\" ]";
  Text object = {OBJECT, sizeof OBJECT - 1}, list = {LIST, sizeof LIST - 1}, key, value;
  uint32_t at = 0;
  Buf out = {0};
  assert_true(json_next(object, &at, &key, &value));
  expect_text(key, "\"a\"");
  expect_text(value, "[1, {}]");
  assert_false(json_read_text(value, &out));
  assert_true(json_next(object, &at, &key, &value));
  assert_true(json_read_text(key, &out) && json_read_text(value, &out));
  expect_text((Text){(char *)out.data, (uint32_t)out.size}, "b\nx\"y");
  assert_false(json_next(object, &at, &key, &value));
  at = 0;
  for (int i = 0; i < 3; i++) {
    assert_true(json_next(list, &at, NULL, &value));
    expect_text(value, i == 0 ? "1" : i == 1 ? "[2]" : "\"3\"");
  }
  assert_false(json_next(list, &at, NULL, &value));
  at = 0;
  assert_false(json_next((Text){"{ }", 3}, &at, &key, &value));
  buf_deinit(&out);
}

static void texts_are_written_so_that_they_can_be_read(void **state) {
  (void)state;
  char bytes[128];
  Buf json = {0}, read = {0};
  for (int i = 0; i < 128; i++) bytes[i] = (char)i;
  json_put_text(&json, (Text){bytes, sizeof bytes});
  Text text = {(char *)json.data, (uint32_t)json.size};
  assert_true(json_is_value(text));
  assert_true(json_read_text(text, &read));
  assert_int_equal(read.size, sizeof bytes);
  assert_memory_equal(read.data, bytes, sizeof bytes);
  buf_deinit(&json);
  buf_deinit(&read);
}

// Names may have any character, U+0000 among them.
static void a_message_keeps_its_name(void **state) {
  (void)state;
  Buf body = {0}, name = {0};
  Text value;
  uint32_t value_at = message_body(&body, (Text){"a\0b\"", 4}, (Text){"[1]", 3});
  assert_true(
      message_split((Text){(char *)body.data, (uint32_t)body.size}, &name, &value));
  assert_int_equal(name.size, 4);
  assert_memory_equal(name.data, "a\0b\"", 4);
  assert_int_equal(value.size, 3);
  assert_ptr_equal(value.bytes, (char *)body.data + value_at);
  buf_deinit(&body);
  buf_deinit(&name);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(values_are_told_from_other_text),
      TEST(values_nest_only_so_deep),
      TEST(members_and_elements_come_in_order),
      TEST(texts_are_written_so_that_they_can_be_read),
      TEST(a_message_keeps_its_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
