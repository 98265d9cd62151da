// Servers that are broken, and such as mean ill: the client comes to no harm and does not grow.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "client/fake_server.h"

static FakeServer server;

// --- Broken ---

static void a_server_that_hangs_up_is_no_server(void **state) {
  (void)state;
  fake_open(&server);
  server.client = perigee_connect(server.address, NULL, NULL);
  FakePeer *peer = fake_accept(&server);
  fake_hello(&server, peer);
  shutdown(peer->fd, SHUT_RDWR);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_CLOSED);
  assert_int_equal(PERIGEE_CONNECTION_CLOSED, event->code);
  assert_string_equal("the server closed the connection", event->text);
}

static void half_a_welcome_is_waited_for_so_long(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  options.timeout_ms = 50;
  fake_open(&server);
  server.client = perigee_connect(server.address, &options, NULL);
  FakePeer *peer = fake_accept(&server);
  fake_hello(&server, peer);
  fake_send(peer, "\x81\0\0\0\0\0\0\0\x6b\0\0\0\1", 13);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_CLOSED);
  assert_int_equal(PERIGEE_TIMEOUT, event->code);
  assert_non_null(strstr(event->text, "is it a Perigee server?"));
}

static void a_host_that_cannot_be_found_is_named(void **state) {
  (void)state;
  char host[80];
  memset(host, 'x', 70);  // one label has 63 at most
  strcpy(host + 70, ".invalid");
  fake_open(&server);
  server.client = perigee_connect(host, NULL, NULL);
  assert_int_equal(0, perigee_wait_ms(server.client));  // an event is there already
  const PerigeeEvent *event = fake_event(&server, PERIGEE_CLOSED);
  assert_int_equal(PERIGEE_UNREACHABLE, event->code);
  assert_memory_equal("cannot find the host xxx", event->text, 24);
}

static void an_answer_that_comes_too_late_is_nobodys(void **state) {
  (void)state;
  FakePeer *peer = fake_connect(&server, NULL, 3);
  int request = perigee_join(server.client, "arena", 10);
  Packet join = fake_expect(&server, peer, 0, CONTROL_JOIN);
  fake_expect_failure(&server, request, PERIGEE_TIMEOUT);
  fake_packet(peer, fake_answer(CONTROL_ERROR, &join), "wS",
              (uint64_t)PERIGEE_ROOM_FULL, "full");
  fake_packet(peer, fake_answer(CONTROL_ROOMS, &join), "w", (uint64_t)0);
  fake_expect_silence(&server);
}

// --- Ill-meaning: nothing grows without end ---

static int send_much(void) {
  static const uint8_t MUCH[60000];
  return perigee_send_packet(server.client, 3000, 1, MUCH, sizeof MUCH, 0);
}

// A server that says it has what it does not read, and asks for more.
static void what_nobody_reads_does_not_grow(void **state) {
  (void)state;
  enum { LIMIT = 16 << 20, PINGS = 1000 };
  FakePeer *peer = fake_connect(&server, NULL, 3);
  uint64_t count = 0;
  for (; send_much() == 0; count++) {
    assert_true(count * 60000 < 4 * LIMIT);
    fake_packet(peer, fake_control(CONTROL_ACK), "d", count + 1);
    while (perigee_unconfirmed(server.client) > 0) perigee_poll(server.client, 10);
  }
  assert_true(count * 60000 > LIMIT);
  assert_int_equal(PERIGEE_QUEUE_FULL, send_much());
  for (uint64_t i = 0; i < PINGS; i++)
    fake_packet(peer, fake_control(CONTROL_PING), "q", i);
  fake_packet(peer, (Packet){.channel = 3001}, "");
  while (!perigee_next_event(server.client)) perigee_poll(server.client, 10);
  for (uint64_t i = 0; i < count; i++) fake_expect(&server, peer, 3000, 1);
  // It has come to its senses; of the pings nothing has been kept.
  assert_int_equal(0, send_much());
  fake_expect(&server, peer, 3000, 1);
}

static void questions_that_nobody_answers_are_bounded(void **state) {
  (void)state;
  enum { LIMIT = 4096, BURST = 512 };
  FakePeer *peer = fake_connect(&server, NULL, 3);
  for (int i = 1; i <= LIMIT; i++) {
    assert_true(perigee_ask(server.client, 0, "x", NULL, 60000) > 0);
    if (i % BURST != 0) continue;
    for (int n = 0; n < BURST; n++)
      fake_expect_message(&server, peer, 0, "[\"x\",null]");
    fake_packet(peer, fake_control(CONTROL_ACK), "d", (uint64_t)i);
    while (perigee_unconfirmed(server.client) > 0) perigee_poll(server.client, 10);
  }
  assert_int_equal(PERIGEE_QUEUE_FULL, perigee_ask(server.client, 0, "x", NULL, 0));
  assert_int_equal(PERIGEE_QUEUE_FULL, perigee_join(server.client, "x", 0));
  assert_int_equal(PERIGEE_QUEUE_FULL, perigee_ping(server.client, 0));
  assert_int_equal(PERIGEE_QUEUE_FULL, perigee_sync(server.client, 0));
  assert_int_equal(0, perigee_send(server.client, 0, "x", NULL, 0));
}

