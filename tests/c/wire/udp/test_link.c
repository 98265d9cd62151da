// Tests single functions of a link, over lines that do nothing by themselves.
#include "wire/udp/link.h"

#include "udp_world.h"

#include "base/integers.h"
#include "wire/control.h"
#include "wire/udp/body.h"

enum { DELAY_US = 20000 };
static const uint64_t MS = 1000, SECOND = 1000000;

static Line there, back;

static World world(void) {
  there = back = (Line){.delay_us = DELAY_US};
  return world_of(1, &there, &back);
}

// Makes a datagram as `end` would have made it.
typedef struct Forgery {
  uint8_t bytes[UDP_DATAGRAM_MAX];
  size_t size;
} Forgery;

static Forgery forge(int end, uint64_t number, uint16_t ack, uint64_t bits,
                     const Buf *items) {
  UdpLinkParams params = world_params(end);
  Forgery forgery;
  memcpy(forgery.bytes, params.keys.channel, UDP_CHANNEL_SIZE);
  uint8_t *at = put_u16(forgery.bytes + UDP_CHANNEL_SIZE, (uint16_t)number);
  uint8_t *inside = at;
  at = put_u64(put_u16(at, ack), bits);
  if (items->size) memcpy(at, items->data, items->size);
  size_t size = UDP_ACK_SIZE + items->size;
  udp_seal(params.keys.send, number, forgery.bytes, UDP_HEAD_SIZE, inside, size);
  forgery.size = UDP_HEAD_SIZE + size + UDP_TAG_SIZE;
  return forgery;
}

static UdpTaken receive(World *w, int end, const Forgery *forgery) {
  static uint8_t bytes[UDP_DATAGRAM_MAX];  // buffer that world_take reads
  memcpy(bytes, forgery->bytes, forgery->size);
  return udp_link_receive(w->ends[end].link, w->now_us, bytes, forgery->size);
}

// --- What arrives ---

static void packets_and_stream_arrive_both_ways(void **state) {
  (void)state;
  World w = world();
  uint64_t written[2] = {0};
  for (int i = 0; i < 100; i++) {
    for (int end = 0; end < 2; end++) {
      world_packet(&w, end, 100 + (size_t)i, (uint32_t)i % 2);
      world_write(&w, end, &written[end], written[end] + 1000);
    }
    world_run(&w, w.now_us + 16 * MS);
  }
  world_run(&w, w.now_us + SECOND);
  for (int end = 0; end < 2; end++) {
    assert_int_equal(w.ends[end].packets, 100);
    world_expect_stream(&w, end, 100000);
    assert_int_equal(udp_link_stream_unacknowledged(w.ends[end].link), 0);
    UdpLinkStats stats = udp_link_stats(w.ends[end].link);
    assert_int_equal(stats.lost, 0);
    assert_in_range(stats.rtt_us, 2 * DELAY_US, 2 * DELAY_US + UDP_ACK_DELAY_US);
  }
  world_end(&w);
}

static void the_largest_packets_fit(void **state) {
  (void)state;
  World w = world();
  world_packet(&w, 0, UDP_PACKET_MAX, 0);
  world_packet(&w, 0, UDP_LATEST_MAX, 5);
  world_run(&w, w.now_us + SECOND);
  assert_int_equal(w.ends[1].packets, 2);
  world_end(&w);
}

static uint64_t values[100];
static int value_count;

static void note_value(World *w, int end, const Packet *packet) {
  (void)w, (void)end;
  values[value_count++] = world_packet_time(packet);
}

static void outdated_packets_are_passed_over(void **state) {
  (void)state;
  World w = world();
  w.ends[1].on_packet = note_value;
  value_count = 0;
  const uint64_t first_us = w.now_us;
  world_packet(&w, 0, 100, 7);
  world_packet(&w, 0, 100, 0);
  there.delay_us = 50 * MS;
  world_flush(&w, 0);
  there.delay_us = 10 * MS;
  world_run(&w, w.now_us + MS);
  world_packet(&w, 0, 100, 7);  // overtakes the one before
  world_flush(&w, 0);
  world_run(&w, w.now_us + SECOND);
  assert_int_equal(value_count, 2);
  assert_int_equal(values[0], first_us + MS);  // the later packet with the key
  assert_int_equal(values[1], first_us);       // the packet without a key
  world_end(&w);
}

