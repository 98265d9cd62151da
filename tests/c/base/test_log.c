// The log: the bytes that arrive on standard error. Each test replaces standard error
// by a pipe, or by a terminal for colours.
#define _GNU_SOURCE  // packet pipes, pseudo-terminals
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

static int stderr_copy, captured[2];
static char output[4096];

static void capture(void) {
  stderr_copy = dup(STDERR_FILENO);
  assert_int_equal(pipe2(captured, O_DIRECT), 0);
  dup2(captured[1], STDERR_FILENO);
}

// Returns the captured bytes. One read from a packet pipe returns the bytes of one
// write, so the test notices a line that is written in two parts.
static const char *captured_text(void) {
  dup2(stderr_copy, STDERR_FILENO);
  close(stderr_copy);
  close(captured[1]);
  ssize_t size = read(captured[0], output, sizeof output - 1);
  output[size < 0 ? 0 : size] = 0;
  close(captured[0]);
  return output;
}

// Checks the text line "HH:MM:SS.mmm level rest".
static void check_text(const char *expected) {
  const char *line = captured_text();
  int hour, minute, second, ms, end = 0;
  assert_int_equal(
      sscanf(line, "%2d:%2d:%2d.%3d %n", &hour, &minute, &second, &ms, &end), 4);
  assert_int_equal(end, 13);
  assert_true(hour < 24 && minute < 60 && second < 61);
  assert_string_equal(line + end, expected);
}

// Checks the JSON line {"time":"...Z",rest.
static void check_json(const char *expected) {
  const char *line = captured_text();
  int year, month, day, hour, minute, second, ms, end = 0;
  assert_int_equal(sscanf(line, "{\"time\":\"%4d-%2d-%2dT%2d:%2d:%2d.%3dZ\",%n", &year,
                          &month, &day, &hour, &minute, &second, &ms, &end),
                   7);
  assert_true(year >= 2024 && month <= 12 && day <= 31 && hour < 24);
  assert_string_equal(line + end, expected);
}

static void a_text_line_has_time_level_message_and_fields(void **state) {
  (void)state;
  capture();
  log_info("connected", log_num("peer", 3), log_str("name", "ann"),
           log_str("address", "127.0.0.1"));
  check_text("info  connected peer=3 name=ann address=127.0.0.1\n");
}

static void levels_are_padded_to_one_width(void **state) {
  (void)state;
  capture();
  log_plain(LOG_ERROR, "a");
  check_text("error a\n");
  capture();
  log_plain(LOG_WARN, "b");
  check_text("warn  b\n");
}

static void the_script_version_follows_the_fields(void **state) {
  (void)state;
  log_set_version(2, "");
  capture();
  log_info("reloaded", log_num("took", -5));
  check_text("info  reloaded took=-5 v=2\n");
  log_set_format(LOG_JSON);
  capture();
  log_plain(LOG_INFO, "reloaded");
  check_json("\"level\":\"info\",\"message\":\"reloaded\",\"version\":2}\n");
}

static void the_versions_hash_follows_its_number(void **state) {
  (void)state;
  log_set_version(3, "1a2b3c4");
  capture();
  log_plain(LOG_INFO, "reloaded");
  check_text("info  reloaded v=3.1a2b3c4\n");
  log_set_format(LOG_JSON);
  capture();
  log_plain(LOG_INFO, "reloaded");
  check_json(
      "\"level\":\"info\",\"message\":\"reloaded\",\"version\":3,"
      "\"hash\":\"1a2b3c4\"}\n");
  log_set_format(LOG_TEXT);
  log_set_version(4, "longer than any hash");
  capture();
  log_plain(LOG_INFO, "m");
  check_text("info  m v=4.longer than any \n");
}

static void values_are_quoted_where_they_must_be(void **state) {
  (void)state;
  capture();
  log_info("m", log_str("a", "two words"), log_str("b", "x=1"), log_str("c", ""),
           log_str("d", "say \"hi\" \\o/"), log_str("e", "Zo\xc3\xab"),
           log_str("f", NULL));
  check_text(
      "info  m a=\"two words\" b=\"x=1\" c=\"\" d=\"say \\\"hi\\\" \\\\o/\" "
      "e=Zo\xc3\xab "
      "f=\"\"\n");
}

