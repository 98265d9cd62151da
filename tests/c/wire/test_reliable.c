// The RELIABLE stream: the packets that it keeps, the effect of acknowledgements, valid
// counts, and when to acknowledge.
#include "wire/reliable.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"

enum { MAX_BYTES = 1 << 20 };

static size_t total;

// Pushes a packet that contains its number; returns whether the stream accepts it.
static bool push(Reliable *stream, uint32_t number) {
  Blob *blob = blob_new(sizeof number, &total);
  memcpy(blob->bytes, &number, sizeof number);
  bool is_taken = reliable_push(stream, blob, MAX_BYTES);
  blob_unref(blob);
  return is_taken;
}

static bool push_size(Reliable *stream, uint32_t size, size_t max_bytes) {
  Blob *blob = blob_new(size, &total);
  bool is_taken = reliable_push(stream, blob, max_bytes);
  blob_unref(blob);
  return is_taken;
}

static uint32_t number_at(const Reliable *stream, uint32_t index) {
  uint32_t number;
  memcpy(&number, reliable_at(stream, index)->bytes, sizeof number);
  return number;
}

static void expect_empty(Reliable *stream) {
  assert_int_equal(reliable_waiting(stream), 0);
  assert_null(stream->kept);
  assert_int_equal(total, 0);
  assert_int_equal(mem_live(), 0);
}

static void a_packet_is_kept_until_it_is_acknowledged(void **state) {
  (void)state;
  Reliable stream = {0};
  for (uint32_t i = 0; i < 100; i++) assert_true(push(&stream, i));
  assert_int_equal(reliable_waiting(&stream), 100);
  assert_int_equal(reliable_ack(&stream, 40), 0);
  assert_int_equal(reliable_waiting(&stream), 60);
  for (uint32_t i = 0; i < 60; i++) assert_int_equal(number_at(&stream, i), 40 + i);
  assert_int_equal(reliable_ack(&stream, 40), 0);  // the same count again
  assert_int_equal(reliable_waiting(&stream), 60);
  assert_int_equal(reliable_ack(&stream, 100), 0);
  expect_empty(&stream);
}

static void counts_that_cannot_be_are_refused(void **state) {
  (void)state;
  Reliable stream = {0};
  assert_int_equal(reliable_ack(&stream, 1), ERR_MALFORMED);
  for (uint32_t i = 0; i < 10; i++) push(&stream, i);
  assert_int_equal(reliable_ack(&stream, 5), 0);
  const uint32_t wrong[] = {4, 0, 11, UINT32_MAX, 0x80000000, 5 + 0x80000000};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_false(reliable_is_count(&stream, wrong[i]));
    assert_int_equal(reliable_ack(&stream, wrong[i]), ERR_MALFORMED);
  }
  assert_int_equal(reliable_waiting(&stream), 5);
  assert_int_equal(number_at(&stream, 0), 5);
  reliable_deinit(&stream);
  expect_empty(&stream);
}

static void the_window_holds_so_many_packets(void **state) {
  (void)state;
  Reliable stream = {0};
  for (uint32_t i = 0; i < RELIABLE_WINDOW; i++) assert_true(push(&stream, i));
  assert_false(push(&stream, 0));
  assert_int_equal(stream.sent, RELIABLE_WINDOW);
  assert_int_equal(reliable_ack(&stream, 1), 0);
  assert_true(push(&stream, RELIABLE_WINDOW));
  assert_false(push(&stream, 0));
  for (uint32_t i = 0; i < RELIABLE_WINDOW; i++)
    assert_int_equal(number_at(&stream, i), i + 1);
  reliable_deinit(&stream);
  expect_empty(&stream);
}

static void the_window_holds_so_many_bytes(void **state) {
  (void)state;
  Reliable stream = {0};
  assert_true(push_size(&stream, 1000, 100));  // a single packet of any size fits
  assert_false(push_size(&stream, 1, 100));
  assert_int_equal(reliable_ack(&stream, 1), 0);
  assert_true(push_size(&stream, 60, 100));
  assert_false(push_size(&stream, 41, 100));
  assert_true(push_size(&stream, 40, 100));
  assert_int_equal(stream.kept->bytes, 100);
  reliable_deinit(&stream);
  expect_empty(&stream);
}

static void counts_wrap_around(void **state) {
  (void)state;
  Reliable stream = {.sent = UINT32_MAX - 2, .acked = UINT32_MAX - 2};
  for (uint32_t i = 0; i < 6; i++) assert_true(push(&stream, i));
  assert_int_equal(stream.sent, 3);
  assert_int_equal(reliable_ack(&stream, UINT32_MAX - 3), ERR_MALFORMED);
  assert_int_equal(reliable_ack(&stream, 4), ERR_MALFORMED);
  assert_int_equal(reliable_ack(&stream, 1), 0);
  assert_int_equal(reliable_waiting(&stream), 2);
  assert_int_equal(number_at(&stream, 0), 4);
  assert_int_equal(reliable_ack(&stream, 3), 0);
  expect_empty(&stream);
}

static void packets_are_shared(void **state) {
  (void)state;
  Reliable ann = {0}, bob = {0};
  Blob *blob = blob_new(10, &total);
  assert_true(reliable_push(&ann, blob, MAX_BYTES));
  assert_true(reliable_push(&bob, blob, MAX_BYTES));
  blob_unref(blob);
  assert_int_equal(total, 10);
  assert_ptr_equal(reliable_at(&ann, 0), reliable_at(&bob, 0));
  reliable_deinit(&ann);
  assert_int_equal(total, 10);
  assert_int_equal(reliable_ack(&bob, 1), 0);
  expect_empty(&bob);
}

static void what_came_is_acknowledged_in_time(void **state) {
  (void)state;
  Reliable stream = {0};
  assert_false(reliable_owes(&stream));
  for (uint32_t i = 1; i < RELIABLE_ACK_PACKETS; i++)
    assert_false(reliable_receive(&stream, 12));
  assert_true(reliable_owes(&stream));
  assert_true(reliable_receive(&stream, 12));
  assert_int_equal(reliable_tell(&stream), RELIABLE_ACK_PACKETS);
  assert_false(reliable_owes(&stream));
  assert_false(reliable_receive(&stream, RELIABLE_ACK_BYTES - 1));
  assert_true(reliable_receive(&stream, 1));
  assert_int_equal(reliable_tell(&stream), RELIABLE_ACK_PACKETS + 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_packet_is_kept_until_it_is_acknowledged),
      cmocka_unit_test(counts_that_cannot_be_are_refused),
      cmocka_unit_test(the_window_holds_so_many_packets),
      cmocka_unit_test(the_window_holds_so_many_bytes),
      cmocka_unit_test(counts_wrap_around),
      cmocka_unit_test(packets_are_shared),
      cmocka_unit_test(what_came_is_acknowledged_in_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
