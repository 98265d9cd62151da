// Rules of a .perigeeignore and the files that they name.
#include "wire/ignore.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool is_hidden(const char *rules, const char *path) {
  return ignore_has((Text){rules, (uint32_t)strlen(rules)}, path);
}

static void expect_hidden(const char *rules, const char *path) {
  if (!is_hidden(rules, path)) fail_msg("%s is served with the rules %s", path, rules);
}

static void expect_served(const char *rules, const char *path) {
  if (is_hidden(rules, path)) fail_msg("%s is hidden by the rules %s", path, rules);
}

static void a_name_is_hidden_in_every_folder(void **state) {
  (void)state;
  expect_hidden("secret.lua", "secret.lua");
  expect_hidden("secret.lua", "a/b/secret.lua");
  expect_hidden("secret", "a/secret/b.lua");
  expect_served("secret.lua", "secret.luac");
  expect_served("secret.lua", "my_secret.lua");
  expect_served("secret.lua", "secret/lua");
  expect_served("", "secret.lua");
}

static void a_path_is_hidden_from_the_folder_on(void **state) {
  (void)state;
  expect_hidden("a/b.lua", "a/b.lua");
  expect_hidden("/b.lua", "b.lua");
  expect_hidden("./b.lua", "b.lua");
  expect_hidden("a//b.lua", "a/b.lua");
  expect_hidden("a/b", "a/b/c/d.lua");
  expect_served("a/b.lua", "x/a/b.lua");
  expect_served("/b.lua", "a/b.lua");
  expect_served("a/b.lua/c", "a/b.lua");
}

static void a_star_stands_for_part_of_a_name(void **state) {
  (void)state;
  expect_hidden("*.key", "a/tls.key");
  expect_hidden("*", "anything");
  expect_hidden("s*t", "st");
  expect_hidden("*a*a*", "banana.lua");
  expect_hidden("keys/*", "keys/a");
  expect_hidden("keys/*/x", "keys/a/x");
  expect_served("keys/*/x", "keys/a/b/x");
  expect_served("s*t", "store");
  expect_served("a*b", "a/b");
}

static void two_stars_stand_for_folders(void **state) {
  (void)state;
  expect_hidden("**/secret.lua", "secret.lua");
  expect_hidden("**/secret.lua", "a/b/secret.lua");
  expect_hidden("a/**/z", "a/z");
  expect_hidden("a/**/z", "a/b/c/z");
  expect_hidden("a/**", "a/b/c");
  expect_hidden("**/a/**/z", "x/a/a/b/z");
  expect_served("a/**/z", "b/z");
  expect_served("**/a/z", "a/b/z");
}

static void a_question_mark_stands_for_one_character(void **state) {
  (void)state;
  expect_hidden("key?.pem", "key1.pem");
  expect_hidden("key?.pem", "key\xc3\xa4.pem");
  expect_hidden("?", "\xf0\x9f\x94\x91");
  expect_served("key?.pem", "key.pem");
  expect_served("key?.pem", "key12.pem");
  expect_served("a?b", "a/b");
}

static void a_slash_at_the_end_is_for_folders(void **state) {
  (void)state;
  expect_hidden("drafts/", "drafts/a.png");
  expect_hidden("drafts/", "public/drafts/a.png");
  expect_hidden("drafts/", "public/drafts/");
  expect_hidden("/a/drafts/", "a/drafts/b");
  expect_served("drafts/", "drafts");
  expect_served("/drafts/", "a/drafts/b");
}

static void lines_may_be_comments_or_empty(void **state) {
  (void)state;
  static const char RULES[] =
      "\xef\xbb\xbf"
      "first\n# second\r\n\n  third  \r\n\tfourth\n\n#\nlast";
  expect_hidden(RULES, "first");
  expect_hidden(RULES, "third");
  expect_hidden(RULES, "fourth");
  expect_hidden(RULES, "last");
  expect_served(RULES, "second");
  expect_served(RULES, "# second");
  expect_served("/\n//\n", "a");
}

static void names_with_a_dot_before_them_are_hidden(void **state) {
  (void)state;
  expect_hidden("", ".perigeeignore");
  expect_hidden("", "public/.git/config");
  expect_served("", "a.b/c.d");
}

static void patterns_of_many_stars_take_no_time(void **state) {
  (void)state;
  char pattern[256], path[256];
  for (size_t i = 0; i + 2 < sizeof pattern; i += 2) memcpy(pattern + i, "*a", 3);
  memset(path, 'a', sizeof path - 1);
  path[sizeof path - 1] = '\0';
  path[sizeof path - 2] = 'b';
  expect_served(pattern, path);
  for (size_t i = 0; i + 5 < sizeof pattern; i += 5) memcpy(pattern + i, "**/a/", 6);
  pattern[strlen(pattern) - 1] = 'c';
  for (size_t i = 1; i < sizeof path - 1; i += 2) path[i] = '/';
  expect_served(pattern, path);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_name_is_hidden_in_every_folder),
      cmocka_unit_test(a_path_is_hidden_from_the_folder_on),
      cmocka_unit_test(a_star_stands_for_part_of_a_name),
      cmocka_unit_test(two_stars_stand_for_folders),
      cmocka_unit_test(a_question_mark_stands_for_one_character),
      cmocka_unit_test(a_slash_at_the_end_is_for_folders),
      cmocka_unit_test(lines_may_be_comments_or_empty),
      cmocka_unit_test(names_with_a_dot_before_them_are_hidden),
      cmocka_unit_test(patterns_of_many_stars_take_no_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
