// Names in Host headers: which are valid, which match a list, and which cannot be
// pointed here by a name server.
#include "wire/http_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void a_name_is_read_without_port_and_brackets(void **state) {
  (void)state;
  static const char *const CASES[][2] = {
      {"a", "a"},
      {"game.example:7777", "game.example"},
      {"[::1]", "::1"},
      {"[::1]:7777", "::1"},
      {"10.0.0.1:0", "10.0.0.1"},
      {"a:", ""},
      {"a:x", ""},
      {"a:123456", ""},
      {"a:80:80", ""},
      {"[::1", ""},
      {"[::1]x", ""},
      {"", ""},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    Text name = http_host_name(text_from(CASES[i][0]));
    assert_int_equal(name.size, strlen(CASES[i][1]));
    assert_memory_equal(name.bytes, CASES[i][1], name.size);
  }
}

static bool is_listed(const char *name, const char *list) {
  return http_is_listed_name(text_from(name), list);
}

static void a_list_is_of_names_and_of_all_names_one_label_below(void **state) {
  (void)state;
  static const char LIST[] = "game.example, A.example,*.play.example";
  assert_true(is_listed("game.example", LIST));
  assert_true(is_listed("a.EXAMPLE", LIST));
  assert_true(is_listed("eu.play.example", LIST));
  assert_false(is_listed("play.example", LIST));
  assert_false(is_listed(".play.example", LIST));
  assert_false(is_listed("a.eu.play.example", LIST));
  assert_false(is_listed("evilgame.example", LIST));
  assert_false(is_listed("game.example.evil", LIST));
  assert_false(is_listed("", LIST));
  assert_false(is_listed("", ""));
  assert_false(is_listed("a", "*"));
  assert_true(is_listed("*", "b, *"));
}

static void nobody_can_make_an_address_or_localhost_point_elsewhere(void **state) {
  (void)state;
  static const char *const FIXED[] = {"localhost", "LocalHost",    "game.localhost",
                                      "127.0.0.1", "192.168.1.20", "::1",
                                      "fe80::1",   "0.0.0.0",      "::ffff:10.0.0.1"};
  static const char *const OTHERS[] = {
      "",
      "evil.example",
      "localhost.evil.example",
      ".localhost",
      "notlocalhost",
      "127.0.0.1.nip.io",
      "127.1",
      "2130706433",
      "1.2.3.4.5",
      "0x7f.0.0.1",
      "localhost.",
      "::1::ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"};
  for (size_t i = 0; i < sizeof FIXED / sizeof *FIXED; i++)
    assert_true(http_is_fixed_name(text_from(FIXED[i])));
  for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++)
    assert_false(http_is_fixed_name(text_from(OTHERS[i])));
}

static void an_entry_that_no_host_matches_is_found(void **state) {
  (void)state;
  static const char *const BAD[] = {
      "https://a.example", "a.example:7777", "a/b", "a*.example", "**", "*.", "a@b"};
  Text bad;
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
    char list[64];
    snprintf(list, sizeof list, "good.example,%s", BAD[i]);
    assert_true(http_find_bad_name(list, &bad));
    assert_int_equal(bad.size, strlen(BAD[i]));
  }
  assert_false(http_find_bad_name("", &bad));
  assert_false(http_find_bad_name("a.example, *.b.example,*,::1,10.0.0.1", &bad));
}

static void an_entry_may_have_a_port_where_ports_count(void **state) {
  (void)state;
  static const char *const BAD[] = {"https://a.example",
                                    "a.example:",
                                    "a.example:x",
                                    "a.example:7777/x",
                                    "[::1",
                                    "a@b",
                                    "*"};
  Text bad;
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
    assert_true(http_find_bad_host(BAD[i], &bad));
    assert_int_equal(bad.size, strlen(BAD[i]));
  }
  assert_false(http_find_bad_host("a.example:7777, *.b.example,::1,[::1]:80", &bad));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_name_is_read_without_port_and_brackets),
      cmocka_unit_test(an_entry_may_have_a_port_where_ports_count),
      cmocka_unit_test(a_list_is_of_names_and_of_all_names_one_label_below),
      cmocka_unit_test(nobody_can_make_an_address_or_localhost_point_elsewhere),
      cmocka_unit_test(an_entry_that_no_host_matches_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