static void no_value_can_forge_a_line_or_a_terminal_sequence(void **state) {
  (void)state;
  capture();
  log_info("m", log_str("a", "x\n12:00:00.000 error forged"), log_str("b", "\x1b[2J"),
           log_str("c", "\r\t\x7f\xc2\x9b"), log_bytes("d", "\0z", 2),
           log_str("e", "\xff\xc3"));
  check_text(
      "info  m a=\"x\\n12:00:00.000 error forged\" b=\"\\u001b[2J\" "
      "c=\"\\r\\t\\u007f\\u009b\" d=\"\\u0000z\" e=\"\\xff\\xc3\"\n");
}

static void a_traceback_is_indented_under_its_line(void **state) {
  (void)state;
  capture();
  log_error("main.lua:3: boom\nstack traceback:\n\tmain.lua:3: in f\n",
            log_str("room", "lobby"));
  check_text(
      "error main.lua:3: boom room=lobby\n    stack traceback:\n        main.lua:3: in "
      "f\n");
}

static void control_characters_of_a_message_are_escaped(void **state) {
  (void)state;
  capture();
  log_plain(LOG_INFO, "a\x1b[31m\rb\xff\nc\x1b]0;x\x07");
  check_text("info  a\\u001b[31m\\rb\\xff\n    c\\u001b]0;x\\u0007\n");
}

static void invisible_characters_of_a_name_are_escaped(void **state) {
  (void)state;
  capture();
  // Right-to-left override, line separator, a tag beyond 16 bits.
  log_info("x",
           log_str("name",
                   "a\xe2\x80\xae"
                   "b"),
           log_str("b", "\xe2\x80\xa8"), log_str("c", "\xf3\xa0\x81\x81"));
  check_text("info  x name=\"a\\u202eb\" b=\"\\u2028\" c=\"\\udb40\\udc41\"\n");
  log_set_format(LOG_JSON);
  capture();
  log_info("x", log_str("c", "\xf3\xa0\x81\x81"));
  check_json("\"level\":\"info\",\"message\":\"x\",\"c\":\"\\udb40\\udc41\"}\n");
}

static void a_json_line_is_one_object(void **state) {
  (void)state;
  log_set_format(LOG_JSON);
  capture();
  log_warn("slow", log_num("peer", INT64_MIN), log_str("name", "ann b"));
  check_json(
      "\"level\":\"warn\",\"message\":\"slow\",\"peer\":-9223372036854775808,"
      "\"name\":\"ann b\"}\n");
}

static void json_escapes_whatever_is_not_text(void **state) {
  (void)state;
  log_set_format(LOG_JSON);
  capture();
  log_error("a \"b\" \\\nstack:\n\tx", log_bytes("c", "\0\x1f\x7f\xc2\x80\xff", 6),
            log_str("k\"", "\xe2\x82\xac"));
  check_json(
      "\"level\":\"error\",\"message\":\"a \\\"b\\\" \\\\\\nstack:\\n\\tx\","
      "\"c\":\"\\u0000\\u001f\\u007f\\u0080\\ufffd\",\"k\\\"\":\"\xe2\x82\xac\"}\n");
}

static void lines_below_the_level_are_not_written(void **state) {
  (void)state;
  log_set_level(LOG_WARN);
  capture();
  log_info("no", log_num("a", 1));
  log_plain(LOG_DEBUG, "no");
  log_plain(LOG_WARN, "yes");
  check_text("warn  yes\n");
}

static void off_is_off_for_everything(void **state) {
  (void)state;
  log_set_level(LOG_OFF);
  capture();
  log_plain(LOG_ERROR, "no");
  log_plain(LOG_OFF, "no");
  assert_string_equal(captured_text(), "");
  log_set_level(LOG_DEBUG);
  assert_true(log_is_on(LOG_DEBUG));
  assert_false(log_is_on(LOG_OFF));
}

