// The log keeps its newest lines with their versions, up to a number of lines and of
// bytes.
#include "base/log_ring.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static void put(LogRing *ring, const char *text) {
  log_ring_put(ring, &(LogLine){.level = LOG_INFO,
                                .text = (char *)text,
                                .size = (uint32_t)strlen(text)});
}

static void the_newest_are_kept(void **state) {
  (void)state;
  LogRing ring = {.count = 0};
  assert_null(log_ring_at(&ring, 0));
  char text[32];
  for (int i = 0; i < 3 * LOG_RING_LINES; i++) {
    snprintf(text, sizeof text, "line %d", i);
    put(&ring, text);
    assert_string_equal(log_ring_at(&ring, 0)->text, text);
    assert_true((log_ring_at(&ring, 1) == NULL) == (i == 0));
  }
  snprintf(text, sizeof text, "line %d", 2 * LOG_RING_LINES);
  assert_string_equal(log_ring_at(&ring, LOG_RING_LINES - 1)->text, text);
  assert_null(log_ring_at(&ring, LOG_RING_LINES));
  log_ring_deinit(&ring);
  assert_null(log_ring_at(&ring, 0));
  assert_int_equal(mem_live(), 0);
}

static void of_a_long_one_the_beginning_is(void **state) {
  (void)state;
  LogRing ring = {.count = 0};
  char text[2 * LOG_RING_BYTES + 2] = "x";
  for (int i = 1; i < 2 * LOG_RING_BYTES; i += 2) memcpy(text + i, "\xc3\xa9", 3);
  put(&ring, text);
  const LogLine *line = log_ring_at(&ring, 0);
  // The cut does not split a character.
  assert_int_equal(line->size, LOG_RING_BYTES - 1);
  assert_int_equal(strlen(line->text), line->size);
  log_ring_deinit(&ring);
  assert_int_equal(mem_live(), 0);
}

static void sink(void *data, LogLevel level, const char *text, size_t size) {
  (void)data, (void)level, (void)text, (void)size;
}

static void the_log_fills_it(void **state) {
  (void)state;
  LogRing ring = {.count = 0};
  LogState before =
      log_swap((LogState){.level = LOG_INFO, .sink = sink, .ring = &ring});
  assert_int_equal(log_kept(), 0);
  log_plain(LOG_DEBUG, "not logged");
  assert_null(log_ring_at(&ring, 0));
  log_info("first", log_num("n", 1));
  assert_int_equal(log_ring_at(&ring, 0)->version, 0);
  log_set_version(3, "abc");
  log_warn("second\n  line", log_str("text", "a b\xff"));
  log_set_version(4, "def");
  const LogLine *line = log_ring_at(&ring, 0);
  assert_string_equal(line->text, "second text=\"a b\\xff\"\n      line");
  assert_int_equal(line->level, LOG_WARN);
  assert_int_equal(line->version, 3);
  assert_string_equal(line->hash, "abc");
  assert_true(line->unix_s > 1600000000);
  assert_string_equal(log_ring_at(&ring, 1)->text, "first n=1");
  log_swap(before);
  log_plain(LOG_DEBUG, "elsewhere");
  assert_int_equal(ring.count, 2);
  log_ring_deinit(&ring);
  assert_int_equal(mem_live(), 0);
}

static void its_lines_are_copied_by_their_number(void **state) {
  (void)state;
  LogRing ring = {.count = 0};
  LogLine line;
  char text[LOG_RING_BYTES + 1], expected[32];
  assert_int_equal(log_kept(), 0);
  assert_false(log_read_kept(0, &line, text));
  LogState before =
      log_swap((LogState){.level = LOG_INFO, .sink = sink, .ring = &ring});
  enum { LINES = LOG_RING_LINES + 5 };
  for (int i = 0; i < LINES; i++) {
    snprintf(expected, sizeof expected, "line %d", i);
    log_plain(LOG_WARN, expected);
  }
  assert_int_equal(log_kept(), LINES);
  assert_false(log_read_kept(LINES - LOG_RING_LINES - 1, &line, text));
  assert_true(log_read_kept(LINES - LOG_RING_LINES, &line, text));
  assert_string_equal(line.text, "line 5");
  assert_true(log_read_kept(LINES - 1, &line, text));
  assert_ptr_equal(line.text, text);
  assert_string_equal(text, expected);
  assert_int_equal(line.size, strlen(expected));
  assert_int_equal(line.level, LOG_WARN);
  assert_false(log_read_kept(LINES, &line, text));
  log_swap(before);
  log_ring_deinit(&ring);
  assert_int_equal(mem_live(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_newest_are_kept),
      cmocka_unit_test(of_a_long_one_the_beginning_is),
      cmocka_unit_test(the_log_fills_it),
      cmocka_unit_test(its_lines_are_copied_by_their_number),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
