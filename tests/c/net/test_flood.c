// Peers that send too much, or do not read: all others still get their share, and the
// memory for such peers is limited, for each one and for all together.
#include <signal.h>

#include "socket_world.h"

enum { MESSAGE_BYTES = 60000 };

static Conn *conn_of(const World *world, uint32_t index) {
  return conn_find(world->net, world->ids[index]);
}

// Sends as many empty packets as the socket accepts; returns their number.
static uint32_t send_packets(World *world, uint32_t index, uint32_t count) {
  static uint8_t bytes[READ_BUFFER_BYTES / PACKET_HEADER_SIZE * PACKET_HEADER_SIZE];
  for (size_t at = 0; at < sizeof bytes; at += PACKET_HEADER_SIZE)
    packet_write_header(bytes + at, &(Packet){.priority = PRIORITY_NORMAL});
  uint32_t sent = 0;
  while (sent < count) {
    size_t size = (count - sent) * (size_t)PACKET_HEADER_SIZE;
    if (size > sizeof bytes) size = sizeof bytes;
    ssize_t n = send(world->sockets[index], bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n <= 0) break;
    while (n % PACKET_HEADER_SIZE)  // the rest of a packet that was cut
      n += send(world->sockets[index], bytes + n % PACKET_HEADER_SIZE,
                PACKET_HEADER_SIZE - n % PACKET_HEADER_SIZE, MSG_NOSIGNAL);
    sent += (uint32_t)n / PACKET_HEADER_SIZE;
  }
  return sent;
}

static void a_flood_is_taken_in_shares(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_PACKETS);
  uint32_t index = join(&world);
  uint32_t sent = send_packets(&world, index, 20000);
  assert_true(sent > 2 * READ_BUFFER_BYTES / PACKET_HEADER_SIZE);
  while (world.packets < sent) {
    uint32_t before = world.packets;
    turn(&world);
    assert_true(world.packets - before <= READ_BUFFER_BYTES / PACKET_HEADER_SIZE + 1);
  }
  assert_int_equal(world.packets, sent);
  world_close(&world);
}

static void requests_wait_for_the_turn_when_their_answers_are_large(void **state) {
  (void)state;
  World world;
  NetLimits limits = DEFAULTS;
  world_open(&world, limits, FRAMING_PACKETS);
  world.answer_bytes = NET_OUTBUF_BYTES + 1;
  uint32_t index = join(&world);
  uint32_t sent = send_packets(&world, index, 30);
  while (world.packets == 0) turn(&world);
  assert_true(world.packets <= 3);
  static char drain[1 << 20];
  for (int i = 0; i < 10000 && world.packets < sent; i++) {
    turn(&world);
    while (recv(world.sockets[index], drain, sizeof drain, MSG_DONTWAIT) > 0) continue;
  }
  assert_int_equal(world.packets, sent);
  assert_int_equal(world.last_fault, 0);
  world_close(&world);
}

static void note_packets(void *data, uint64_t now_ms) {
  (void)now_ms;
  World *world = data;
  world->turns_left = world->packets;
}

static void what_has_arrived_comes_before_timers(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_PACKETS);
  uint32_t index = join(&world);
  Timer timer = {0};
  world.turns_left = UINT32_MAX;
  uv_update_time(&net_loop(world.net)->uv);
  timers_set(net_timers(world.net), &timer, net_now_ms(world.net) + 30, note_packets,
             &world);
  turn(&world);
  assert_int_equal(world.turns_left, UINT32_MAX);
  send_packets(&world, index, 1);
  poll(NULL, 0, 60);  // waits as long as a slow handler would
  while (world.turns_left == UINT32_MAX) turn(&world);
  assert_int_equal(world.turns_left, 1);
  world_close(&world);
}

static void send_message(World *world, uint32_t index, uint32_t size, uint8_t flags) {
  static const char bytes[MESSAGE_BYTES];
  net_write(world->net, world->ids[index],
            &(Out){.parts = {bytes},
                   .sizes = {size},
                   .priority = PRIORITY_NORMAL,
                   .flags = flags});
}

// Writes until `bytes` wait, or until the Net keeps no more.
static void fill(World *world, uint32_t index, size_t bytes) {
  for (int i = 0; i < 2000; i++) {
    const Backlog *backlog = conn_of(world, index)->out.backlog;
    if (backlog && backlog->bytes >= bytes) return;
    send_message(world, index, MESSAGE_BYTES, 0);
    if (i % 16 == 15) turn(world);
  }
}

