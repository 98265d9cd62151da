// Messages, requests, relay, packets and channels of a client, against a server that
// does what each test says.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/fake_server.h"

static FakeServer server;

// --- Messages and requests ---

static void sends_messages(void **state) {
  (void)state;
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, NULL, 3, &room);
  PerigeeClient *client = server.client;
  assert_int_equal(0, perigee_send(client, room, "move", "{\"x\":1}",
                                   PERIGEE_UNRELIABLE | PERIGEE_HIGH));
  assert_int_equal(0, perigee_send(client, 0, "say \"\n", NULL, 0));
  Packet packet = fake_expect_message(&server, peer, ROOM, "[\"move\",{\"x\":1}]");
  assert_int_equal(0, packet.flags);
  assert_int_equal(PRIORITY_HIGH, packet.priority);
  packet = fake_expect_message(&server, peer, 0, "[\"say \\\"\\u000a\",null]");
  assert_int_equal(PACKET_RELIABLE, packet.flags);
  assert_int_equal(0, perigee_send_bytes(client, room, 9, "\1\0\2", 3, 0));
  packet = fake_expect(&server, peer, CHANNEL_MESSAGE, 9);
  assert_memory_equal("\5\0\0\0\1\0\2", packet.payload, 7);
  assert_int_equal(PERIGEE_BAD_ARGUMENT, perigee_send(client, 0, "", NULL, 0));
  assert_int_equal(PERIGEE_BAD_ARGUMENT, perigee_send_bytes(client, 0, 0, "", 0, 0));
  char *large = calloc(1, 65537);
  assert_int_equal(PERIGEE_TOO_LARGE, perigee_relay(client, room, large, 65533, 0));
  assert_int_equal(0, perigee_relay(client, room, large, 65532, 0));
  free(large);
}

static void hears_messages(void **state) {
  (void)state;
  static const char TEXT[] = " [ \"n\\u00e9\\ud83d\\ude00\\t\" , {\"a\":[1,\"]\"]} ] ";
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, NULL, 3, &room);
  Packet header = {.channel = CHANNEL_MESSAGE};
  fake_packet(peer, header, "dt", (uint64_t)ROOM, TEXT);
  // The client is not in this room, so it ignores the message.
  fake_packet(peer, header, "dt", (uint64_t)99, "[\"x\",1]");
  header.type = 7;
  fake_packet(peer, header, "dt", (uint64_t)0, "bytes");
  const PerigeeEvent *event = fake_event(&server, PERIGEE_MESSAGE);
  assert_string_equal("n\xc3\xa9\xf0\x9f\x98\x80\t", event->name);
  assert_string_equal("{\"a\":[1,\"]\"]}", (const char *)event->data);
  assert_int_equal(room, event->room);
  assert_int_equal(0, event->number);
  event = fake_event(&server, PERIGEE_MESSAGE);
  assert_int_equal(7, event->number);
  assert_int_equal(0, event->room);
  assert_int_equal(5, event->size);
  assert_memory_equal("bytes", event->data, 6);
  assert_string_equal("", event->name);
}

static void answers(void **state) {
  (void)state;
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, NULL, 3, &room);
  Packet question = {.channel = CHANNEL_MESSAGE, .flags = PACKET_REQUEST, .ref = 77};
  fake_packet(peer, question, "dt", (uint64_t)ROOM, "[\"sum\",[1,2]]");
  const PerigeeEvent *event = fake_event(&server, PERIGEE_QUESTION);
  PerigeeQuestion kept = event->question;
  assert_int_equal(room, event->room);
  assert_int_equal(0, perigee_answer(server.client, &kept, event->name, "3"));
  Packet packet = fake_expect_message(&server, peer, ROOM, "[\"sum\",3]");
  assert_int_equal(77, packet.ref);
  assert_int_equal(PACKET_RESPONSE | PACKET_RELIABLE, packet.flags);
  assert_int_equal(PERIGEE_BAD_ARGUMENT,
                   perigee_answer_bytes(server.client, &kept, "", 0));
  question.type = 4;
  fake_packet(peer, question, "dt", (uint64_t)0, "bytes");
  kept = fake_event(&server, PERIGEE_QUESTION)->question;
  assert_int_equal(PERIGEE_BAD_ARGUMENT,
                   perigee_answer(server.client, &kept, "x", NULL));
  assert_int_equal(0, perigee_answer_bytes(server.client, &kept, "ok", 2));
  packet = fake_expect(&server, peer, CHANNEL_MESSAGE, 4);
  fake_expect_body(&packet, 0, "ok");
  kept.session++;
  assert_int_equal(PERIGEE_OVER, perigee_answer_bytes(server.client, &kept, "ok", 2));
}

// --- Packets and channels ---

#define TEST(name) \
  cmocka_unit_test_prestate_setup_teardown(name, NULL, fake_tear_down, &server)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(sends_messages),
      TEST(hears_messages),
      TEST(answers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
