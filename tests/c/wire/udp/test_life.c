// A link that is idle, stuck, throttled, moved or closed; and the memory that it takes.
#include "wire/udp/link.h"

#include "udp_world.h"
#include "wire/udp/internal.h"

enum { DELAY_US = 20000 };
static const uint64_t MS = 1000, SECOND = 1000000;

static Line there, back;

static World world(void) {
  there = back = (Line){.delay_us = DELAY_US};
  return world_of(1, &there, &back);
}

static void who_is_silent_probes_every_5_seconds(void **state) {
  (void)state;
  World w = world();
  world_run(&w, w.now_us + 60 * SECOND);
  for (int end = 0; end < 2; end++) {
    UdpLinkStats stats = udp_link_stats(w.ends[end].link);
    assert_in_range(stats.sent, 11, 30);  // probes and acknowledgements
    assert_int_equal(stats.lost, 0);
    assert_int_equal(udp_link_passing(w.ends[end].link, w.now_us), UDP_PASSES);
  }
  world_end(&w);
}

static void a_link_at_rest_has_no_buffers(void **state) {
  (void)state;
  World w = world();
  uint64_t written[2] = {0};
  for (int i = 0; i < 100; i++) {
    for (int end = 0; end < 2; end++) {
      world_packet(&w, end, 500, (uint32_t)i);
      world_write(&w, end, &written[end], written[end] + 3000);
    }
    world_run(&w, w.now_us + 16 * MS);
  }
  assert_true(mem_live() > w.live + 2);
  world_run(&w, w.now_us + 12 * SECOND);
  for (int end = 0; end < 2; end++) buf_deinit(&w.ends[end].stream);
  while (w.count > 0) mem_free(world_pop(&w));
  mem_free(w.flights);
  w.flights = NULL;
  w.capacity = 0;
  // Memory of the two links, and of the keys' orders of each.
  assert_int_equal(mem_live(), w.live + 4);
  world_end(&w);
}

static void a_line_that_passes_nothing_is_noticed(void **state) {
  (void)state;
  World w = world();
  UdpLink *link = w.ends[0].link;
  world_packet(&w, 0, 100, 0);
  world_run(&w, w.now_us + SECOND);
  there.loss = 1;
  world_packet(&w, 0, 100, 0);
  const uint64_t since_us = w.now_us;
  world_run(&w, since_us + 2900 * MS);
  assert_int_equal(udp_link_passing(link, w.now_us), UDP_PASSES);
  world_run(&w, since_us + 3100 * MS);
  assert_int_equal(udp_link_passing(link, w.now_us), UDP_STUCK);
  const uint64_t sent = udp_link_stats(link).sent;
  world_run(&w, since_us + 23100 * MS);
  // Each side sends a PROBE each second, and acknowledges those of the other side.
  assert_in_range(udp_link_stats(link).sent - sent, 38, 45);
  there.loss = 0;
  world_run(&w, since_us + 25 * SECOND);
  assert_int_equal(udp_link_passing(link, w.now_us), UDP_PASSES);
  there.loss = 1;
  world_packet(&w, 0, 100, 0);
  world_run(&w, w.now_us + 61 * SECOND);
  assert_int_equal(udp_link_passing(link, w.now_us), UDP_GONE);
  world_end(&w);
}

static void after_losses_alone_it_passes(void **state) {
  (void)state;
  World w = world();
  for (int i = 0; i < 10; i++) {
    world_packet(&w, 0, 1000, 0);
    there.loss = i == 3;
    world_flush(&w, 0);
  }
  world_run(&w, w.now_us + 4500 * MS);
  assert_int_equal(udp_link_stats(w.ends[0].link).lost, 1);
  world_packet(&w, 0, 1000, 0);
  world_flush(&w, 0);
  assert_int_equal(udp_link_passing(w.ends[0].link, w.now_us), UDP_PASSES);
  world_end(&w);
}

static void the_last_piece_is_not_waited_for_long(void **state) {
  (void)state;
  World w = world();
  uint64_t written = 0;
  world_write(&w, 0, &written, 100);
  world_run(&w, w.now_us + SECOND);
  there.loss = 1;
  world_write(&w, 0, &written, 200);
  there.loss = 0;
  world_run(&w, w.now_us + 250 * MS);  // a probe after about two round trips
  world_expect_stream(&w, 1, 200);
  world_end(&w);
}

