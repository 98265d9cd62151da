// Connections over real sockets: packets from the byte stream, deadlines, throttling,
// and ends.
#include "base/err.h"
#include "socket_world.h"

// Sends a packet's header without the payload.
static void send_header(World *world, uint32_t index, uint32_t length) {
  uint8_t header[PACKET_HEADER_SIZE];
  packet_write_header(header, &(Packet){.priority = PRIORITY_NORMAL, .length = length});
  assert_int_equal(send(world->sockets[index], header, sizeof header, 0),
                   sizeof header);
}

static const Conn *conn_of(const World *world, uint32_t index) {
  return conn_find(world->net, world->ids[index]);
}

static void wait_for_input(World *world, uint32_t index) {
  while (conn_of(world, index)->in.bytes.size == 0) turn(world);
}

static void packet_in_pieces_is_handed_up_once(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_PACKETS);
  uint32_t index = join(&world);
  send_header(&world, index, 3);
  wait_for_input(&world, index);
  assert_int_equal(world.packets, 0);
  assert_int_equal(send(world.sockets[index], "abc", 3, 0), 3);
  while (world.packets == 0) turn(&world);
  assert_int_equal(world.packets, 1);
  assert_null(conn_of(&world, index)->in.bytes.data);
  world_close(&world);
}

static void packet_begun_and_not_finished_is_a_fault(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_PACKETS);
  uint32_t index = join(&world);
  send_header(&world, index, 3);
  wait_for_input(&world, index);
  run_timers(&world, NET_PACKET_DEADLINE_MS - 1000);
  assert_int_equal(world.last_fault, 0);
  run_timers(&world, NET_PACKET_DEADLINE_MS + 1000);
  assert_int_equal(world.last_fault, CODE_IDLE_TIMEOUT);
  world_close(&world);
}

static void deadline_holds_after_the_connection_was_held(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_PACKETS);
  uint32_t index = join(&world);
  send_header(&world, index, 3);
  wait_for_input(&world, index);
  net_throttle(world.net, world.ids[index]);
  run_timers(&world, NET_PACKET_DEADLINE_MS + 1000);
  assert_int_equal(world.last_fault, 0);
  net_unthrottle(world.net, world.ids[index]);
  turn(&world);
  run_timers(&world, NET_PACKET_DEADLINE_MS + 1000);
  assert_int_equal(world.last_fault, CODE_IDLE_TIMEOUT);
  world_close(&world);
}

static void header_over_the_limit_is_a_fault_before_its_payload(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_PACKETS);
  send_header(&world, join(&world), UINT32_MAX);
  while (!world.last_fault) turn(&world);
  assert_int_equal(world.last_fault, CODE_PAYLOAD_TOO_LARGE);
  world_close(&world);
}

// Later requests of the same read are not handled after the client has become too slow.
static void slow_consumer_is_not_heard_any_more(void **state) {
  (void)state;
  World world;
  NetLimits limits = DEFAULTS;
  limits.channel_capacity = 1;
  world_open(&world, limits, FRAMING_PACKETS);
  world.answer_bytes = NET_BACKLOG_BYTES / 2;
  uint32_t index = join(&world);
  for (int i = 0; i < 100; i++) send_header(&world, index, 0);
  while (!world.last_fault) turn(&world);
  assert_int_equal(world.last_fault, CODE_SLOW_CONSUMER);
  assert_true(world.packets < 100);
  world_close(&world);
}

static void count_socket(uv_handle_t *handle, void *count) {
  if (handle->type == UV_TCP) ++*(uint32_t *)count;
}

// Counts the TCP sockets of the loop, including the listener.
static uint32_t sockets(const World *world) {
  uint32_t count = 0;
  uv_walk(&net_loop(world->net)->uv, count_socket, &count);
  return count;
}