// --- Acknowledging ---

static size_t produced(World *w, int end) {
  uint8_t out[UDP_DATAGRAM_MAX];
  return udp_link_produce(w->ends[end].link, w->now_us, out);
}

static void acknowledgements_wait_for_25_ms_or_8_datagrams(void **state) {
  (void)state;
  World w = world();
  Buf probe = {0};
  buf_u8(&probe, UDP_ITEM_PROBE);
  uint64_t number = 100;
  Forgery forgery = forge(0, number++, 65529, 0, &probe);
  assert_int_equal(receive(&w, 1, &forgery), UDP_NEWEST);
  assert_int_equal(udp_link_deadline(w.ends[1].link), w.now_us + UDP_ACK_DELAY_US);
  assert_int_equal(produced(&w, 1), 0);
  w.now_us += UDP_ACK_DELAY_US;
  assert_int_equal(produced(&w, 1), UDP_HEAD_SIZE + UDP_ACK_SIZE + UDP_TAG_SIZE);
  assert_int_equal(produced(&w, 1), 0);
  for (int i = 1; i <= UDP_ACK_DATAGRAMS; i++) {
    assert_int_equal(produced(&w, 1), 0);
    forgery = forge(0, number++, 65529, 0, &probe);
    receive(&w, 1, &forgery);
  }
  assert_true(produced(&w, 1) > 0);
  number++;
  forgery = forge(0, number, 65529, 0, &probe);  // a gap in the numbers
  receive(&w, 1, &forgery);
  assert_true(produced(&w, 1) > 0);
  forgery = forge(0, number - 1, 65529, 0, &probe);  // the missing number
  assert_int_equal(receive(&w, 1, &forgery), UDP_TAKEN);
  assert_true(produced(&w, 1) > 0);
  probe.size = 0;
  forgery = forge(0, number + 1, 65529, 0, &probe);  // nothing to acknowledge
  receive(&w, 1, &forgery);
  assert_true(udp_link_deadline(w.ends[1].link) > w.now_us + SECOND);
  buf_deinit(&probe);
  world_end(&w);
}

static void what_was_never_sent_is_not_acknowledged(void **state) {
  (void)state;
  const struct {
    uint16_t ack;
    uint64_t bits;
    UdpTaken taken;
  } cases[] = {
      {65529, 0, UDP_NEWEST},  // nothing so far
      {65529, 1, UDP_BROKEN}, {65530, 0, UDP_NEWEST}, {65532, 3, UDP_NEWEST},
      {65532, 4, UDP_BROKEN}, {65533, 0, UDP_BROKEN}, {0, 0, UDP_BROKEN},
      {65528, 0, UDP_BROKEN}, {30000, 0, UDP_BROKEN}, {65532, UINT64_MAX, UDP_BROKEN},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    World w = world();
    for (int n = 0; n < 3; n++) {  // 65530 to 65532
      world_packet(&w, 1, 100, 0);
      assert_true(produced(&w, 1) > 0);
    }
    Forgery forgery = forge(0, 100, cases[i].ack, cases[i].bits, &(Buf){0});
    assert_int_equal(receive(&w, 1, &forgery), cases[i].taken);
    world_end(&w);
  }
}

// --- Broken and forged datagrams ---

static bool keep_last(World *w, int end, const uint8_t *bytes, size_t size) {
  if (end != 0) return true;
  Forgery *kept = w->data;
  memcpy(kept->bytes, bytes, size);
  kept->size = size;
  return false;
}

