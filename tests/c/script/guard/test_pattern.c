// The parts of a match, the count of its steps, and invalid patterns. test_string
// compares results with LuaJIT's.
#include "script/guard/pattern.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"

static PatternResult search(Pattern *pattern, const char *text, const char *subject) {
  pattern_init(pattern, text, strlen(text), subject, strlen(subject));
  if (pattern_take_anchor(pattern)) return pattern_match(pattern, pattern->subject);
  return pattern_search(pattern, pattern->subject);
}

// Expects the first match in `subject` to be `expected`; NULL: no match.
static void check(const char *text, const char *subject, const char *expected) {
  Pattern pattern;
  PatternResult result = search(&pattern, text, subject);
  assert_int_equal(result, expected != NULL ? PATTERN_FOUND : PATTERN_NONE);
  if (expected == NULL) return;
  assert_int_equal(pattern.to - pattern.from, strlen(expected));
  assert_memory_equal(pattern.from, expected, strlen(expected));
}

static void check_wrong(const char *text, const char *subject, const char *error) {
  Pattern pattern;
  assert_int_equal(search(&pattern, text, subject), PATTERN_WRONG);
  assert_string_equal(pattern.error, error);
}

static void repeats_take_as_much_or_as_little_as_they_may(void **state) {
  (void)state;
  check("a*", "aaab", "aaa");
  check("a+b", "caab", "aab");
  check("a-b", "aab", "aab");
  check("<.->", "<x><y>", "<x>");
  check("<.*>", "<x><y>", "<x><y>");
  check("colou?r", "color", "color");
  check("x?y?z", "yz", "yz");
  check("a*ab", "aaab", "aaab");
  check("%d+$", "12a34", "34");
  check("b*", "aaa", "");
  check("b+", "aaa", NULL);
}

static void sets_and_classes_stand_for_one_byte(void **state) {
  (void)state;
  check("[%a_][%w_]*", "9lives_9", "lives_9");
  check("[^%s]+", "  a-b ", "a-b");
  check("[]]", "a]", "]");
  check("[^]]", "]a", "a");
  check("[a-]+", "b-a-", "-a-");
  check("%x+", "xyzBEEF", "BEEF");
  check("%.", "a.b", ".");
  check("\200", "a\200", "\200");
}

static void an_anchor_holds_at_its_end(void **state) {
  (void)state;
  check("^b", "ab", NULL);
  check("^a", "ab", "a");
  check("a^", "ba^", "a^");
  check("a$", "aba", "a");
  check("a$b", "a$b", "a$b");
}

static void captures_are_numbered_as_they_open(void **state) {
  (void)state;
  Pattern pattern;
  assert_int_equal(search(&pattern, "((%w)%w)()", "-ab-"), PATTERN_FOUND);
  assert_int_equal(pattern.capture_count, 3);
  assert_int_equal(pattern.closed, 7);
  assert_int_equal(pattern.captures[0].to - pattern.captures[0].from, 2);
  assert_int_equal(pattern.captures[1].to - pattern.captures[1].from, 1);
  assert_true(pattern.captures[2].is_position);
  assert_ptr_equal(pattern.captures[2].from, pattern.subject + 3);
}

static void a_capture_is_open_again_where_its_end_is_taken_back(void **state) {
  (void)state;
  check("(a*)%1b", "aaaab", "aaaab");
  check("(a-)(b?)%1c", "abac", "abac");
  check("(a*(b-))c", "aabc", "aabc");
  Pattern pattern;
  assert_int_equal(search(&pattern, "(a", "a"), PATTERN_FOUND);
  assert_int_equal(pattern.closed, 0);
}

static void balances_and_frontiers_match_whole_words(void **state) {
  (void)state;
  check("%b()", "a(b(c)d)e)", "(b(c)d)");
  check("%b()", "((", NULL);
  check("%bxx", "axbx", "xbx");
  check("%f[%a]%a+%f[%A]", "12 the end", "the");
  check("%f[%z]", "ab", "");
}

static void a_zero_byte_ends_a_pattern_and_not_a_subject(void **state) {
  (void)state;
  Pattern pattern;
  pattern_init(&pattern, "a\0b", 3, "xa\0b", 4);
  assert_int_equal(pattern_search(&pattern, pattern.subject), PATTERN_FOUND);
  assert_int_equal(pattern.to - pattern.from, 1);
  pattern_init(&pattern, "%zb", 3, "xa\0b", 4);
  assert_int_equal(pattern_search(&pattern, pattern.subject), PATTERN_FOUND);
  assert_int_equal(pattern.to - pattern.from, 2);
}

