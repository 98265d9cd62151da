// Broken and hostile servers, in cases that tests/stories/hostile.js cannot cover.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "client/fake_server.h"

static FakeServer server;

// --- Broken servers ---

static void a_host_that_cannot_be_found_is_named(void **state) {
  (void)state;
  char host[80];
  memset(host, 'x', 70);  // a label of a host name has at most 63 bytes
  strcpy(host + 70, ".invalid");
  fake_open(&server);
  server.client = perigee_connect(host, NULL, NULL);
  assert_int_equal(0, perigee_wait_ms(server.client));  // an event is already waiting
  const PerigeeEvent *event = fake_event(&server, PERIGEE_CLOSED);
  assert_int_equal(PERIGEE_UNREACHABLE, event->code);
  assert_memory_equal("cannot find the host xxx", event->text, 24);
}

// --- Hostile servers: no memory grows without limit ---

static int send_much(void) {
  static const uint8_t MUCH[60000];
  return perigee_send_packet(server.client, 3000, 1, MUCH, sizeof MUCH, 0);
}

// The server acknowledges packets without reading them, and sends more and more pings.
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
  // The server reads again; the client has kept no answer to its pings.
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

// --- Impossible matches ---

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
  fake_event(&server, PERIGEE_MATCH_ENDED);
  expect_end(NO_MATCH);
}

#define TEST(name) \
  cmocka_unit_test_prestate_setup_teardown(name, NULL, fake_tear_down, &server)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_host_that_cannot_be_found_is_named),
      TEST(what_nobody_reads_does_not_grow),
      TEST(questions_that_nobody_answers_are_bounded),
      TEST(turns_are_bounded),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