static void a_held_stream_waits(void **state) {
  (void)state;
  World w = world();
  uint64_t written = 0;
  world_write(&w, 0, &written, 10);
  world_run(&w, w.now_us + SECOND);
  udp_link_throttle(w.ends[1].link);
  const uint64_t total = 2 * UDP_STREAM_WINDOW;
  for (int i = 0; i < 3000; i++) {
    world_write(&w, 0, &written, total);
    world_run(&w, w.now_us + MS);
  }
  world_expect_stream(&w, 1, 10);
  assert_true(written < total);
  world_packet(&w, 0, 100, 0);
  world_run(&w, w.now_us + MS);
  udp_link_unthrottle(w.ends[1].link);
  world_take(&w, 1);
  size_t kept = w.ends[1].stream.size;
  assert_in_range(kept, UDP_STREAM_WINDOW - UDP_DATAGRAM_MAX, UDP_STREAM_WINDOW + 10);
  world_expect_stream(&w, 1, kept);
  for (int i = 0; i < 5000; i++) {
    world_write(&w, 0, &written, total);
    world_run(&w, w.now_us + MS);
  }
  world_expect_stream(&w, 1, total);
  world_end(&w);
}

static void a_path_is_checked(void **state) {
  (void)state;
  World w = world();
  uint8_t out[UDP_DATAGRAM_MAX];
  const size_t whole = 5 + 10 + 9 + UDP_TAG_SIZE;
  UdpLink *asker = w.ends[1].link;
  assert_int_equal(
      udp_link_produce_challenge(asker, w.now_us, 0x1234567890, whole - 1, out), 0);
  assert_int_equal(udp_link_stats(asker).sent, 0);
  size_t size = udp_link_produce_challenge(asker, w.now_us, 0x1234567890, whole, out);
  assert_int_equal(size, whole);
  assert_int_equal(udp_link_receive(w.ends[0].link, w.now_us, out, size), UDP_NEWEST);
  UdpArrival arrival;
  assert_false(udp_link_next(w.ends[0].link, &arrival));
  assert_true(udp_link_deadline(w.ends[0].link) <= w.now_us);
  size = udp_link_produce(w.ends[0].link, w.now_us, out);
  assert_int_equal(udp_link_receive(w.ends[1].link, w.now_us, out, size), UDP_NEWEST);
  assert_true(udp_link_next(w.ends[1].link, &arrival));
  assert_int_equal(arrival.kind, UDP_ARRIVAL_PATH_RESPONSE);
  assert_int_equal(arrival.value, 0x1234567890);
  assert_false(udp_link_next(w.ends[1].link, &arrival));
  world_end(&w);
}

// Datagrams that are acknowledged an hour later do not change the round trip.
static void after_a_sleep_it_is_soon_as_before(void **state) {
  (void)state;
  World w = world();
  uint64_t written = 0;
  world_write(&w, 0, &written, 5000);
  world_run(&w, w.now_us + 3 * DELAY_US / 2);
  w.now_us += 3600 * SECOND;
  world_run(&w, w.now_us + SECOND);
  there.loss = 1;
  world_write(&w, 0, &written, 6000);
  there.loss = 0;
  world_run(&w, w.now_us + 2 * SECOND);
  world_expect_stream(&w, 1, 6000);
  there.reordered = 0.5, there.late_us = 5 * MS, there.loss = 0.2;
  for (int i = 0; i < 100; i++) {
    world_write(&w, 0, &written, written + 3000);
    world_run(&w, w.now_us + 100 * MS);
  }
  there.loss = 0;
  world_run(&w, w.now_us + 3 * SECOND);
  world_expect_stream(&w, 1, written);
  world_end(&w);
}

// Checks that each probe is long enough to be answered with a PATH_CHALLENGE if it comes
// from another address.
static bool expect_long_enough(World *w, int end, const uint8_t *bytes, size_t size) {
  uint8_t out[UDP_DATAGRAM_MAX];
  (void)bytes;
  if (size > 5 + 10 + UDP_TAG_SIZE)  // it contains more than acknowledgements
    assert_true(
        udp_link_produce_challenge(w->ends[!end].link, w->now_us, 1, size, out));
  return true;
}

