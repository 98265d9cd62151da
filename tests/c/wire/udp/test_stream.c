// The stream: pieces that arrive in any order, twice or not at all; its windows and
// memory.
#include "wire/udp/stream.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "wire/udp/link.h"

static uint8_t byte(uint64_t at) { return (uint8_t)(at * 31 + (at >> 8)); }

static void write_bytes(UdpStreamOut *out, size_t size) {
  for (; size > 0; size--) {
    uint8_t value = byte(out->end);
    udp_stream_out_write(out, &value, 1);
  }
}

// Takes a piece and checks its bytes.
static UdpRange take(UdpStreamOut *out, size_t max) {
  uint8_t bytes[2000];
  UdpRange piece = udp_stream_out_take(out, max, bytes);
  for (uint64_t at = piece.start; at < piece.end; at++)
    assert_int_equal(bytes[at - piece.start], byte(at));
  return piece;
}

static void expect_piece(UdpRange piece, uint64_t start, uint64_t end) {
  assert_int_equal(piece.start, start);
  assert_int_equal(piece.end, end);
}

static void what_is_lost_goes_again_first(void **state) {
  (void)state;
  UdpStreamOut out = {0};
  write_bytes(&out, 1000);
  for (uint64_t at = 0; at < 800; at += 100)
    expect_piece(take(&out, 100), at, at + 100);
  udp_stream_out_ack(&out, 0, 100);
  udp_stream_out_ack(&out, 300, 400);
  udp_stream_out_lose(&out, 100, 200);
  udp_stream_out_lose(&out, 200, 400);  // a part of these bytes has arrived
  expect_piece(take(&out, 150), 100, 250);
  expect_piece(take(&out, 150), 250, 300);
  expect_piece(take(&out, 150), 800, 950);
  udp_stream_out_lose(&out, 400, 500);
  udp_stream_out_ack(&out, 400, 500);  // an acknowledgement shows that it was not lost
  expect_piece(take(&out, 150), 950, 1000);
  assert_false(udp_stream_out_is_waiting(&out));
  udp_stream_out_ack(&out, 100, 1000);
  assert_int_equal(out.base, 1000);
  assert_int_equal(out.acked.count + out.lost.count, 0);
  udp_stream_out_lose(&out, 100, 1000);  // reported too late
  assert_false(udp_stream_out_is_waiting(&out));
  udp_stream_out_deinit(&out);
  assert_int_equal(mem_live(), 0);
}

static void the_window_limits_what_is_written(void **state) {
  (void)state;
  UdpStreamOut out = {0};
  size_t total = 0;
  for (size_t room; (room = udp_stream_out_room(&out)) > 0; total += room) {
    assert_true(room <= UDP_STREAM_UNSENT);
    write_bytes(&out, room);
    while (udp_stream_out_is_waiting(&out)) take(&out, 1000);
  }
  assert_int_equal(total, UDP_STREAM_WINDOW);
  assert_int_equal(out.kept.capacity, UDP_STREAM_WINDOW);
  udp_stream_out_ack(&out, 0, 10);
  assert_int_equal(udp_stream_out_room(&out), 10);
  udp_stream_out_deinit(&out);
}

// Appends all bytes that are in order.
static void drain(UdpStreamIn *in, Buf *got) {
  size_t size;
  for (const uint8_t *bytes; (bytes = udp_stream_in_next(in, &size));)
    buf_append(got, bytes, size);
}

static void come(UdpStreamIn *in, Buf *got, uint64_t start, uint64_t end) {
  uint8_t bytes[2000];
  for (uint64_t at = start; at < end; at++) bytes[at - start] = byte(at);
  uint16_t size = (uint16_t)(end - start);
  if (!udp_stream_in_fits(in, (uint32_t)start, size)) return;
  uint16_t fresh = udp_stream_in_pass(in, (uint32_t)start, size);
  if (fresh > 0)
    buf_append(got, bytes + size - fresh, fresh);
  else
    udp_stream_in_keep(in, (uint32_t)start, bytes, size);
  drain(in, got);
}