static void levels_are_parsed_by_name(void **state) {
  (void)state;
  assert_int_equal(log_level_parse("debug"), LOG_DEBUG);
  assert_int_equal(log_level_parse("info"), LOG_INFO);
  assert_int_equal(log_level_parse("warn"), LOG_WARN);
  assert_int_equal(log_level_parse("error"), LOG_ERROR);
  assert_int_equal(log_level_parse("off"), LOG_OFF);
  assert_int_equal(log_level_parse("Info"), -1);
  assert_int_equal(log_level_parse(""), -1);
}

// Logs a line to a fresh terminal; returns the bytes that the terminal gets.
static const char *shown_on_a_terminal(void) {
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) || unlockpt(master)) skip();
  int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
  if (slave < 0) skip();
  stderr_copy = dup(STDERR_FILENO);
  dup2(slave, STDERR_FILENO);
  log_plain(LOG_INFO, "hello");
  dup2(stderr_copy, STDERR_FILENO);
  close(stderr_copy);
  ssize_t size = read(master, output, sizeof output - 1);
  output[size < 0 ? 0 : size] = 0;
  close(slave);
  close(master);
  return output;
}

static void a_terminal_gets_colours(void **state) {
  (void)state;
  unsetenv("NO_COLOR");
  const char *shown = shown_on_a_terminal();
  assert_memory_equal(shown, "\x1b[2m", 4);
  assert_non_null(strstr(shown, "\x1b[0m \x1b[32minfo \x1b[0m hello\r\n"));
}

static void no_color_is_respected(void **state) {
  (void)state;
  setenv("NO_COLOR", "1", 1);
  assert_null(strchr(shown_on_a_terminal(), '\x1b'));
  unsetenv("NO_COLOR");
}

static void errno_and_a_closed_stderr_do_not_matter(void **state) {
  (void)state;
  stderr_copy = dup(STDERR_FILENO);
  close(STDERR_FILENO);
  errno = EXDEV;
  log_plain(LOG_INFO, "nobody hears this");
  assert_int_equal(errno, EXDEV);
  dup2(stderr_copy, STDERR_FILENO);
  close(stderr_copy);
}

static void a_long_value_is_cut(void **state) {
  (void)state;
  char text[LOG_VALUE_MAX + 100];
  memset(text, 'x', sizeof text);
  capture();
  log_info("kicked", log_bytes("text", text, sizeof text), log_num("peer", 3));
  const char *line = captured_text();
  const char *rest = strstr(line, "text=") + strlen("text=");
  assert_int_equal(strspn(rest, "x"), LOG_VALUE_MAX);
  assert_string_equal(rest + LOG_VALUE_MAX, " peer=3\n");
}

static int reset(void **state) {
  (void)state;
  log_set_level(LOG_INFO);
  log_set_format(LOG_TEXT);
  log_set_version(0, "");
  assert_int_equal(mem_live(), 0);
  return 0;
}

typedef struct Kept {
  char text[64];
  LogLevel level;
} Kept;

static void keep(void *data, LogLevel level, const char *text, size_t size) {
  Kept *kept = data;
  snprintf(kept->text, sizeof kept->text, "%.*s", (int)size, text);
  kept->level = level;
}

static void a_sink_gets_lines_without_time_and_level(void **state) {
  (void)state;
  Kept kept;
  log_set_sink(keep, &kept);
  log_warn("one\ntwo", log_num("x", 1));
  assert_string_equal(kept.text, "one x=1\n    two");
  assert_int_equal(kept.level, LOG_WARN);
  log_set_sink(NULL, NULL);
  capture();
  log_plain(LOG_WARN, "b");
  check_text("warn  b\n");
}

static void states_of_the_log_can_be_exchanged(void **state) {
  (void)state;
  Kept kept = {.text = ""};
  LogState other = {.level = LOG_ERROR, .version = 7, .sink = keep, .sink_data = &kept};
  other = log_swap(other);
  log_plain(LOG_WARN, "below its level");
  log_plain(LOG_ERROR, "a");
  assert_string_equal(kept.text, "a v=7");
  log_swap(other);
  capture();
  log_plain(LOG_WARN, "b");
  check_text("warn  b\n");
}