static void slow_client_that_is_closed_is_gone_when_it_has_read_all(void **state) {
  (void)state;
  World world;
  NetLimits limits = DEFAULTS;
  limits.channel_capacity = 1;
  world_open(&world, limits, FRAMING_LINES);
  uint32_t index = join(&world);
  char *bytes = mem_zalloc(NET_OUTBUF_BYTES);
  Out out = {.parts = {bytes}, .sizes = {NET_OUTBUF_BYTES}};
  for (int i = 0; i < 64; i++) net_write(world.net, world.ids[index], &out);
  net_close(world.net, world.ids[index]);
  assert_int_equal(world.dropped, 0);  // nor reported later
  while (hear(&world, world.sockets[index], bytes, NET_OUTBUF_BYTES) > 0) continue;
  close(world.sockets[index]);
  world.sockets[index] = -1;
  for (int i = 0; i < 100 && sockets(&world) > 1; i++) turn(&world);
  assert_int_equal(sockets(&world), 1);
  mem_free(bytes);
  world_close(&world);
}

static void orderly_end_hears_the_last_answer(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_LINES);
  uint32_t index = join(&world);
  Out out = out_of("answer", PRIORITY_NORMAL);
  assert_int_equal(send(world.sockets[index], "no end of line", 14, 0), 14);
  shutdown(world.sockets[index], SHUT_WR);
  net_write(world.net, world.ids[index], &out);
  expect(&world, index, "answer\n");
  while (world.closed == 0) turn(&world);
  assert_int_equal(world.last_close, CODE_CLOSED);
  assert_string_equal(world.last_line, "no end of line");
  world_close(&world);
}

static void reset_is_told_as_such(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_LINES);
  uint32_t index = join(&world);
  struct linger now = {1, 0};
  setsockopt(world.sockets[index], SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(world.sockets[index]);
  world.sockets[index] = -1;
  while (world.closed == 0) turn(&world);
  assert_int_equal(world.last_close, CODE_RESET);
  world_close(&world);
}

static void held_connection_hands_up_nothing_until_released(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_LINES);
  uint32_t index = join(&world);
  net_throttle(world.net, world.ids[index]);
  assert_int_equal(send(world.sockets[index], "a\nb\r\nc\n", 7, 0), 7);
  for (int i = 0; i < 50; i++) turn(&world);
  assert_int_equal(world.lines, 0);
  net_unthrottle(world.net, world.ids[index]);
  while (world.lines < 3) turn(&world);
  assert_string_equal(world.last_line, "c");
  world_close(&world);
}

static void line_over_the_limit_is_a_fault(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_LINES);
  uint32_t index = join(&world);
  char bytes[5000];
  memset(bytes, 'x', sizeof bytes);
  assert_int_equal(send(world.sockets[index], bytes, sizeof bytes, 0), sizeof bytes);
  for (int i = 0; i < 1000 && !world.last_fault; i++) turn(&world);
  assert_int_equal(world.last_fault, CODE_PAYLOAD_TOO_LARGE);
  world_close(&world);
}

static void port_in_use_is_an_error(void **state) {
  (void)state;
  World world;
  world_open(&world, DEFAULTS, FRAMING_LINES);
  uint16_t port = world.port;
  assert_int_equal(net_listen(world.net, "127.0.0.1", &port, FRAMING_PACKETS),
                   UV_EADDRINUSE);
  uint16_t other = 0;
  assert_int_equal(
      net_listen(world.net, "no such host.invalid", &other, FRAMING_PACKETS),
      ERR_ADDRESS);
  world_close(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(packet_in_pieces_is_handed_up_once),
      cmocka_unit_test(packet_begun_and_not_finished_is_a_fault),
      cmocka_unit_test(deadline_holds_after_the_connection_was_held),
      cmocka_unit_test(header_over_the_limit_is_a_fault_before_its_payload),
      cmocka_unit_test(slow_consumer_is_not_heard_any_more),
      cmocka_unit_test(slow_client_that_is_closed_is_gone_when_it_has_read_all),
      cmocka_unit_test(orderly_end_hears_the_last_answer),
      cmocka_unit_test(reset_is_told_as_such),
      cmocka_unit_test(held_connection_hands_up_nothing_until_released),
      cmocka_unit_test(line_over_the_limit_is_a_fault),
      cmocka_unit_test(port_in_use_is_an_error),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
