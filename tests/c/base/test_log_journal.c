// Entries of the journal. The test is the journal: it reads a socket of its own by the
// rules of the native protocol, and makes standard error the stream that JOURNAL_STREAM
// names.
#define _GNU_SOURCE
#include "base/log_journal.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum { ENTRY_SIZE = 64 << 10 };

static char path[64], entry[ENTRY_SIZE];
static size_t entry_size;
static int journal, stderr_copy, text_pipe[2];

static void set_stream(void) {
  char stream[64];
  struct stat status;
  fstat(STDERR_FILENO, &status);
  snprintf(stream, sizeof stream, "%llu:%llu", (unsigned long long)status.st_dev,
           (unsigned long long)status.st_ino);
  setenv("JOURNAL_STREAM", stream, 1);
}

static int setup(void **state) {
  (void)state;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(path, sizeof path, "/tmp/perigee-journal-%d", (int)getpid());
  strcpy(address.sun_path, path);
  journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  bind(journal, (struct sockaddr *)&address, sizeof address);
  stderr_copy = dup(STDERR_FILENO);
  if (pipe2(text_pipe, O_NONBLOCK) != 0) return -1;
  dup2(text_pipe[1], STDERR_FILENO);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  dup2(stderr_copy, STDERR_FILENO);
  unlink(path);
  return 0;
}

static bool take_entry(void) {
  ssize_t size = recv(journal, entry, sizeof entry, 0);
  entry_size = size < 0 ? 0 : (size_t)size;
  return size >= 0;
}

// Checks the next field of the entry, which begins at `*at`, and moves `*at` behind it.
static void expect_field(size_t *at, const char *name, const char *value) {
  size_t length = strlen(name), size = 0;
  assert_memory_equal(entry + *at, name, length);
  assert_int_equal(entry[*at + length], '\n');
  *at += length + 1;
  for (size_t i = 0; i < 8; i++) size |= (size_t)(unsigned char)entry[*at + i] << 8 * i;
  assert_int_equal(size, strlen(value));
  assert_memory_equal(entry + *at + 8, value, size);
  assert_int_equal(entry[*at + 8 + size], '\n');
  *at += 8 + size + 1;
}

static size_t read_text(char *text, size_t size) {
  ssize_t count = read(text_pipe[0], text, size - 1);
  text[count < 0 ? 0 : count] = '\0';
  return count < 0 ? 0 : (size_t)count;
}

static void another_stream_gets_no_entries(void **state) {
  (void)state;
  char text[256];
  setenv("JOURNAL_STREAM", "1:2", 1);
  log_journal_open(path);
  assert_false(log_journal_is_open());
  log_info("a line", log_num("peer", 3));
  assert_false(take_entry());
  assert_true(read_text(text, sizeof text) > 0);
}

static void an_entry_has_message_priority_and_fields(void **state) {
  (void)state;
  char text[256];
  size_t at = 0;
  set_stream();
  log_journal_open(path);
  assert_true(log_journal_is_open());
  log_set_version(2, "abc");
  log_warn("dropped", log_num("peer", 3), log_str("room-kind", "du\nel"));
  log_set_version(0, "");
  assert_true(take_entry());
  expect_field(&at, "MESSAGE", "dropped peer=3 room-kind=\"du\\nel\" v=2.abc");
  expect_field(&at, "PRIORITY", "4");
  expect_field(&at, "SYSLOG_IDENTIFIER", "perigee");
  expect_field(&at, "PERIGEE_PEER", "3");
  expect_field(&at, "PERIGEE_ROOM_KIND", "du\nel");
  expect_field(&at, "PERIGEE_VERSION", "2");
  expect_field(&at, "PERIGEE_HASH", "abc");
  assert_int_equal(at, entry_size);
  assert_int_equal(read_text(text, sizeof text), 0);
}

static void json_stays_on_standard_error(void **state) {
  (void)state;
  char text[256];
  log_set_format(LOG_JSON);
  log_plain(LOG_INFO, "a line");
  log_set_format(LOG_TEXT);
  assert_false(take_entry());
  read_text(text, sizeof text);
  assert_non_null(strstr(text, "\"message\":\"a line\""));
}

// The journal of this test does not read, so the kernel's queue fills up.
static void lost_lines_are_reported_later(void **state) {
  (void)state;
  char lost[64];
  size_t at = 0;
  int sent = 0, read = 0;
  for (; sent < 1000; sent++) log_info("line", log_num("number", sent));
  while (take_entry()) read++;
  assert_true(read < sent);
  snprintf(lost, sizeof lost, "log lines were lost: nobody read them in time lines=%d",
           sent - read);
  log_plain(LOG_INFO, "next");
  assert_true(take_entry());
  expect_field(&at, "MESSAGE", lost);
  assert_true(take_entry());
  at = 0;
  expect_field(&at, "MESSAGE", "next");
}

static void without_the_journal_lines_go_to_standard_error(void **state) {
  (void)state;
  char text[256];
  unlink(path);
  log_plain(LOG_INFO, "still here");
  read_text(text, sizeof text);
  assert_non_null(strstr(text, "still here"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(another_stream_gets_no_entries),
      cmocka_unit_test(an_entry_has_message_priority_and_fields),
      cmocka_unit_test(json_stays_on_standard_error),
      cmocka_unit_test(lost_lines_are_reported_later),
      cmocka_unit_test(without_the_journal_lines_go_to_standard_error),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
