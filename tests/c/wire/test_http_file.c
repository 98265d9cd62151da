// Paths that cannot leave the folder, types, dates, versions and ranges.
#include "wire/http_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void paths(void **state) {
  (void)state;
  static const struct {
    const char *target, *path;
    bool is_folder;
  } CASES[] = {
      {"/", "", true},
      {"/?a=b", "", true},
      {"/a", "a", false},
      {"/a/", "a", true},
      {"/a/b.js?v=..%2f", "a/b.js", false},
      {"/a%20b", "a b", false},
      {"/%61", "a", false},
      {"/a.b..c", "a.b..c", false},
      {"/%c3%a4", "\xc3\xa4", false},
      {"/a%3fb", "a?b", false},
      {"/%2525", "%25", false},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    HttpPath path;
    assert_int_equal(http_read_path(text_from(CASES[i].target), &path), 0);
    assert_string_equal(path.text, CASES[i].path);
    assert_int_equal(path.is_folder, CASES[i].is_folder);
  }
}

static void paths_with_a_way_out(void **state) {
  (void)state;
  static const struct {
    const char *target;
    int status;
  } CASES[] = {
      {"", -400},           {"a", -400},          {"//", -400},
      {"//a", -400},        {"/a//b", -400},      {"/a//", -400},
      {"/.", -400},         {"/..", -400},        {"/./a", -400},
      {"/../a", -400},      {"/a/..", -400},      {"/a/../b", -400},
      {"/a/.", -400},       {"/a/../", -400},     {"/%2e", -400},
      {"/%2e%2e", -400},    {"/%2E%2e/a", -400},  {"/.%2e/a", -400},
      {"/a%2fb", -400},     {"/..%2f", -400},     {"/a%5cb", -400},
      {"/a\\b", -400},      {"/..\\a", -400},     {"/%00", -400},
      {"/a%00.js", -400},   {"/a%0a", -400},      {"/a%7f", -400},
      {"/%", -400},         {"/%2", -400},        {"/%zz", -400},
      {"/%c3", -400},       {"/%ff", -400},       {"/%c0%ae%c0%ae", -400},
      {"/a#b", -400},       {"/%ed%a0%80", -400}, {"/.git", -404},
      {"/.git/a", -404},    {"/a/.hidden", -404}, {"/...", -404},
      {"/%2ehidden", -404},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    HttpPath path;
    int status = http_read_path(text_from(CASES[i].target), &path);
    if (status != CASES[i].status) fail_msg("%s gives %d", CASES[i].target, status);
  }
  char long_one[HTTP_PATH_MAX + 2] = "/";
  memset(long_one + 1, 'a', HTTP_PATH_MAX);
  HttpPath path;
  assert_int_equal(http_read_path(text_from(long_one), &path), -414);
}

static void types(void **state) {
  (void)state;
  assert_string_equal(http_type("a/b.html"), "text/html; charset=utf-8");
  assert_string_equal(http_type("a.JS"), "text/javascript; charset=utf-8");
  assert_string_equal(http_type("a.mjs"), "text/javascript; charset=utf-8");
  assert_string_equal(http_type("a.min.css"), "text/css; charset=utf-8");
  assert_string_equal(http_type("a.wasm"), "application/wasm");
  assert_string_equal(http_type("a.js/b"), "application/octet-stream");
  assert_string_equal(http_type("a"), "application/octet-stream");
  assert_string_equal(http_type("a."), "application/octet-stream");
}

static void dates(void **state) {
  (void)state;
  char date[HTTP_DATE_SIZE];
  http_date(date, 784111777);
  assert_string_equal(date, "Sun, 06 Nov 1994 08:49:37 GMT");
  for (int64_t at = 0; at < 4000000000; at += 98765431) {
    int64_t read;
    http_date(date, at);
    assert_true(http_read_date(text_from(date), &read));
    assert_int_equal(read, at);
  }
  static const char *const BAD[] = {"",
                                    "Sun, 06 Nov 1994 08:49:37 UTC",
                                    "Mon, 06 Nov 1994 08:49:37 GMT",
                                    "Sun, 06 Foo 1994 08:49:37 GMT",
                                    "Sun, 36 Nov 1994 08:49:37 GMT",
                                    "Sunday, 06-Nov-94 08:49:37 GMT",
                                    "Sun Nov  6 08:49:37 1994",
                                    "Sun, 06 Nov 1994 08:49:37 GMT "};
  int64_t read;
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
    assert_false(http_read_date(text_from(BAD[i]), &read));
}

static const HttpVersion VERSION = {.tag = "\"ab-1\"", .changed_s = 784111777};

static HttpRequest request_with(const char *name, const char *value) {
  HttpRequest request = {.method = METHOD_GET, .field_count = 1};
  request.fields[0] = (HttpField){text_from(name), text_from(value)};
  return request;
}