static void pieces_come_in_any_order(void **state) {
  (void)state;
  UdpStreamIn in = {0};
  Buf got = {0};
  uint32_t seed = 1;
  uint64_t total = 3000000;
  for (int i = 0; in.base < total; i++) {
    seed = seed * 1664525 + 1013904223;
    uint64_t start = in.base + (seed >> 8) % 3000, size = 1 + (seed >> 20) % 1000;
    start = start > 1000 ? start - 1000 : 0;
    if (i % 10 == 0) start = in.base;
    come(&in, &got, start, start + size);
    assert_int_equal(got.size, in.base);
  }
  for (size_t at = 0; at < got.size; at++) assert_int_equal(got.data[at], byte(at));
  assert_true(in.kept.capacity <= 4096);
  buf_deinit(&got);
  udp_stream_in_deinit(&in);
  assert_int_equal(mem_live(), 0);
}

static void offsets_wrap_round(void **state) {
  (void)state;
  const uint64_t first = UINT32_MAX - 5000;
  UdpStreamIn in = {.base = first};
  Buf got = {0};
  for (uint64_t at = first; at < first + 10000; at += 200) {
    come(&in, &got, at + 100, at + 200);
    come(&in, &got, at, at + 100);
    come(&in, &got, at, at + 100);
  }
  assert_int_equal(got.size, 10000);
  for (size_t at = 0; at < got.size; at++)
    assert_int_equal(got.data[at], byte(first + at));
  buf_deinit(&got);
  udp_stream_in_deinit(&in);
}

static void the_window_limits_what_is_kept(void **state) {
  (void)state;
  UdpStreamIn in = {.base = 100};
  assert_true(udp_stream_in_fits(&in, 100 + UDP_STREAM_WINDOW - 10, 10));
  assert_false(udp_stream_in_fits(&in, 100 + UDP_STREAM_WINDOW - 10, 11));
  assert_false(udp_stream_in_fits(&in, 100u + 0x7fffffff, 1));
  assert_true(udp_stream_in_fits(&in, 0, 10));  // old bytes
  const uint8_t value = 0;
  uint32_t offset = 101;
  for (; udp_stream_in_fits(&in, offset, 1); offset += 2)
    udp_stream_in_keep(&in, offset, &value, 1);
  assert_int_equal(in.held.count, 1024);
  // A piece that closes a gap always fits.
  assert_true(udp_stream_in_fits(&in, 100, 1));
  udp_stream_in_deinit(&in);
}

static void streams_keep_little_where_all_keep_much(void **state) {
  (void)state;
  _Atomic uint64_t total = UDP_STREAM_TOTAL;
  const uint8_t value = 1;
  UdpStreamIn in = {.total = &total}, other = {.total = &total};
  assert_true(udp_stream_in_fits(&in, UDP_STREAM_STRANGER - 1, 1));
  assert_false(udp_stream_in_fits(&in, UDP_STREAM_STRANGER, 1));
  total = 0;
  udp_stream_in_keep(&in, UDP_STREAM_WINDOW - 1, &value, 1);
  assert_int_equal(total, UDP_STREAM_WINDOW);
  total += UDP_STREAM_TOTAL - UDP_STREAM_WINDOW;
  assert_true(udp_stream_in_fits(&in, 100000, 1));  // it needs no new memory
  assert_false(udp_stream_in_fits(&other, 100000, 1));
  udp_stream_in_deinit(&in);
  assert_true(udp_stream_in_fits(&other, 100000, 1));
  udp_stream_in_keep(&other, 100000, &value, 1);
  udp_stream_in_deinit(&other);
  assert_int_equal(total, UDP_STREAM_TOTAL - UDP_STREAM_WINDOW);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_lost_goes_again_first),
      cmocka_unit_test(the_window_limits_what_is_written),
      cmocka_unit_test(pieces_come_in_any_order),
      cmocka_unit_test(offsets_wrap_round),
      cmocka_unit_test(the_window_limits_what_is_kept),
      cmocka_unit_test(streams_keep_little_where_all_keep_much),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