static void a_probe_is_as_long_as_a_path_check(void **state) {
  (void)state;
  World w = world();
  w.on_sent = expect_long_enough;
  world_run(&w, w.now_us + 6 * SECOND);
  assert_true(udp_link_stats(w.ends[0].link).sent >= 1);
  world_end(&w);
}

static bool note_size(World *w, int end, const uint8_t *bytes, size_t size) {
  (void)end, (void)bytes;
  *(size_t *)w->data = size;
  return true;
}

static void a_probe_of_a_plain_link_is_too(void **state) {
  (void)state;
  World w = world();
  size_t size = 0;
  for (int end = 0; end < 2; end++) {
    UdpLinkParams params = world_params(end);
    params.is_unencrypted = true;
    udp_link_free(w.ends[end].link);
    w.ends[end].link = udp_link_new(&params, w.now_us);
  }
  w.data = &size;
  w.on_sent = note_size;
  world_run(&w, w.now_us + 5 * SECOND);
  assert_int_equal(size, 5 + 10 + 9);
  world_end(&w);
}

// Returns a world whose end 1 does not trust the other side yet, so it keeps little.
static World world_of_stranger(void) {
  World w = world();
  UdpLinkParams params = world_params(1);
  params.is_stranger = true;
  udp_link_free(w.ends[1].link);
  w.ends[1].link = udp_link_new(&params, w.now_us);
  return w;
}

// One byte far ahead would be enough to make the ring as large as the window.
static void a_stranger_may_not_reach_far_ahead(void **state) {
  (void)state;
  World w = world_of_stranger();
  const uint64_t total = 100 << 10;
  uint64_t written = 0;
  there.loss = 1;  // loses the first piece
  world_write(&w, 0, &written, 1000);
  there.loss = 0;
  world_write(&w, 0, &written, total);
  world_run(&w, w.now_us + 2 * DELAY_US);
  assert_in_range(w.ends[1].link->in.kept.capacity, 1, UDP_STREAM_STRANGER);
  assert_true(udp_link_stats(w.ends[1].link).refused > 0);
  world_write(&w, 0, &written, total);
  world_run(&w, w.now_us + 10 * SECOND);  // the refused bytes are sent again
  world_write(&w, 0, &written, total);
  world_run(&w, w.now_us + 10 * SECOND);
  world_expect_stream(&w, 1, total);
  udp_link_trust(w.ends[1].link);
  const uint64_t refused = udp_link_stats(w.ends[1].link).refused;
  there.loss = 1;
  world_write(&w, 0, &written, total + 1000);
  there.loss = 0;
  world_write(&w, 0, &written, total + 12000);
  world_run(&w, w.now_us + 10 * SECOND);
  world_expect_stream(&w, 1, total + 12000);
  assert_int_equal(udp_link_stats(w.ends[1].link).refused, refused);
  world_end(&w);
}

// Even if small packets are sent all the time, each probe has room for bytes of the
// stream.
static void probes_bring_a_stranger_what_is_missing(void **state) {
  (void)state;
  World w = world_of_stranger();
  const uint64_t total = 60000;
  uint64_t written = 0;
  there.loss = 1;
  for (int i = 0; i < 20; i++) {
    world_packet(&w, 0, 50, 0);
    world_write(&w, 0, &written, total);
    world_run(&w, w.now_us + 50 * MS);
  }
  there.loss = 0;
  for (int i = 0; i < 200; i++) {
    world_packet(&w, 0, 50, 0);
    world_write(&w, 0, &written, total);
    world_run(&w, w.now_us + 50 * MS);
  }
  world_expect_stream(&w, 1, total);
  world_end(&w);
}

static void a_close_arrives_and_is_repeated(void **state) {
  (void)state;
  World w = world();
  uint64_t written = 0;
  world_write(&w, 0, &written, 100);
  world_run(&w, w.now_us + SECOND);
  back.loss = 1;
  udp_link_close(w.ends[1].link, CODE_KICKED);
  assert_true(udp_link_deadline(w.ends[1].link) <= w.now_us);
  world_run(&w, w.now_us + SECOND);  // lost
  assert_int_equal(udp_link_deadline(w.ends[1].link), UDP_NEVER);
  assert_false(udp_link_is_closed(w.ends[0].link));
  back.loss = 0;
  world_packet(&w, 0, 100, 0);
  world_run(&w, w.now_us + SECOND);
  assert_int_equal(w.ends[0].closed, 1);
  assert_int_equal(w.ends[0].code, CODE_KICKED);
  assert_int_equal(w.ends[1].packets, 0);
  assert_int_equal(udp_link_deadline(w.ends[0].link), UDP_NEVER);
  world_packet(&w, 0, 100, 0);
  assert_int_equal(udp_link_stream_room(w.ends[0].link), 0);
  world_run(&w, w.now_us + 60 * SECOND);
  world_end(&w);
}

