// Failures of handlers by place: what counts as one place, and how many are kept.
#include "server/dashboard/failures.h"

#include <stdio.h>
#include <string.h>

#include "leaks.h"

static Failures failures;

static const char *put(Buf *json) {
  json->size = 0;
  failures_put(&failures, json);
  buf_u8(json, '\0');
  return (const char *)json->data;
}

static void the_same_line_counts_together(void **state) {
  (void)state;
  Buf json = {0};
  failures = (Failures){.changes = 0};
  failures_add(&failures, "on_message.move failed: game.lua:12: no tile at 7\nstack",
               10);
  failures_add(&failures, "on_message.move failed: game.lua:12: no tile at 8\nstack",
               20);
  failures_add(&failures, "on_message.move failed: game.lua:120: another line", 15);
  failures_add(&failures, "on_tick failed: went over its budget\nduel.lua:1: in f", 12);
  failures_add(&failures, "on_tick failed: went over its budget\nduel.lua:2: in g", 13);
  assert_string_equal(put(&json),
                      "[{\"count\":2,\"first\":10.000,\"last\":20.000,\"text\":\"on_"
                      "message.move failed: "
                      "game.lua:12: no tile at 8\\u000astack\"},"
                      "{\"count\":1,\"first\":15.000,\"last\":15.000,\"text\":\"on_"
                      "message.move failed: "
                      "game.lua:120: another line\"},"
                      "{\"count\":2,\"first\":12.000,\"last\":13.000,\"text\":\"on_"
                      "tick failed: went over "
                      "its budget\\u000aduel.lua:2: in g\"}]");
  assert_int_equal(failures.changes, 5);
  failures_deinit(&failures);
  assert_string_equal(put(&json), "[]");
  buf_deinit(&json);
}

static void the_place_that_was_quiet_for_longest_makes_way(void **state) {
  (void)state;
  Buf json = {0};
  char text[32];
  failures = (Failures){.changes = 0};
  for (int i = 0; i < FAILURE_GROUPS; i++) {
    snprintf(text, sizeof text, "a.lua:%d: x", i);
    failures_add(&failures, text, 1000 + i);
  }
  failures_add(&failures, "a.lua:0: again", 2000);
  failures_add(&failures, "b.lua:1: new", 2000);  // at the same time
  assert_null(strstr(put(&json), "a.lua:1: "));
  assert_non_null(strstr(put(&json), "a.lua:0: again"));
  assert_non_null(strstr(put(&json), "b.lua:1: new"));
  uint32_t count = 0;
  for (const char *at = put(&json); (at = strstr(at, "\"count\"")) != NULL; at++)
    count++;
  assert_int_equal(count, FAILURE_GROUPS);
  failures_deinit(&failures);
  buf_deinit(&json);
}

static void a_long_text_is_cut_between_characters(void **state) {
  (void)state;
  enum { SIZE = 3 * FAILURE_TEXT_BYTES };
  static char text[SIZE + 1];
  failures = (Failures){.changes = 0};
  for (int i = 0; i < SIZE; i++) text[i] = "\xe2\x82\xac"[i % 3];
  failures_add(&failures, text, 1);
  assert_int_equal(strlen(failures.groups[0].text), FAILURE_TEXT_BYTES / 3 * 3);
  failures_deinit(&failures);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(the_same_line_counts_together),
      TEST(the_place_that_was_quiet_for_longest_makes_way),
      TEST(a_long_text_is_cut_between_characters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