static void a_thread_can_use_a_log_of_its_own(void **state) {
  (void)state;
  Kept kept = {.text = ""};
  Log *log = log_new();
  assert_null(log_use(log));
  log_set_sink(keep, &kept);
  log_set_level(LOG_WARN);
  log_plain(LOG_WARN, "a");
  assert_string_equal(kept.text, "a");
  assert_ptr_equal(log_use(NULL), log);
  capture();
  log_plain(LOG_INFO, "b");
  check_text("info  b\n");
  assert_string_equal(kept.text, "a");
  log_free(log);
}

static void fill_pipe(void) {
  static const char bytes[4096];
  int flags = fcntl(captured[1], F_GETFL);
  assert_int_equal(fcntl(captured[1], F_SETFL, flags | O_NONBLOCK), 0);
  while (write(captured[1], bytes, sizeof bytes) > 0) continue;
  assert_int_equal(fcntl(captured[1], F_SETFL, flags), 0);
}

static void read_pipe(int packets) {
  static char bytes[4096];
  for (int i = 0; i < packets; i++)
    assert_int_equal(read(captured[0], bytes, sizeof bytes), sizeof bytes);
}

static void nobody_who_does_not_read_it_is_waited_for(void **state) {
  (void)state;
  capture();
  int packets = fcntl(captured[1], F_SETPIPE_SZ, 4096) / 4096;
  fill_pipe();
  for (int i = 0; i < 1000; i++) log_plain(LOG_INFO, "unheard");
  read_pipe(packets);
  log_plain(LOG_INFO, "heard");
  const char *text = captured_text();
  assert_non_null(
      strstr(text, "warn  log lines were lost: nobody read them in time lines=1000\n"));
  assert_non_null(strstr(text, "info  heard\n"));
  capture();
  log_plain(LOG_INFO, "and that is that");
  check_text("info  and that is that\n");
}

static void what_finds_room_for_a_part_is_cut_there(void **state) {
  (void)state;
  static char message[6000];
  memset(message, 'x', sizeof message - 1);
  capture();
  fcntl(captured[1], F_SETPIPE_SZ, 4096);
  log_plain(LOG_INFO, message);
  read_pipe(1);
  log_plain(LOG_INFO, "the next");
  const char *text = captured_text();
  assert_int_equal(text[0], '\n');
  assert_non_null(strstr(text, "lines=1\n"));
  assert_non_null(strstr(text, "info  the next\n"));
}

#define TEST(function) cmocka_unit_test_teardown(function, reset)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_text_line_has_time_level_message_and_fields),
      TEST(levels_are_padded_to_one_width),
      TEST(the_script_version_follows_the_fields),
      TEST(the_versions_hash_follows_its_number),
      TEST(values_are_quoted_where_they_must_be),
      TEST(no_value_can_forge_a_line_or_a_terminal_sequence),
      TEST(a_long_value_is_cut),
      TEST(a_traceback_is_indented_under_its_line),
      TEST(control_characters_of_a_message_are_escaped),
      TEST(invisible_characters_of_a_name_are_escaped),
      TEST(a_json_line_is_one_object),
      TEST(json_escapes_whatever_is_not_text),
      TEST(lines_below_the_level_are_not_written),
      TEST(off_is_off_for_everything),
      TEST(levels_are_parsed_by_name),
      TEST(a_terminal_gets_colours),
      TEST(no_color_is_respected),
      TEST(a_sink_gets_lines_without_time_and_level),
      TEST(states_of_the_log_can_be_exchanged),
      TEST(a_thread_can_use_a_log_of_its_own),
      TEST(nobody_who_does_not_read_it_is_waited_for),
      TEST(what_finds_room_for_a_part_is_cut_there),
      TEST(errno_and_a_closed_stderr_do_not_matter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