static void forged_datagrams_change_nothing(void **state) {
  (void)state;
  World w = world();
  Forgery kept;
  w.data = &kept;
  w.on_sent = keep_last;
  uint64_t written = 0;
  world_packet(&w, 0, 100, 0);
  world_write(&w, 0, &written, 50);
  UdpLink *link = w.ends[1].link;
  const uint64_t deadline_us = udp_link_deadline(link);
  for (size_t bit = 0; bit < 8 * kept.size; bit++) {
    Forgery forgery = kept;
    forgery.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    assert_int_equal(receive(&w, 1, &forgery), UDP_REFUSED);
  }
  for (size_t size = 0; size < kept.size; size++) {
    Forgery forgery = kept;
    forgery.size = size;
    assert_int_equal(receive(&w, 1, &forgery), UDP_REFUSED);
  }
  UdpArrival arrival;
  assert_false(udp_link_next(link, &arrival));
  assert_int_equal(udp_link_deadline(link), deadline_us);
  assert_int_equal(produced(&w, 1), 0);
  assert_int_equal(udp_link_stats(link).received, 0);
  assert_int_equal(receive(&w, 1, &kept), UDP_NEWEST);
  world_take(&w, 1);
  assert_int_equal(w.ends[1].packets, 1);
  assert_int_equal(w.ends[1].stream.size, 50);
  world_end(&w);
}

static void put_packet(Buf *items, Packet packet) {
  buf_u8(items, UDP_ITEM_PACKET);
  packet_append(items, &packet);
}

static void expect_items(const Buf *items, UdpTaken expected) {
  World w = world();
  Forgery forgery = forge(0, 100, 65529, 0, items);
  assert_int_equal(receive(&w, 1, &forgery), expected);
  if (expected == UDP_BROKEN) {
    UdpArrival arrival;
    assert_false(udp_link_next(w.ends[1].link, &arrival));
  }
  world_end(&w);
}

static void bodies_that_break_a_rule_are_told(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t size;
    UdpTaken taken;
  } cases[] = {
      {"\x05", 1, UDP_NEWEST},
      {"\x07", 1, UDP_BROKEN},                // an unknown kind
      {"\x05\xff", 2, UDP_BROKEN},            // the same after a good item
      {"\x06\x05\x00", 3, UDP_NEWEST},        // a CLOSE
      {"\x06\x05\x00\x05", 4, UDP_BROKEN},    // a CLOSE with an item after it
      {"\x06\x05", 2, UDP_BROKEN},            // cut
      {"\x03\1\2\3\4\5\6\7", 8, UDP_BROKEN},  // cut
      {"\x02\0\0\0\0\1\0x", 8, UDP_NEWEST},   // a piece of the stream
      {"\x02\0\0\0\0\0\0x", 8, UDP_BROKEN},   // an empty piece of the stream
      // A piece of the stream that is cut.
      {"\x02\0\0\0\0\2\0x", 8, UDP_BROKEN},
      {"\x00\0\0\0\0\0\0\0\0\0\0\0", 12, UDP_BROKEN},  // half of a packet's header
  };
  Buf items = {0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    items.size = 0;
    buf_append(&items, cases[i].bytes, cases[i].size);
    expect_items(&items, cases[i].taken);
  }
  const struct {
    Packet packet;
    UdpTaken taken;
  } packets[] = {
      {{.channel = 2}, UDP_NEWEST},
      {{.channel = 2, .flags = PACKET_RELIABLE}, UDP_BROKEN},
      {{.channel = 2, .flags = PACKET_REQUEST}, UDP_BROKEN},
      {{.channel = 2, .flags = PACKET_RESPONSE}, UDP_BROKEN},
      {{.channel = 2, .priority = 4}, UDP_BROKEN},
      {{.type = CONTROL_PING}, UDP_BROKEN},
      {{.type = CONTROL_BROADCAST}, UDP_NEWEST},
      {{.type = CONTROL_RELAYED}, UDP_NEWEST},
  };
  for (size_t i = 0; i < sizeof packets / sizeof *packets; i++) {
    items.size = 0;
    put_packet(&items, packets[i].packet);
    expect_items(&items, packets[i].taken);
  }
  buf_deinit(&items);
}

static void an_attached_link_has_no_stream(void **state) {
  (void)state;
  World w = world();
  UdpLinkParams params = world_params(1);
  params.is_attached = true;
  udp_link_free(w.ends[1].link);
  w.ends[1].link = udp_link_new(&params, w.now_us);
  uint64_t written = 0;
  world_packet(&w, 0, 100, 0);
  world_run(&w, w.now_us + SECOND);
  assert_int_equal(w.ends[1].packets, 1);
  world_write(&w, 0, &written, 100);
  world_run(&w, w.now_us + 30 * MS);
  assert_int_equal(w.ends[1].broken, 1);
  assert_int_equal(w.ends[1].stream.size, 0);
  world_end(&w);
}

