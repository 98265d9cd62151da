// The part of cmocka that the tests of the C client use, because Debian has no cmocka
// for Windows.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
  const char *name;
  void (*run)(void **state);
  int (*set_up)(void **state);
  int (*tear_down)(void **state);
  void *state;
};

#define cmocka_unit_test(fn) \
  { #fn, fn, NULL, NULL, NULL }
#define cmocka_unit_test_teardown(fn, down) \
  { #fn, fn, NULL, down, NULL }
#define cmocka_unit_test_setup_teardown(fn, up, down) \
  { #fn, fn, up, down, NULL }
#define cmocka_unit_test_prestate_setup_teardown(fn, up, down, state) \
  { #fn, fn, up, down, state }
#define cmocka_run_group_tests(tests, up, down) \
  run_tests(tests, sizeof(tests) / sizeof *(tests))
#define cmocka_run_group_tests_name(name, tests, up, down) \
  cmocka_run_group_tests(tests, up, down)
#define _cmocka_run_group_tests(name, tests, count, up, down) run_tests(tests, count)

/// Runs the tests one after the other; returns the number of those that fail.
int run_tests(const struct CMUnitTest *tests, size_t count);

/// Ends the running test.
__attribute__((noreturn, format(gnu_printf, 3, 4))) void end_test(const char *file,
                                                                  int line,
                                                                  const char *format,
                                                                  ...);

static inline void check_equal(const char *file, int line, intmax_t a, intmax_t b) {
  if (a != b) end_test(file, line, "%lld != %lld", (long long)a, (long long)b);
}

static inline void check_text(const char *file, int line, const char *a,
                              const char *b) {
  if (strcmp(a, b) != 0) end_test(file, line, "\"%s\" != \"%s\"", a, b);
}

#define HERE __FILE__, __LINE__
#define fail_msg(...) end_test(HERE, __VA_ARGS__)
#define assert_true(value) ((value) ? (void)0 : end_test(HERE, "%s", #value))
#define assert_false(value) assert_true(!(value))
#define assert_null(value) assert_true((value) == NULL)
#define assert_non_null(value) assert_true((value) != NULL)
#define assert_ptr_equal(a, b) assert_true((a) == (b))
#define assert_int_equal(a, b) check_equal(HERE, (intmax_t)(a), (intmax_t)(b))
#define assert_int_not_equal(a, b) assert_true((intmax_t)(a) != (intmax_t)(b))
#define assert_in_range(value, least, most) \
  assert_true((value) >= (least) && (value) <= (most))
#define assert_string_equal(a, b) check_text(HERE, a, b)
#define assert_string_not_equal(a, b) assert_true(strcmp(a, b) != 0)
#define assert_memory_equal(a, b, size) assert_true(memcmp(a, b, size) == 0)
#define assert_memory_not_equal(a, b, size) assert_true(memcmp(a, b, size) != 0)
#define print_message printf
