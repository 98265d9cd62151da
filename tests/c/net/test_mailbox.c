// Mailboxes between threads: they lose no call, keep the order, and wake the reader
// once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/io_threads/mailbox.h"

enum { COUNT = 20000, EARLY = 512, LIMIT = 4096 };

typedef struct Ends {
  uv_loop_t loop;
  uv_async_t reader, writer;
  uint32_t reader_rings, writer_rings;
  Mailbox box;
  char heard[64];
  uint32_t next;
} Ends;

static void on_reader(uv_async_t *bell) { ((Ends *)bell->data)->reader_rings++; }

static void on_writer(uv_async_t *bell) { ((Ends *)bell->data)->writer_rings++; }

static int set_up(void **state) {
  Ends *ends = mem_zalloc(sizeof *ends);
  uv_loop_init(&ends->loop);
  uv_async_init(&ends->loop, &ends->reader, on_reader);
  uv_async_init(&ends->loop, &ends->writer, on_writer);
  ends->reader.data = ends->writer.data = ends;
  mailbox_init(&ends->box, &ends->reader, &ends->writer, EARLY, LIMIT);
  *state = ends;
  return 0;
}

static int tear_down(void **state) {
  Ends *ends = *state;
  mailbox_deinit(&ends->box);
  uv_close((uv_handle_t *)&ends->reader, NULL);
  uv_close((uv_handle_t *)&ends->writer, NULL);
  uv_run(&ends->loop, UV_RUN_DEFAULT);
  assert_int_equal(uv_loop_close(&ends->loop), 0);
  mem_free(ends);
  assert_int_equal(mem_live(), 0);
  return 0;
}

// Records the text of a call. In these tests, the Net of each call is really Ends.
static void run_text(Net *net, const void *body) {
  Ends *ends = (Ends *)net;
  assert_int_equal((uintptr_t)body % 8, 0);
  assert_true(mail_of(body)->size >= sizeof(Mail) + strlen(body) + 1);
  strcat(ends->heard, body);
  strcat(ends->heard, ";");
}

static uint32_t dropped;

static void drop_text(const void *body) {
  assert_string_equal(body, "left");
  dropped++;
}

static const RemoteCall TEXT = {.run = run_text, .drop = drop_text};

static void add(Mailbox *box, const char *text) {
  strcpy(mailbox_add(box, &TEXT, strlen(text) + 1), text);
}

static void expect(Ends *ends, const char *text) {
  ends->heard[0] = '\0';
  mailbox_run(&ends->box, (Net *)ends);
  assert_string_equal(ends->heard, text);
}

static void test_order(void **state) {
  Ends *ends = *state;
  Mailbox *box = &ends->box;
  expect(ends, "");
  add(box, "a");
  expect(ends, "");  // the text is not posted yet
  mailbox_post(box, false);
  add(box, "a longer one");
  add(box, "");
  mailbox_post(box, false);
  mailbox_post(box, false);  // no call was added
  uv_run(&ends->loop, UV_RUN_NOWAIT);
  assert_int_equal(ends->reader_rings, 1);
  expect(ends, "a;a longer one;;");
  expect(ends, "");
  add(box, "next");
  mailbox_post(box, false);
  uv_run(&ends->loop, UV_RUN_NOWAIT);
  assert_int_equal(ends->reader_rings, 2);
  expect(ends, "next;");
  assert_int_equal(ends->writer_rings, 0);
}

static void test_awaited(void **state) {
  Ends *ends = *state;
  Mailbox *box = &ends->box;
  add(box, "a");
  assert_true(mailbox_pending(box) > 0);
  mailbox_post(box, true);
  uint64_t takes = box->takes_seen;
  assert_int_equal(mailbox_takes(box), takes);
  expect(ends, "a;");
  uv_run(&ends->loop, UV_RUN_NOWAIT);
  assert_int_equal(ends->writer_rings, 1);
  assert_true(mailbox_takes(box) > takes);
  assert_int_equal(mailbox_pending(box), 0);
}

// A writer with no new calls learns that the mailbox has room again.
static void test_taken_meanwhile(void **state) {
  Ends *ends = *state;
  add(&ends->box, "a");
  mailbox_post(&ends->box, false);
  expect(ends, "a;");
  // The writer does not know about the reads yet.
  assert_true(mailbox_pending(&ends->box) > 0);
  mailbox_post(&ends->box, false);
  assert_int_equal(mailbox_pending(&ends->box), 0);
}

static void test_dropped(void **state) {
  Ends *ends = *state;
  dropped = 0;
  add(&ends->box, "left");
  add(&ends->box, "left");
  mailbox_post(&ends->box, false);
  mailbox_run(&ends->box, NULL);
  assert_int_equal(dropped, 2);
  expect(ends, "");
}

static void run_number(Net *net, const void *body) {
  Ends *ends = (Ends *)net;
  uint32_t number;
  memcpy(&number, body, sizeof number);
  assert_true(number == ends->next);
  ends->next++;
}

static void read_all(void *data) {
  Ends *ends = data;
  while (ends->next < COUNT) mailbox_run(&ends->box, (Net *)ends);
}

// The writer waits for a reader in another thread.
static void test_threads(void **state) {
  static const RemoteCall NUMBER = {.run = run_number};
  Ends *ends = *state;
  Mailbox *box = &ends->box;
  uv_thread_t reader;
  assert_int_equal(uv_thread_create(&reader, read_all, ends), 0);
  for (uint32_t i = 0; i < COUNT; i++) {
    *(uint32_t *)mailbox_add(box, &NUMBER, sizeof i) = i;
    if (i % 7 == 0) mailbox_post(box, i % 3 == 0);
    assert_true(box->posted_size <= LIMIT + EARLY + 2 * 32);
  }
  mailbox_post(box, false);
  uv_thread_join(&reader);
  expect(ends, "");
}

// No writer waits for a reader that has ended.
static void test_closed(void **state) {
  Ends *ends = *state;
  memset(mailbox_add(&ends->box, &TEXT, (size_t)2 * LIMIT), 0, (size_t)2 * LIMIT);
  mailbox_post(&ends->box, false);
  mailbox_close(&ends->box);
  add(&ends->box, "late");
  mailbox_post(&ends->box, false);
  expect(ends, ";late;");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_awaited, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_taken_meanwhile, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_dropped, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_closed, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