static void what_lies_beyond_the_window_counts_as_lost(void **state) {
  (void)state;
  World w = world();
  Buf items = {0};
  buf_append(&items, "\x02\xf8\xff\x03\x00\x09\0too far..", 16);  // 262,136 and 9 bytes
  Forgery forgery = forge(0, 100, 65529, 0, &items);
  assert_int_equal(receive(&w, 1, &forgery), UDP_REFUSED);
  assert_int_equal(receive(&w, 1, &forgery), UDP_REFUSED);
  items.data[5] = 8;
  items.size--;
  // An authentic datagram may still have that number.
  forgery = forge(0, 100, 65529, 0, &items);
  assert_int_equal(receive(&w, 1, &forgery), UDP_NEWEST);
  buf_deinit(&items);
  world_end(&w);
}

// --- Repeated datagrams ---

typedef struct Capture {
  Forgery *items;
  size_t count, capacity;
} Capture;

static bool capture(World *w, int end, const uint8_t *bytes, size_t size) {
  Capture *captured = w->data;
  if (end != 0) return true;
  if (captured->count == captured->capacity) {
    captured->capacity = captured->capacity ? 2 * captured->capacity : 64;
    captured->items =
        mem_grow(captured->items, captured->capacity * sizeof *captured->items);
  }
  Forgery *item = &captured->items[captured->count++];
  memcpy(item->bytes, bytes, size);
  item->size = size;
  return true;
}

static void each_datagram_ten_times_is_taken_once(void **state) {
  (void)state;
  World w = world();
  Capture captured = {0};
  w.data = &captured;
  w.on_sent = capture;
  uint64_t written = 0;
  size_t replayed = 0;
  for (int i = 0; i < 2000; i++) {
    world_packet(&w, 0, 200, 0);
    world_write(&w, 0, &written, written + 150);
    world_run(&w, w.now_us + 10 * MS);
    // Repeats datagrams that have arrived: the newest ones, and an old one.
    for (; replayed + 10 < captured.count; replayed++)
      for (int times = 0; times < 10; times++)
        assert_int_equal(receive(&w, 1, &captured.items[replayed]), UDP_REFUSED);
    if (replayed == 0) continue;
    assert_int_equal(receive(&w, 1, &captured.items[replayed / 2]), UDP_REFUSED);
  }
  world_run(&w, w.now_us + SECOND);
  for (size_t i = 0; i < captured.count; i++)
    for (int times = 0; times < 10; times++)
      assert_int_equal(receive(&w, 1, &captured.items[i]), UDP_REFUSED);
  assert_int_equal(w.ends[1].packets, 2000);
  world_expect_stream(&w, 1, 300000);
  mem_free(captured.items);
  world_end(&w);
}

static void numbers_go_beyond_16_bits(void **state) {
  (void)state;
  World w = world();
  there.delay_us = back.delay_us = 1000;
  uint32_t sent = 0;
  while (udp_link_stats(w.ends[0].link).sent < 200000) {
    for (int i = 0; i < 8; i++, sent++) {
      world_packet(&w, 0, 800, 0);
      world_flush(&w, 0);
    }
    world_run(&w, w.now_us + 2 * MS);
  }
  world_run(&w, w.now_us + SECOND);
  assert_int_equal(w.ends[1].packets, sent);
  assert_int_equal(udp_link_stats(w.ends[0].link).lost, 0);
  world_end(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(packets_and_stream_arrive_both_ways),
      cmocka_unit_test(the_largest_packets_fit),
      cmocka_unit_test(outdated_packets_are_passed_over),
      cmocka_unit_test(acknowledgements_wait_for_25_ms_or_8_datagrams),
      cmocka_unit_test(what_was_never_sent_is_not_acknowledged),
      cmocka_unit_test(forged_datagrams_change_nothing),
      cmocka_unit_test(bodies_that_break_a_rule_are_told),
      cmocka_unit_test(an_attached_link_has_no_stream),
      cmocka_unit_test(what_lies_beyond_the_window_counts_as_lost),
      cmocka_unit_test(each_datagram_ten_times_is_taken_once),
      cmocka_unit_test(numbers_go_beyond_16_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