static void what_is_wrong_is_told_where_it_is_reached(void **state) {
  (void)state;
  check_wrong("a%", "a", "malformed pattern (ends with '%')");
  check_wrong("[a", "a", "malformed pattern (missing ']')");
  check_wrong("[%", "a", "malformed pattern (missing ']')");
  check_wrong("[]", "a", "malformed pattern (missing ']')");
  check_wrong("%bx", "a", "unbalanced pattern");
  check_wrong("%fa", "a", "missing '[' after '%f' in pattern");
  check_wrong("a)", "a", "invalid pattern capture");
  check_wrong("%1", "a", "invalid capture index");
  check_wrong("(%1)", "a", "invalid capture index");
  check_wrong("%0", "a", "invalid capture index");
  check_wrong("((((((((((((((((((((((((((((((((((", "a", "too many captures");
  check("x[", "a", NULL);
  check("x%", "a", NULL);
}

static void choices_are_held_up_to_a_most(void **state) {
  (void)state;
  Buf text = {0}, subject = {0};
  for (int i = 0; i < PATTERN_CHOICES_MAX; i++) {
    buf_append(&text, "a?", 2);
    buf_u8(&subject, 'a');
  }
  buf_u8(&text, 0);
  buf_u8(&subject, 0);
  check((char *)text.data, (char *)subject.data, (char *)subject.data);
  text.size--;
  buf_append(&text, "a-", 3);
  check_wrong((char *)text.data, (char *)subject.data, "pattern too complex");
  check((char *)text.data, "aab", "aa");  // an absent capture has no place
  buf_deinit(&text);
  buf_deinit(&subject);
}

// --- Steps ---

typedef struct Counter {
  uint64_t steps;
  uint32_t questions;
  uint32_t answers;  // number of "yes" before the "no"
} Counter;

static bool count(void *data, uint32_t steps) {
  Counter *counter = data;
  counter->steps += steps;
  return ++counter->questions <= counter->answers;
}

static PatternResult run(Pattern *pattern, Counter *counter, const char *text,
                         char byte, size_t size) {
  char *subject = mem_alloc(size);
  memset(subject, byte, size);
  pattern_init(pattern, text, strlen(text), subject, size);
  pattern->go_on = count;
  pattern->data = counter;
  PatternResult result = pattern_search(pattern, subject);
  mem_free(subject);
  return result;
}

static void the_caller_is_asked_and_may_say_no(void **state) {
  (void)state;
  Pattern pattern;
  Counter counter = {.answers = 5};
  assert_int_equal(run(&pattern, &counter, ".-.-.-.-b$", 'a', 100000), PATTERN_STOPPED);
  assert_int_equal(counter.questions, 6);
  assert_in_range(counter.steps, 6 * PATTERN_STEPS, 7 * PATTERN_STEPS);
}

static void all_work_counts(void **state) {
  (void)state;
  static const char *const PATTERNS[] = {"a*b",  "a-b",   "[b-z]", "%d", "(a*)%1b",
                                         "%bab", "%f[b]", "()a?b", "x",  "^a*$"};
  for (size_t i = 0; i < sizeof PATTERNS / sizeof *PATTERNS; i++) {
    Pattern pattern;
    Counter counter = {.answers = 0};
    PatternResult result = run(&pattern, &counter, PATTERNS[i], 'a', 4 << 20);
    assert_int_equal(result, PATTERN_STOPPED);
  }
}

static void short_matches_ask_nobody(void **state) {
  (void)state;
  Pattern pattern;
  Counter counter = {.answers = 0};
  assert_int_equal(run(&pattern, &counter, "(a+)(a-)a$", 'a', 100), PATTERN_FOUND);
  assert_int_equal(counter.questions, 0);
  assert_in_range(pattern.steps, 10, 1000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(repeats_take_as_much_or_as_little_as_they_may),
      cmocka_unit_test(sets_and_classes_stand_for_one_byte),
      cmocka_unit_test(an_anchor_holds_at_its_end),
      cmocka_unit_test(captures_are_numbered_as_they_open),
      cmocka_unit_test(a_capture_is_open_again_where_its_end_is_taken_back),
      cmocka_unit_test(balances_and_frontiers_match_whole_words),
      cmocka_unit_test(a_zero_byte_ends_a_pattern_and_not_a_subject),
      cmocka_unit_test(what_is_wrong_is_told_where_it_is_reached),
      cmocka_unit_test(choices_are_held_up_to_a_most),
      cmocka_unit_test(the_caller_is_asked_and_may_say_no),
      cmocka_unit_test(all_work_counts),
      cmocka_unit_test(short_matches_ask_nobody),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
