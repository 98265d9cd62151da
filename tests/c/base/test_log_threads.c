// The log used by several threads at once: lines stay whole and in each thread's order,
// the parts of a version stay together, and a reader that does not read delays the
// threads only for a moment.
#define _GNU_SOURCE
#include "base/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/log_ring.h"
#include "base/mem.h"

enum { WRITERS = 4, LINES = 300, LONG = 6000, PIPE = 4096 };

static int stderr_copy, captured[2];
static pthread_t reader;
static Buf heard;

static void *read_all(void *data) {
  (void)data;
  static char bytes[64 << 10];
  for (ssize_t size; (size = read(captured[0], bytes, sizeof bytes)) > 0;)
    buf_append(&heard, bytes, (size_t)size);
  return NULL;
}

static void capture(void) {
  stderr_copy = dup(STDERR_FILENO);
  assert_int_equal(pipe2(captured, O_CLOEXEC), 0);
  dup2(captured[1], STDERR_FILENO);
}

static void begin_reading(void) {
  assert_int_equal(pthread_create(&reader, NULL, read_all, NULL), 0);
}

// Ends the captured output, and puts all of it into `heard`, with a NUL at the end.
static void end_capture(void) {
  dup2(stderr_copy, STDERR_FILENO);
  close(stderr_copy);
  close(captured[1]);
  pthread_join(reader, NULL);
  close(captured[0]);
  buf_u8(&heard, 0);
}

static void run_writers(void *(*write_lines)(void *)) {
  pthread_t threads[WRITERS];
  for (int i = 0; i < WRITERS; i++)
    assert_int_equal(
        pthread_create(&threads[i], NULL, write_lines, (void *)(intptr_t)i), 0);
  for (int i = 0; i < WRITERS; i++) pthread_join(threads[i], NULL);
}

// --- Lines ---

static char filler[LONG + 1];

// Writes numbered lines. Every tenth line is longer than a pipe accepts at once.
static void *write_numbered(void *data) {
  int64_t writer = (intptr_t)data;
  for (int64_t i = 0; i < LINES; i++)
    log_info(i % 10 == 0 ? filler : "short", log_num("writer", writer),
             log_num("line", i), log_str("end", "here"));
  return NULL;
}

static void check_line(const char *line, int next[WRITERS]) {
  int writer, number, end = 0;
  const char *fields = strstr(line, " writer=");
  assert_non_null(fields);
  assert_int_equal(
      sscanf(fields, " writer=%d line=%d end=here%n", &writer, &number, &end), 2);
  assert_int_equal(fields[end], 0);
  assert_in_range(writer, 0, WRITERS - 1);
  assert_int_equal(number, next[writer]++);
  const char *message = number % 10 == 0 ? filler : "short";
  static const size_t HEAD = sizeof "12:34:56.789 info  " - 1;
  assert_int_equal(fields - line, HEAD + strlen(message));
  assert_memory_equal(line + HEAD, message, strlen(message));
}

static void lines_are_whole_and_in_each_threads_order(void **state) {
  (void)state;
  memset(filler, 'x', LONG);
  capture();
  begin_reading();
  run_writers(write_numbered);
  end_capture();
  int next[WRITERS] = {0};
  for (char *line = (char *)heard.data; *line;) {
    char *end = strchr(line, '\n');
    assert_non_null(end);
    *end = 0;
    check_line(line, next);
    line = end + 1;
  }
  for (int i = 0; i < WRITERS; i++) assert_int_equal(next[i], LINES);
}

// --- Kept lines and versions ---

static void *write_and_read_kept(void *data) {
  LogLine line;
  char text[LOG_RING_BYTES + 1];
  for (int i = 0; i < LINES; i++) {
    log_info("m", log_num("writer", (intptr_t)data));
    uint64_t count = log_kept();
    if (log_read_kept(count - 1, &line, text))
      assert_int_equal(strlen(text), line.size);
  }
  return NULL;
}

// Changes version, level and format. Each version's hash contains its number.
static void *change_state(void *data) {
  (void)data;
  for (uint32_t i = 1; i <= LINES; i++) {
    char hash[LOG_HASH_MAX + 1];
    snprintf(hash, sizeof hash, "h%u", i);
    log_set_version(i, hash);
    log_set_level(i % 2 ? LOG_DEBUG : LOG_INFO);
    log_set_format(i % 3 ? LOG_TEXT : LOG_JSON);
    LogState same = log_swap(
        (LogState){.level = LOG_INFO, .version = i, .hash = "swapped", .sink = NULL});
    log_swap(same);
  }
  return NULL;
}

static void *one_of_each(void *data) {
  return data ? write_and_read_kept(data) : change_state(data);
}

static void check_version(const LogLine *line) {
  char hash[LOG_HASH_MAX + 1] = "";
  if (line->version > 0) snprintf(hash, sizeof hash, "h%u", line->version);
  if (strcmp(line->hash, "swapped") != 0) assert_string_equal(line->hash, hash);
}

static void what_is_set_meanwhile_belongs_together(void **state) {
  (void)state;
  static LogRing ring;
  LogLine line;
  char text[LOG_RING_BYTES + 1];
  capture();
  begin_reading();
  log_set_ring(&ring);
  run_writers(one_of_each);
  uint64_t count = log_kept();
  assert_true(count > LOG_RING_LINES);
  for (uint64_t i = count - LOG_RING_LINES; i < count; i++) {
    assert_true(log_read_kept(i, &line, text));
    check_version(&line);
  }
  log_set_ring(NULL);
  end_capture();
  log_ring_deinit(&ring);
}

// --- A reader that does not read ---

static void *write_unheard(void *data) {
  (void)data;
  for (int i = 0; i < LINES; i++) log_plain(LOG_INFO, "unheard");
  return NULL;
}

static void fill_pipe(void) {
  static const char bytes[PIPE];
  int flags = fcntl(captured[1], F_GETFL);
  assert_int_equal(fcntl(captured[1], F_SETPIPE_SZ, PIPE), PIPE);
  fcntl(captured[1], F_SETFL, flags | O_NONBLOCK);
  while (write(captured[1], bytes, sizeof bytes) > 0) continue;
  fcntl(captured[1], F_SETFL, flags);
}

static void empty_pipe(void) {
  static char bytes[PIPE];
  assert_int_equal(read(captured[0], bytes, sizeof bytes), PIPE);
}

// If each line waited for the reader, each thread would need half a minute.
static void all_threads_wait_together_and_once(void **state) {
  (void)state;
  capture();
  fill_pipe();
  time_t begun = time(NULL);
  run_writers(write_unheard);
  assert_true(time(NULL) - begun < 20);
  empty_pipe();
  begin_reading();
  log_plain(LOG_INFO, "heard");
  end_capture();
  char lost[32];
  snprintf(lost, sizeof lost, " lines=%d\n", WRITERS * LINES);
  assert_non_null(strstr((char *)heard.data, lost));
  assert_non_null(strstr((char *)heard.data, "info  heard\n"));
}

static int reset(void **state) {
  (void)state;
  log_set_level(LOG_INFO);
  log_set_format(LOG_TEXT);
  log_set_version(0, "");
  buf_deinit(&heard);
  assert_int_equal(mem_live(), 0);
  return 0;
}

#define TEST(function) cmocka_unit_test_teardown(function, reset)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(lines_are_whole_and_in_each_threads_order),
      TEST(what_is_set_meanwhile_belongs_together),
      TEST(all_threads_wait_together_and_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
