// Links over lines like those of players: the stream is whole and in order, packets
// arrive in time, and a narrow line is used fully without a long queue. Time is
// simulated and random numbers have a seed, so the figures are the same each time.
#include "wire/udp/link.h"

#include "udp_world.h"

static const uint64_t MS = 1000, SECOND = 1000000;

enum { NARROW = 250000, NARROW_QUEUE = 16000, DELAYS_MAX = 20000 };  // 2 Mbit/s

// 10 % of datagrams lost, 5 % doubled, 25 % late, a round trip of 100 ms +- 30 ms.
static const Line WILD = {.loss = .1,
                          .duplicates = .05,
                          .reordered = .25,
                          .delay_us = 50000,
                          .jitter_us = 15000,
                          .late_us = 15000};

typedef struct Delays {
  uint64_t us[DELAYS_MAX];
  size_t count;
} Delays;

static void note_delay(World *world, int end, const Packet *packet) {
  (void)end;
  Delays *delays = world->data;
  assert_true(delays->count < DELAYS_MAX);
  delays->us[delays->count++] = world->now_us - world_packet_time(packet);
}

static int compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static uint64_t percentile(Delays *delays, size_t percent) {
  qsort(delays->us, delays->count, sizeof *delays->us, compare);
  return delays->us[(delays->count - 1) * percent / 100];
}

// Lets end 0 write as much as its link accepts, for that time.
static void pour(World *world, uint64_t *written, uint64_t for_us) {
  const uint64_t until_us = world->now_us + for_us;
  while (world->now_us < until_us) {
    world_write(world, 0, written, UINT64_MAX);
    world_run(world, world->now_us + MS);
  }
}

// Lets written bytes arrive, and checks that all have arrived.
static void settle(World *world, uint64_t written) {
  for (int i = 0; i < 60 && world->ends[1].stream.size < written; i++)
    world_run(world, world->now_us + SECOND);
  world_expect_stream(world, 1, written);
}

static void a_stream_is_whole_over_a_wild_line(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 5; seed++) {
    Line there = WILD, back = WILD;
    World world = world_of(seed, &there, &back);
    uint64_t written = 0;
    pour(&world, &written, 5 * SECOND);
    settle(&world, written);
    assert_true(written > 1000000);
    // Almost all datagrams that count as lost are lost, so few bytes are sent twice.
    UdpLinkStats stats = udp_link_stats(world.ends[0].link);
    assert_true(stats.lost < stats.sent * 15 / 100);
    assert_true(stats.lost - there.lost < stats.sent * 4 / 100);
    world_end(&world);
  }
}

static void small_writes_are_whole_too(void **state) {
  (void)state;
  Line there = WILD, back = WILD;
  World world = world_of(3, &there, &back);
  uint64_t written = 0;
  for (int i = 0; i < 3000; i++) {
    world_write(&world, 0, &written, written + 1 + i % 70);
    world_run(&world, world.now_us + 3 * MS);
  }
  settle(&world, written);
  world_end(&world);
}

// On a fast line, more than 64 later datagrams may overtake a delayed one.
static void what_comes_very_late_is_acknowledged(void **state) {
  (void)state;
  Line there = {.delay_us = 50000, .reordered = .05, .late_us = 60000}, back = there;
  World world = world_of(3, &there, &back);
  uint64_t written = 0;
  pour(&world, &written, 5 * SECOND);
  UdpLinkStats stats = udp_link_stats(world.ends[0].link);
  assert_true(stats.sent > 5000);
  assert_true(stats.lost < stats.sent * 2 / 100);
  settle(&world, written);
  world_end(&world);
}

// Sends a game's packets at 20 Hz. In some runs, a stream is sent at the same time.
static void packets_are_in_time_over_a_wild_line(void **state) {
  (void)state;
  static Delays delays;
  for (uint64_t seed = 1; seed <= 3; seed++) {
    Line there = WILD, back = WILD;
    World world = world_of(seed, &there, &back);
    delays.count = 0;
    world.data = &delays;
    world.ends[1].on_packet = note_delay;
    uint64_t written = 0;
    for (int tick = 0; tick < 600; tick++) {
      for (int i = 0; i < 3; i++) world_packet(&world, 0, 200, 0);
      if (seed > 1)
        pour(&world, &written, 50 * MS);
      else
        world_run(&world, world.now_us + 50 * MS);
    }
    settle(&world, written);
    assert_true(delays.count > 1800 * 85 / 100);
    assert_true(percentile(&delays, 99) <= 120 * MS);
    world_end(&world);
  }
}

static void a_narrow_line_is_full(void **state) {
  (void)state;
  const Line narrow = {.delay_us = 25000, .rate = NARROW, .queue_bytes = NARROW_QUEUE};
  Line wild = WILD;
  wild.rate = NARROW;
  wild.queue_bytes = NARROW_QUEUE;
  const Line lines[] = {narrow, wild};
  for (int i = 0; i < 2; i++) {
    Line there = lines[i], back = lines[i];
    World world = world_of(7, &there, &back);
    uint64_t written = 0;
    pour(&world, &written, 2 * SECOND);
    const size_t begun = world.ends[1].stream.size;
    // The throughput does not change over time.
    for (int second = 0; second < 20; second += 4) {
      size_t before = world.ends[1].stream.size;
      pour(&world, &written, 4 * SECOND);
      size_t got = world.ends[1].stream.size - before;
      assert_true(got > 4 * NARROW * 70 / 100);
    }
    // Compares with the line's rate, less the headers and the tenth of datagrams that
    // is lost.
    size_t got = world.ends[1].stream.size - begun;
    assert_true(got > 20 * NARROW * (i == 0 ? 90 : 80) / UINT64_C(100));
    // The queue of the line stays short.
    if (i == 0) assert_true(udp_link_stats(world.ends[0].link).rtt_us < 75 * MS);
    world_end(&world);
  }
}