static void expect_end(const char *text) {
  const PerigeeEvent *event;
  do event = perigee_next_event(server.client);
  while (event && event->type != PERIGEE_CLOSED);
  if (!event) event = fake_event(&server, PERIGEE_CLOSED);
  assert_int_equal(PERIGEE_PROTOCOL, event->code);
  assert_string_equal(text, event->text);
}

static const char CROWD[] =
    "the server sent more rooms and members than a client can hold";

static void rooms_are_bounded(void **state) {
  (void)state;
  enum { LIMIT = 1024 };
  FakePeer *peer = fake_connect(&server, NULL, 3);
  for (uint32_t i = 1; i <= LIMIT; i++) fake_joined(peer, i, "arena", SELF, "", 0, 0);
  for (uint32_t i = 1; i <= LIMIT; i++)
    assert_int_equal(i, fake_event(&server, PERIGEE_JOINED)->room);
  fake_joined(peer, LIMIT + 1, "arena", SELF, "", 0, 0);
  expect_end(CROWD);
}

static void members_are_bounded(void **state) {
  (void)state;
  enum { LIMIT = 1 << 18, BURST = 2048 };
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, NULL, 3, &room);
  Buf bytes = {0};
  for (uint32_t i = 2; i < LIMIT; i++) {  // two are there
    uint32_t values[2] = {ROOM, 1000000 - i};
    uint8_t payload[9] = {0};
    memcpy(payload, values, sizeof values);
    Packet packet = {
        .type = CONTROL_PEER_JOINED, .payload = payload, .length = sizeof payload};
    packet_append(&bytes, &packet);
    if (i % BURST != BURST - 1) continue;
    fake_send(peer, bytes.data, bytes.size);
    bytes.size = 0;
    while (perigee_member_count(server.client, room) <= i) {
      perigee_poll(server.client, 10);
      while (perigee_next_event(server.client)) continue;
    }
  }
  buf_deinit(&bytes);
  assert_int_equal(LIMIT, perigee_member_count(server.client, room));
  assert_string_equal("bob", perigee_member_name(server.client, room, BOB));
  fake_packet(peer, fake_control(CONTROL_PEER_JOINED), "dds", (uint64_t)ROOM,
              (uint64_t)99, "one more");
  expect_end(CROWD);
}

// --- Matches that cannot be ---

static const char NO_MATCH[] =
    "the server sent a packet of lockstep that cannot be read";

static FakePeer *begin_match(uint32_t turn) {
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, NULL, 3, &room);
  assert_int_equal(0, perigee_lockstep_enter(server.client, room, 0, NULL));
  fake_expect(&server, peer, 3, 1);
  // room, start, match, slot, seat, seed, how, turn, hash interval, largest input, interval, speed, delay
  fake_packet(peer, (Packet){.channel = 3, .type = 129}, "dddbzdbdbwdwb",
              (uint64_t)ROOM, (uint64_t)1, (uint64_t)5, (uint64_t)0, (size_t)16,
              (uint64_t)7, (uint64_t)0, (uint64_t)turn, (uint64_t)1, (uint64_t)256,
              (uint64_t)50000, (uint64_t)100, (uint64_t)2);
  return peer;
}

static void turns_do_not_wrap_round(void **state) {
  (void)state;
  begin_match(UINT32_MAX);
  expect_end(NO_MATCH);
}

static void turns_are_bounded(void **state) {
  (void)state;
  FakePeer *peer = begin_match(0);
  fake_event(&server, PERIGEE_MATCH);
  Buf bytes = {0};
  buf_u32(&bytes, ROOM);
  buf_u32(&bytes, 5);  // match
  buf_u32(&bytes, 2);  // the first turn is missing
  buf_u8(&bytes, 1);
  buf_u8(&bytes, 2);  // entries
  for (uint8_t slot = 0; slot < 2; slot++) {
    static const uint8_t INPUT[UINT16_MAX];
    buf_u8(&bytes, slot);
    buf_u8(&bytes, 0);
    buf_u16(&bytes, UINT16_MAX);
    buf_append(&bytes, INPUT, sizeof INPUT);
  }
  Buf packet = {0};
  packet_append(&packet, &(Packet){.channel = 3,
                                   .type = 130,
                                   .payload = bytes.data,
                                   .length = (uint32_t)bytes.size});
  fake_send(peer, packet.data, packet.size);
  buf_deinit(&packet);
  buf_deinit(&bytes);
  expect_end(NO_MATCH);
}

#define TEST(name) \
  cmocka_unit_test_prestate_setup_teardown(name, NULL, fake_tear_down, &server)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_server_that_hangs_up_is_no_server),
      TEST(half_a_welcome_is_waited_for_so_long),
      TEST(a_host_that_cannot_be_found_is_named),
      TEST(an_answer_that_comes_too_late_is_nobodys),
      TEST(what_nobody_reads_does_not_grow),
      TEST(questions_that_nobody_answers_are_bounded),
      TEST(rooms_are_bounded),
      TEST(members_are_bounded),
      TEST(turns_do_not_wrap_round),
      TEST(turns_are_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
