// Runs tests of code that needs no environment. Each test must free all its memory.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"

static inline int nothing_is_left(void **state) {
  (void)state;
  assert_int_equal(mem_live(), 0);
  return 0;
}

#define TEST(function) cmocka_unit_test_teardown(function, nothing_is_left)
