// Packets and lines that are not whole: the limit of their bytes for all connections,
// which connection ends beyond it, and the deadline of a line.
#include <signal.h>

#include "socket_world.h"

enum {
  TOTAL = 64 << 20,   // limit of the bytes of all connections
  LARGE = 4 << 20,    // bytes of one attacker
  SMALL = 100 << 10,  // bytes of a player
};

static const NetLimits LARGE_PACKETS = {
    .max_payload = LARGE, .channel_capacity = 1024, .overflow = DROP_NEWEST};

static bool has_ended[CONNS_MAX];
static Code codes[CONNS_MAX];

// Records the fault and closes the connection, whose data is its place in `has_ended`.
static void end_at_fault(void *data, void *conn_data, Code code, const char *text) {
  World *world = data;
  bool *place = conn_data;
  assert_non_null(text);
  *place = true;
  codes[place - has_ended] = code;
  net_close(world->net, world->ids[place - has_ended]);
}

static void open_world(World *world, NetLimits limits, Framing framing) {
  world_open(world, limits, framing);
  world->net->events.fault = end_at_fault;
  memset(has_ended, 0, sizeof has_ended);
}

static uint32_t join_as(World *world) {
  uint32_t index = join(world);
  net_set_data(world->net, world->ids[index], &has_ended[index]);
  return index;
}

static Conn *conn_of(const World *world, uint32_t index) {
  return conn_find(world->net, world->ids[index]);
}

// Returns the state of a connection, which may change while input is handled.
static uint64_t state_of(const World *world, uint32_t index) {
  const Conn *conn = conn_of(world, index);
  return world->packets + (conn ? conn->in.bytes.size : 0) + has_ended[index];
}

// Sends that number of bytes, and runs the loop until they have no more effect.
static void say(World *world, uint32_t index, const void *bytes, size_t size) {
  size_t at = 0;
  for (int still = 0; still < 10; still++) {
    uint64_t before = state_of(world, index);
    ssize_t n = send(world->sockets[index], (const char *)bytes + at, size - at,
                     MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) at += (size_t)n;
    turn(world);
    if (n > 0 || state_of(world, index) != before) still = 0;
    if (still > 0) poll(NULL, 0, 1);
  }
}

// Sends a packet without its last byte.
static void begin_packet(World *world, uint32_t index, uint32_t size) {
  uint8_t *bytes = mem_zalloc(size);
  packet_write_header(bytes, &(Packet){.priority = PRIORITY_NORMAL,
                                       .length = size - PACKET_HEADER_SIZE + 1});
  say(world, index, bytes, size);
  mem_free(bytes);
}

// Makes the packet as old as if it had begun earlier.
static void make_older(World *world, uint32_t index, uint64_t ms) {
  conn_of(world, index)->in.since_ms -= ms;
}

static uint32_t count_ended(uint32_t from, uint32_t to) {
  uint32_t count = 0;
  for (uint32_t i = from; i < to; i++) count += has_ended[i];
  return count;
}

static void those_that_hold_most_for_longest_end_first(void **state) {
  (void)state;
  enum { SLOW = 3, FAST = 12 };
  World world;
  open_world(&world, LARGE_PACKETS, FRAMING_PACKETS);
  uint32_t player = join_as(&world);
  begin_packet(&world, player, SMALL);
  uint32_t slow = world.count;
  for (int i = 0; i < SLOW; i++) begin_packet(&world, join_as(&world), LARGE);
  uint32_t fast = world.count;
  for (int i = 0; i < FAST; i++) begin_packet(&world, join_as(&world), LARGE);
  assert_int_equal(count_ended(0, world.count), 0);
  assert_true(world.net->totals->unfinished_bytes > TOTAL / 16 * 15);
  make_older(&world, player, 8000);
  for (uint32_t i = slow; i < fast; i++) make_older(&world, i, 9000);
  uint32_t last = join_as(&world);
  begin_packet(&world, last, LARGE);
  assert_int_equal(count_ended(slow, fast), SLOW);
  assert_int_equal(codes[slow], CODE_SERVER_FULL);
  assert_int_equal(count_ended(fast, world.count), 0);
  assert_false(has_ended[player]);
  assert_true(world.net->totals->unfinished_bytes <= TOTAL);
  say(&world, player, "x", 1);
  assert_int_equal(world.packets, 1);
  world_close(&world);
}

static uint64_t age_of(const World *world, uint32_t index) {
  return net_now_ms(world->net) - conn_of(world, index)->in.since_ms;
}

// After a full read buffer, the Net handles other connections before it reads on. The
// deadline of the unfinished packet does not move.
static void full_read_buffers_give_a_packet_no_more_time(void **state) {
  (void)state;
  static uint8_t piece[READ_BUFFER_BYTES];
  World world;
  open_world(&world, LARGE_PACKETS, FRAMING_PACKETS);
  uint32_t index = join_as(&world);
  uint8_t header[PACKET_HEADER_SIZE];
  packet_write_header(header, &(Packet){.priority = PRIORITY_NORMAL, .length = LARGE});
  say(&world, index, header, sizeof header);
  make_older(&world, index, 9000);
  Conn *conn = conn_of(&world, index);
  conn->transport->user->read(conn, piece, sizeof piece);
  conn->transport->user->used_share(conn);
  assert_true(conn_of(&world, index)->stops);
  turn(&world);
  assert_false(conn_of(&world, index)->stops);
  assert_true(age_of(&world, index) >= 9000);
  world_close(&world);
}