static void what_the_client_has_already(void **state) {
  (void)state;
  static const struct {
    const char *name, *value;
    bool is_known;
  } CASES[] = {
      {"If-None-Match", "\"ab-1\"", true},
      {"If-None-Match", "W/\"ab-1\"", true},
      {"If-None-Match", "\"x\", \"ab-1\"", true},
      {"If-None-Match", "\"ab-1\",\"x\"", true},
      {"If-None-Match", "*", true},
      {"If-None-Match", "\"ab-2\"", false},
      {"If-None-Match", "ab-1", false},
      {"If-None-Match", "\"x\"ab-1\"", false},
      {"If-None-Match", "", false},
      {"If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT", true},
      {"If-Modified-Since", "Sun, 06 Nov 1994 08:49:36 GMT", false},
      {"If-Modified-Since", "yesterday", false},
      {"Accept", "*", false},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    HttpRequest request = request_with(CASES[i].name, CASES[i].value);
    assert_int_equal(http_is_known(&request, &VERSION), CASES[i].is_known);
  }
  // If a request has both, the tag decides.
  HttpRequest request = request_with("If-None-Match", "\"other\"");
  request.fields[request.field_count++] = (HttpField){
      text_from("If-Modified-Since"), text_from("Sun, 06 Nov 1994 08:49:37 GMT")};
  assert_false(http_is_known(&request, &VERSION));
}

static void ranges(void **state) {
  (void)state;
  static const struct {
    const char *range;
    HttpPart part;
    uint64_t first, count;
  } CASES[] = {
      {"bytes=0-0", PART_RANGE, 0, 1},
      {"bytes=0-99", PART_RANGE, 0, 100},
      {"bytes=10-19", PART_RANGE, 10, 10},
      {"Bytes=90-", PART_RANGE, 90, 10},
      {"bytes=90-1000", PART_RANGE, 90, 10},
      {"bytes=-1", PART_RANGE, 99, 1},
      {"bytes=-1000", PART_RANGE, 0, 100},
      {"bytes=100-", PART_IMPOSSIBLE, 0, 0},
      {"bytes=1000-2000", PART_IMPOSSIBLE, 0, 0},
      {"bytes=-0", PART_IMPOSSIBLE, 0, 0},
      {"bytes=0-9,20-29", PART_WHOLE, 0, 100},
      {"bytes=9-0", PART_WHOLE, 0, 100},
      {"bytes=", PART_WHOLE, 0, 100},
      {"bytes=-", PART_WHOLE, 0, 100},
      {"bytes=a-b", PART_WHOLE, 0, 100},
      {"bytes=1", PART_WHOLE, 0, 100},
      {"bytes=--1", PART_WHOLE, 0, 100},
      {"bytes=1-2x", PART_WHOLE, 0, 100},
      {"bytes=99999999999999999999-", PART_WHOLE, 0, 100},
      {"bytes=0-99999999999999999999", PART_WHOLE, 0, 100},
      {"rows=0-1", PART_WHOLE, 0, 100},
      {"", PART_WHOLE, 0, 100},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    HttpRequest request = request_with("Range", CASES[i].range);
    uint64_t first, count;
    HttpPart part = http_read_part(&request, &VERSION, 100, &first, &count);
    if (part != CASES[i].part) fail_msg("%s gives %d", CASES[i].range, part);
    if (part == PART_IMPOSSIBLE) continue;
    assert_int_equal(first, CASES[i].first);
    assert_int_equal(count, CASES[i].count);
  }
}

static void ranges_of_one_version(void **state) {
  (void)state;
  static const struct {
    const char *condition;
    HttpPart part;
  } CASES[] = {
      {"\"ab-1\"", PART_RANGE},
      {"\"ab-2\"", PART_WHOLE},
      {"W/\"ab-1\"", PART_WHOLE},
      {"Sun, 06 Nov 1994 08:49:37 GMT", PART_RANGE},
      {"Sun, 06 Nov 1994 08:49:38 GMT", PART_WHOLE},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    HttpRequest request = request_with("Range", "bytes=0-1");
    request.fields[request.field_count++] =
        (HttpField){text_from("If-Range"), text_from(CASES[i].condition)};
    uint64_t first, count;
    assert_int_equal(http_read_part(&request, &VERSION, 100, &first, &count),
                     CASES[i].part);
  }
  HttpRequest request = request_with("Range", "bytes=0-1");
  request.method = METHOD_HEAD;
  uint64_t first, count;
  assert_int_equal(http_read_part(&request, &VERSION, 100, &first, &count), PART_WHOLE);
  request.method = METHOD_GET;
  assert_int_equal(http_read_part(&request, &VERSION, 0, &first, &count),
                   PART_IMPOSSIBLE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(paths),
      cmocka_unit_test(paths_with_a_way_out),
      cmocka_unit_test(types),
      cmocka_unit_test(dates),
      cmocka_unit_test(what_the_client_has_already),
      cmocka_unit_test(ranges),
      cmocka_unit_test(ranges_of_one_version),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