static void a_stalled_reader_keeps_room_for_control_messages(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_PACKETS);
  uint32_t index = join(&world);
  fill(&world, index, NET_BACKLOG_BYTES);
  for (uint32_t size = MESSAGE_BYTES; size > 0; size /= 2)
    send_message(&world, index, size, 0);
  for (int i = 0; i < 1000; i++) send_message(&world, index, 40, OUT_KEEP);
  turn(&world);
  assert_int_equal(world.last_fault, 0);
  assert_true(world.dropped > 0);
  assert_int_equal(conn_of(&world, index)->out.backlog->kept, 1000);
  world_close(&world);
}

static void many_stalled_readers_are_held_to_little(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_PACKETS);
  uint32_t one = join(&world), other = join(&world);
  fill(&world, one, NET_BACKLOG_BYTES / 2);
  size_t waiting = conn_of(&world, one)->out.backlog->bytes;
  assert_int_equal(world.net->totals->backlog_bytes, waiting);
  // Adds to the total, as if other connections had many more waiting bytes.
  world.net->totals->backlog_bytes += NET_BACKLOG_TOTAL;
  fill(&world, other, NET_BACKLOG_BYTES);
  assert_in_range(conn_of(&world, other)->out.backlog->bytes, 1, NET_BACKLOG_SHARE);
  assert_true(world.dropped > 0);
  assert_int_equal(world.last_fault, 0);
  world.net->totals->backlog_bytes -= NET_BACKLOG_TOTAL;
  fill(&world, other, NET_BACKLOG_BYTES / 2);
  assert_true(conn_of(&world, other)->out.backlog->bytes > NET_BACKLOG_SHARE);
  for (uint32_t i = 0; i < 2; i++) {
    struct linger now = {1, 0};
    setsockopt(world.sockets[i], SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(world.sockets[i]);
    world.sockets[i] = -1;
  }
  while (world.net->totals->backlog_bytes > 0) turn(&world);
  world_close(&world);
}

// A member keeps the numbers of the messages that it skips, and forgets them at the
// flush.
static void what_was_left_out_is_forgotten_with_the_flush(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_LINES);
  uint32_t index = join(&world);
  GroupId group = net_group_open(world.net, 1);
  net_group_join(world.net, group, world.ids[index]);
  const Member *member = &conn_of(&world, index)->out.groups[0].group->members[0];
  for (int i = 0; i < 1000; i++) {
    Out out = out_of("own", i % 2 ? PRIORITY_NORMAL : PRIORITY_LOW);
    net_group_write(world.net, group, &out, &world.ids[index], 1);
  }
  assert_true(member->skip_count > 1);
  Out out = out_of("other", PRIORITY_NORMAL);
  net_group_write(world.net, group, &out, NULL, 0);
  expect(&world, index, "other\n");
  assert_int_equal(member->skip_count, 0);
  assert_true(member->skip_capacity <= SKIPS_KEPT);
  world_close(&world);
}

static void the_refused_do_not_use_up_the_descriptors(void **state) {
  (void)state;
  World world;
  int sockets[2 * REFUSED_MAX];
  world_open(&world, DEFAULTS, FRAMING_LINES);
  world.is_refusing = true;
  for (int i = 0; i < 2 * REFUSED_MAX; i++) sockets[i] = connect_to(world.port);
  for (int i = 0; i < 200; i++) turn(&world);
  assert_int_equal(world.net->totals->refused, REFUSED_MAX);
  for (int i = 0; i < 2 * REFUSED_MAX; i++) close(sockets[i]);
  while (world.net->totals->refused > 0) turn(&world);
  world_close(&world);
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);  // perigee ignores it, too
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_flood_is_taken_in_shares),
      cmocka_unit_test(requests_wait_for_the_turn_when_their_answers_are_large),
      cmocka_unit_test(what_has_arrived_comes_before_timers),
      cmocka_unit_test(a_stalled_reader_keeps_room_for_control_messages),
      cmocka_unit_test(many_stalled_readers_are_held_to_little),
      cmocka_unit_test(what_was_left_out_is_forgotten_with_the_flush),
      cmocka_unit_test(the_refused_do_not_use_up_the_descriptors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
