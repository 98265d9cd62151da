// What one thread tells another: nothing is lost, the order is kept, and who reads is woken
// once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/io_threads/mailbox.h"

enum { COUNT = 20000, LIMIT = 4096 };

typedef struct Ends {
  uv_loop_t loop;
  uv_async_t reader, writer;
  uint32_t reader_rings, writer_rings;
  Mailbox box;
} Ends;

static void on_reader(uv_async_t *bell) { ((Ends *)bell->data)->reader_rings++; }

static void on_writer(uv_async_t *bell) { ((Ends *)bell->data)->writer_rings++; }

static int set_up(void **state) {
  Ends *ends = mem_zalloc(sizeof *ends);
  uv_loop_init(&ends->loop);
  uv_async_init(&ends->loop, &ends->reader, on_reader);
  uv_async_init(&ends->loop, &ends->writer, on_writer);
  ends->reader.data = ends->writer.data = ends;
  mailbox_init(&ends->box, &ends->reader, &ends->writer);
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

static void add(Mailbox *box, uint32_t kind, const char *text) {
  strcpy(mailbox_add(box, kind, strlen(text) + 1), text);
}

static void expect(Mailbox *box, size_t *at, uint32_t kind, const char *text) {
  const Mail *mail = mailbox_next(box, at);
  assert_non_null(mail);
  assert_int_equal(mail->kind, kind);
  assert_int_equal((uintptr_t)mail_body(mail) % 8, 0);
  assert_string_equal(mail_body(mail), text);
}

static void test_order(void **state) {
  Ends *ends = *state;
  Mailbox *box = &ends->box;
  assert_false(mailbox_take(box));
  add(box, 1, "a");
  assert_false(mailbox_take(box));  // not posted yet
  mailbox_post(box, false);
  add(box, 2, "a longer one");
  add(box, 3, "");
  mailbox_post(box, false);
  mailbox_post(box, false);  // nothing
  uv_run(&ends->loop, UV_RUN_NOWAIT);
  assert_int_equal(ends->reader_rings, 1);
  assert_true(mailbox_take(box));
  size_t at = 0;
  expect(box, &at, 1, "a");
  expect(box, &at, 2, "a longer one");
  expect(box, &at, 3, "");
  assert_null(mailbox_next(box, &at));
  add(box, 4, "next");
  mailbox_post(box, false);
  uv_run(&ends->loop, UV_RUN_NOWAIT);
  assert_int_equal(ends->reader_rings, 2);
  assert_true(mailbox_take(box));
  at = 0;
  expect(box, &at, 4, "next");
  assert_null(mailbox_next(box, &at));
  assert_int_equal(ends->writer_rings, 0);
}

static void test_awaited(void **state) {
  Ends *ends = *state;
  Mailbox *box = &ends->box;
  add(box, 1, "a");
  assert_true(mailbox_pending(box) > 0);
  mailbox_post(box, true);
  uint64_t takes = box->takes_seen;
  assert_int_equal(mailbox_takes(box), takes);
  assert_true(mailbox_take(box));
  uv_run(&ends->loop, UV_RUN_NOWAIT);
  assert_int_equal(ends->writer_rings, 1);
  assert_true(mailbox_takes(box) > takes);
  assert_int_equal(mailbox_pending(box), 0);
}

static void read_all(void *data) {
  Ends *ends = data;
  uint32_t next = 0;
  while (next < COUNT) {
    if (!mailbox_take(&ends->box)) continue;
    size_t at = 0;
    const Mail *mail;
    while ((mail = mailbox_next(&ends->box, &at))) {
      uint32_t number;
      memcpy(&number, mail_body(mail), sizeof number);
      assert_true(number == next && mail->kind == next);
      next++;
    }
  }
}

// With a writer that waits for a reader of another thread.
static void test_threads(void **state) {
  Ends *ends = *state;
  Mailbox *box = &ends->box;
  uv_thread_t reader;
  assert_int_equal(uv_thread_create(&reader, read_all, ends), 0);
  for (uint32_t i = 0; i < COUNT; i++) {
    *(uint32_t *)mailbox_add(box, i, sizeof i) = i;
    if (i % 7 == 0) mailbox_post(box, i % 3 == 0);
    mailbox_wait(box, LIMIT);
    assert_true(box->posted_size <= LIMIT + 7 * 2 * sizeof(Mail));
  }
  mailbox_post(box, false);
  uv_thread_join(&reader);
  assert_false(mailbox_take(box));
}

// Nobody waits for a reader that has ended.
static void test_closed(void **state) {
  Ends *ends = *state;
  memset(mailbox_add(&ends->box, 1, (size_t)2 * LIMIT), 0, (size_t)2 * LIMIT);
  mailbox_post(&ends->box, false);
  mailbox_close(&ends->box);
  mailbox_wait(&ends->box, LIMIT);
  assert_true(mailbox_take(&ends->box));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_order, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_awaited, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_threads, set_up, tear_down),
      cmocka_unit_test_setup_teardown(test_closed, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