static void a_connection_that_is_not_read_has_time_to_finish_afterwards(void **state) {
  (void)state;
  World world;
  open_world(&world, LARGE_PACKETS, FRAMING_PACKETS);
  uint32_t index = join_as(&world);
  begin_packet(&world, index, SMALL);
  net_throttle(world.net, world.ids[index]);
  make_older(&world, index, NET_PACKET_DEADLINE_MS + 1000);
  net_unthrottle(world.net, world.ids[index]);
  run_timers(&world, NET_PACKET_DEADLINE_MS / 2);
  assert_false(has_ended[index]);
  say(&world, index, "x", 1);
  assert_int_equal(world.packets, 1);
  world_close(&world);
}

static void what_is_whole_or_gone_counts_no_more(void **state) {
  (void)state;
  World world;
  open_world(&world, LARGE_PACKETS, FRAMING_PACKETS);
  uint32_t one = join_as(&world), other = join_as(&world);
  begin_packet(&world, one, LARGE);
  begin_packet(&world, other, LARGE);
  assert_int_equal(world.net->totals->unfinished_bytes, 2 * LARGE);
  say(&world, one, "xabc", 4);  // the end of the packet, and 3 bytes of another one
  assert_int_equal(world.net->totals->unfinished_bytes, LARGE + 3);
  assert_true(conn_of(&world, one)->in.bytes.capacity <= 64);
  net_close(world.net, world.ids[other]);
  assert_int_equal(world.net->totals->unfinished_bytes, 3);
  world_close(&world);
}

static void what_waits_for_us_does_not_count(void **state) {
  (void)state;
  World world;
  open_world(&world, LARGE_PACKETS, FRAMING_PACKETS);
  uint32_t index = join_as(&world);
  begin_packet(&world, index, 1000);
  assert_int_equal(world.net->totals->unfinished_bytes, 1000);
  net_throttle(world.net, world.ids[index]);
  say(&world, index, "x", 1);
  assert_int_equal(world.net->totals->unfinished_bytes, 1000);
  net_unthrottle(world.net, world.ids[index]);
  say(&world, index, "ab", 2);
  assert_int_equal(world.net->totals->unfinished_bytes, 2);
  world_close(&world);
}

static void a_thread_ends_no_connection_for_what_others_hold(void **state) {
  (void)state;
  World world;
  open_world(&world, LARGE_PACKETS, FRAMING_PACKETS);
  world.net->totals->threads = 2;
  world.net->totals->unfinished_bytes = TOTAL;
  for (int i = 0; i < TOTAL / 2 / LARGE; i++)
    begin_packet(&world, join_as(&world), LARGE);
  assert_int_equal(count_ended(0, world.count), 0);
  begin_packet(&world, join_as(&world), LARGE);
  assert_true(count_ended(0, world.count) > 0);
  assert_true(world.net->unfinished_bytes <= TOTAL / 2);
  world.net->totals->unfinished_bytes -= TOTAL;
  world_close(&world);
}

static void a_long_line_has_the_time_of_a_packet(void **state) {
  (void)state;
  static char text[NET_TYPED_BYTES + 1];
  memset(text, 'a', sizeof text);
  World world;
  open_world(&world, DEFAULTS, FRAMING_LINES);
  uint32_t typist = join_as(&world), other = join_as(&world);
  say(&world, typist, text, NET_TYPED_BYTES);
  say(&world, other, text, NET_TYPED_BYTES);
  run_timers(&world, NET_PACKET_DEADLINE_MS + 1);
  assert_int_equal(count_ended(0, 2), 0);
  make_older(&world, other, NET_PACKET_DEADLINE_MS);
  say(&world, other, text, 1);
  run_timers(&world, NET_PACKET_DEADLINE_MS - 500);
  assert_int_equal(count_ended(0, 2), 0);
  make_older(&world, other, NET_PACKET_DEADLINE_MS);
  run_timers(&world, NET_PACKET_DEADLINE_MS + 500);
  assert_false(has_ended[typist]);
  assert_true(has_ended[other]);
  assert_int_equal(codes[other], CODE_IDLE_TIMEOUT);
  world_close(&world);
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(those_that_hold_most_for_longest_end_first),
      cmocka_unit_test(full_read_buffers_give_a_packet_no_more_time),
      cmocka_unit_test(a_connection_that_is_not_read_has_time_to_finish_afterwards),
      cmocka_unit_test(what_is_whole_or_gone_counts_no_more),
      cmocka_unit_test(what_waits_for_us_does_not_count),
      cmocka_unit_test(a_thread_ends_no_connection_for_what_others_hold),
      cmocka_unit_test(a_long_line_has_the_time_of_a_packet),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