// Random losses cost the lost bytes and not much more.
static void a_line_with_losses_is_full_too(void **state) {
  (void)state;
  for (int percent = 5; percent <= 20; percent += 5) {
    Line there = {.loss = percent / 100.0,
                  .delay_us = 50000,
                  .rate = NARROW,
                  .queue_bytes = NARROW_QUEUE};
    Line back = there;
    World world = world_of(7, &there, &back);
    uint64_t written = 0;
    pour(&world, &written, 5 * SECOND);
    size_t before = world.ends[1].stream.size;
    pour(&world, &written, 20 * SECOND);
    uint64_t passed = 20 * NARROW * (100 - (uint64_t)percent) / 100;
    assert_true(world.ends[1].stream.size - before > passed * 85 / 100);
    settle(&world, written);
    world_end(&world);
  }
}

// Sends packets at ten times the line's rate, and a stream at the same time.
static void a_flood_does_not_break_a_narrow_line(void **state) {
  (void)state;
  static Delays delays;
  Line there = {.delay_us = 25000, .rate = NARROW, .queue_bytes = NARROW_QUEUE};
  Line back = there;
  World world = world_of(7, &there, &back);
  delays.count = 0;
  world.data = &delays;
  world.ends[1].on_packet = note_delay;
  uint64_t written = 0;
  for (int tick = 0; tick < 400; tick++) {
    for (int i = 0; i < 110; i++) world_packet(&world, 0, UDP_PACKET_MAX, 0);
    pour(&world, &written, 50 * MS);
  }
  const uint64_t got = delays.count * UDP_PACKET_MAX + world.ends[1].stream.size;
  assert_true(got > 20 * NARROW * UINT64_C(80) / 100);
  assert_true(world.ends[1].stream.size > got / 20);  // the stream still gets through
  assert_true(there.lost < there.sent * 5 / 100);     // the sender drops packets
  assert_true(udp_link_stats(world.ends[0].link).dropped > 30000);
  assert_true(percentile(&delays, 99) < 600 * MS);  // instead of queueing them for ever
  settle(&world, written);
  world_end(&world);
}

static void two_share_a_narrow_line(void **state) {
  (void)state;
  Line there = {.delay_us = 25000, .rate = NARROW, .queue_bytes = NARROW_QUEUE};
  Line back = there;
  World world = world_of(7, &there, &back);
  world_connect(&world, 2, &there, &back);
  uint64_t written[2] = {0};
  for (int i = 0; i < 30000; i++) {
    world_write(&world, 0, &written[0], UINT64_MAX);
    if (i > 3000) world_write(&world, 2, &written[1], UINT64_MAX);
    world_run(&world, world.now_us + MS);
  }
  size_t first = world.ends[1].stream.size, second = world.ends[3].stream.size;
  assert_true(first + second > 30 * NARROW * UINT64_C(80) / 100);
  assert_true(second > (first + second) / 5);
  assert_true(first > (first + second) / 5);
  assert_true(there.lost < there.sent * 15 / 100);
  world_end(&world);
}

static void a_line_that_narrows_is_noticed(void **state) {
  (void)state;
  Line there = {.delay_us = 25000, .rate = 4 * NARROW, .queue_bytes = 4 * NARROW_QUEUE};
  Line back = there;
  World world = world_of(7, &there, &back);
  uint64_t written = 0;
  pour(&world, &written, 5 * SECOND);
  there.rate = NARROW;
  pour(&world, &written, 3 * SECOND);
  uint64_t lost = there.lost, sent = there.sent;
  size_t before = world.ends[1].stream.size;
  pour(&world, &written, 5 * SECOND);
  assert_true(world.ends[1].stream.size - before > 5 * NARROW * 80 / 100);
  assert_true(there.lost - lost < (there.sent - sent) * 5 / 100);
  there.rate = 4 * NARROW;  // the line becomes wider again
  pour(&world, &written, 10 * SECOND);
  before = world.ends[1].stream.size;
  pour(&world, &written, 5 * SECOND);
  assert_true(world.ends[1].stream.size - before > 5 * 4 * NARROW * UINT64_C(80) / 100);
  settle(&world, written);
  world_end(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_stream_is_whole_over_a_wild_line),
      cmocka_unit_test(small_writes_are_whole_too),
      cmocka_unit_test(what_comes_very_late_is_acknowledged),
      cmocka_unit_test(packets_are_in_time_over_a_wild_line),
      cmocka_unit_test(a_narrow_line_is_full),
      cmocka_unit_test(a_line_with_losses_is_full_too),
      cmocka_unit_test(a_flood_does_not_break_a_narrow_line),
      cmocka_unit_test(two_share_a_narrow_line),
      cmocka_unit_test(a_line_that_narrows_is_noticed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