static void a_close_is_said_three_times(void **state) {
  (void)state;
  World w = world();
  back.loss = 1;
  udp_link_close(w.ends[1].link, CODE_CLOSED);
  // The link is closed already, so this has no effect.
  udp_link_close(w.ends[1].link, CODE_KICKED);
  world_run(&w, w.now_us);
  for (int i = 0; i < 20; i++) {
    world_packet(&w, 0, 100, 0);
    world_run(&w, w.now_us + 100 * MS);
  }
  assert_int_equal(back.sent, UDP_CLOSE_MAX);
  world_end(&w);
}

static void plain_links_understand_each_other_alone(void **state) {
  (void)state;
  World w = world();
  for (int end = 0; end < 2; end++) {
    UdpLinkParams params = world_params(end);
    params.is_unencrypted = true;
    udp_link_free(w.ends[end].link);
    w.ends[end].link = udp_link_new(&params, w.now_us);
  }
  uint64_t written = 0;
  world_packet(&w, 0, UDP_PACKET_MAX, 0);
  world_write(&w, 0, &written, 10000);
  world_run(&w, w.now_us + SECOND);
  assert_int_equal(w.ends[1].packets, 1);
  world_expect_stream(&w, 1, 10000);
  UdpLinkParams params = world_params(1);
  udp_link_free(w.ends[1].link);
  w.ends[1].link = udp_link_new(&params, w.now_us);
  world_packet(&w, 0, 100, 0);
  world_run(&w, w.now_us + SECOND);
  assert_int_equal(w.ends[1].packets, 1);
  assert_true(udp_link_stats(w.ends[1].link).refused > 0);
  world_end(&w);
}

static void the_queue_has_its_limits(void **state) {
  (void)state;
  World w = world();
  UdpLink *link = w.ends[0].link;
  udp_link_set_queue(link, 3, UDP_DROP_NEWEST);
  for (int i = 0; i < 3; i++) assert_int_equal(world_packet(&w, 0, 100, 0), 0);
  assert_int_equal(world_packet(&w, 0, 100, 0), 1);
  udp_link_set_queue(link, 3, UDP_DROP_OLDEST);
  assert_int_equal(world_packet(&w, 0, 200, 0), 1);
  assert_int_equal(udp_link_queued(link).packets, 3);
  assert_int_equal(udp_link_queued(link).bytes, 400);
  assert_int_equal(udp_link_stats(link).dropped, 2);
  assert_int_equal(udp_link_drop_queued(link), 3);
  assert_int_equal(udp_link_queued(link).packets, 0);
  world_end(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(who_is_silent_probes_every_5_seconds),
      cmocka_unit_test(a_link_at_rest_has_no_buffers),
      cmocka_unit_test(a_line_that_passes_nothing_is_noticed),
      cmocka_unit_test(after_losses_alone_it_passes),
      cmocka_unit_test(the_last_piece_is_not_waited_for_long),
      cmocka_unit_test(a_held_stream_waits),
      cmocka_unit_test(a_path_is_checked),
      cmocka_unit_test(after_a_sleep_it_is_soon_as_before),
      cmocka_unit_test(a_probe_is_as_long_as_a_path_check),
      cmocka_unit_test(a_probe_of_a_plain_link_is_too),
      cmocka_unit_test(a_stranger_may_not_reach_far_ahead),
      cmocka_unit_test(probes_bring_a_stranger_what_is_missing),
      cmocka_unit_test(a_close_arrives_and_is_repeated),
      cmocka_unit_test(a_close_is_said_three_times),
      cmocka_unit_test(plain_links_understand_each_other_alone),
      cmocka_unit_test(the_queue_has_its_limits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
