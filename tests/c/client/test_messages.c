// What a client sends and gets, against a server that does what each test says: messages, questions,
// relay, packets, channels.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/fake_server.h"

static FakeServer server;

// --- Messages and questions ---

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
  fake_packet(peer, header, "dt", (uint64_t)99, "[\"x\",1]");  // a room that was left
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

static void asks(void **state) {
  (void)state;
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, NULL, 3, &room);
  int one = perigee_ask(server.client, 0, "one", NULL, 0);
  int two = perigee_ask(server.client, room, "two", "[1]", 0);
  Packet first = fake_expect_message(&server, peer, 0, "[\"one\",null]");
  Packet second = fake_expect_message(&server, peer, ROOM, "[\"two\",[1]]");
  assert_int_equal(PACKET_REQUEST | PACKET_RELIABLE, first.flags);
  fake_packet(peer, fake_answer(0, &second), "dt", (uint64_t)ROOM, "[\"two\",22]");
  fake_packet(peer, fake_answer(CONTROL_ERROR, &(Packet){.ref = first.ref}), "wS",
              (uint64_t)PERIGEE_INTERNAL, "a handler failed");
  const PerigeeEvent *event = fake_event(&server, PERIGEE_ANSWER);
  assert_int_equal(two, event->request);
  assert_string_equal("22", (const char *)event->data);
  fake_expect_failure(&server, one, PERIGEE_INTERNAL);
  int slow = perigee_ask(server.client, 0, "slow", NULL, 20);
  Packet late = fake_expect_message(&server, peer, 0, "[\"slow\",null]");
  fake_expect_failure(&server, slow, PERIGEE_TIMEOUT);
  fake_packet(peer, fake_answer(0, &late), "dt", (uint64_t)0, "[\"slow\",1]");
  fake_expect_silence(&server);
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

static void is_told_of_errors(void **state) {
  (void)state;
  FakePeer *peer = fake_connect(&server, NULL, 3);
  fake_packet(peer, fake_control(CONTROL_ERROR), "wS", (uint64_t)999, "?");
  const PerigeeEvent *event = fake_event(&server, PERIGEE_ERROR);
  assert_int_equal(999, event->code);
  assert_string_equal("?", event->text);
  assert_string_equal("Unknown", perigee_code_name(event->code));
  assert_string_equal("RoomFull", perigee_code_name(PERIGEE_ROOM_FULL));
  assert_string_equal("QueueFull", perigee_code_name(PERIGEE_QUEUE_FULL));
  assert_int_equal(0x000100, perigee_version());
}

static void relays(void **state) {
  (void)state;
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, NULL, 3, &room);
  assert_int_equal(0, perigee_relay(server.client, room, "a\0b", 3, PERIGEE_LOW));
  Packet packet = fake_expect(&server, peer, 0, CONTROL_BROADCAST);
  assert_memory_equal("\5\0\0\0a\0b", packet.payload, 7);
  assert_int_equal(PRIORITY_LOW, packet.priority);
  fake_packet(peer, fake_control(CONTROL_RELAYED), "ddt", (uint64_t)ROOM, (uint64_t)BOB,
              "hi");
  fake_packet(peer, fake_control(CONTROL_RELAYED), "ddt", (uint64_t)ROOM, (uint64_t)0,
              "");
  fake_packet(peer, fake_control(CONTROL_RELAYED), "ddt", (uint64_t)99, (uint64_t)0,
              "no");
  const PerigeeEvent *event = fake_event(&server, PERIGEE_RELAY);
  assert_string_equal("bob", event->name);
  assert_string_equal("hi", (const char *)event->data);
  event = fake_event(&server, PERIGEE_RELAY);
  assert_int_equal(0, event->peer);
  assert_int_equal(0, event->size);
  fake_expect_silence(&server);
}

// --- Packets and channels ---

static void sends_packets(void **state) {
  (void)state;
  FakePeer *peer = fake_connect(&server, NULL, 3);
  PerigeeClient *client = server.client;
  assert_int_equal(0, perigee_send_packet(client, 3000, 9, "abc", 3, 0));
  Packet packet = fake_expect(&server, peer, 3000, 9);
  assert_memory_equal("abc", packet.payload, 3);
  int request = perigee_ask_packet(client, 3000, 1, NULL, 0, 0);
  packet = fake_expect(&server, peer, 3000, 1);
  Packet forged = fake_answer(1, &packet);
  forged.channel = 1000;
  fake_packet(peer, forged, "t", "forged");
  fake_packet(peer, fake_answer(1, &packet), "t", "yes");
  const PerigeeEvent *event = fake_event(&server, PERIGEE_ANSWER);
  assert_int_equal(request, event->request);
  assert_string_equal("yes", (const char *)event->data);
  Packet question = {.channel = 3001, .type = 2, .flags = PACKET_REQUEST, .ref = 5};
  fake_packet(peer, question, "b", (uint64_t)7);
  event = fake_event(&server, PERIGEE_PACKET);
  assert_int_equal(3001, event->channel);
  assert_int_equal(2, event->number);
  assert_true(event->is_question);
  assert_int_equal(0, perigee_answer_bytes(client, &event->question, "ok", 2));
  packet = fake_expect(&server, peer, 3001, 2);
  assert_int_equal(5, packet.ref);
  assert_memory_equal("ok", packet.payload, 2);
  assert_int_equal(PERIGEE_BAD_ARGUMENT, perigee_send_packet(client, 2, 1, "", 0, 0));
}

static void serves_a_channel(void **state) {
  (void)state;
  FakePeer *peer = fake_connect(&server, NULL, 3);
  PerigeeClient *client = server.client;
  int request = perigee_open_channel(client, "echo", 0);
  Packet open = fake_expect(&server, peer, 0, CONTROL_CHANNEL_OPEN);
  fake_packet(peer, fake_answer(CONTROL_CHANNEL_OPENED, &open), "ws", (uint64_t)1000,
              "echo");
  const PerigeeEvent *event = fake_event(&server, PERIGEE_CHANNEL_OPENED);
  assert_int_equal(request, event->request);
  assert_int_equal(1000, event->channel);
  assert_string_equal("echo", event->name);
  Packet question = {.channel = 1000, .type = 2, .flags = PACKET_REQUEST, .ref = 5};
  fake_packet(peer, question, "dt", (uint64_t)BOB, "hi");
  event = fake_event(&server, PERIGEE_PACKET);
  assert_int_equal(BOB, event->peer);
  assert_string_equal("hi", (const char *)event->data);
  perigee_answer_bytes(client, &event->question, "ho", 2);
  Packet packet = fake_expect(&server, peer, 1000, 2);
  fake_expect_body(&packet, BOB, "ho");
  perigee_send_to(client, 1000, CLEO, 3, "yo", 2, 0);
  packet = fake_expect(&server, peer, 1000, 3);
  fake_expect_body(&packet, CLEO, "yo");
  assert_int_equal(PERIGEE_BAD_ARGUMENT,
                   perigee_send_packet(client, 1000, 1, "", 0, 0));
  assert_int_equal(0, perigee_close_channel(client, 1000));
  packet = fake_expect(&server, peer, 0, CONTROL_CHANNEL_CLOSE);
  assert_memory_equal("\xe8\3", packet.payload, 2);
  assert_int_equal(PERIGEE_BAD_ARGUMENT, perigee_close_channel(client, 1000));
}

static void closes_a_channel_that_came_too_late(void **state) {
  (void)state;
  FakePeer *peer = fake_connect(&server, NULL, 3);
  int request = perigee_open_channel(server.client, "echo", 20);
  Packet open = fake_expect(&server, peer, 0, CONTROL_CHANNEL_OPEN);
  fake_expect_failure(&server, request, PERIGEE_TIMEOUT);
  fake_packet(peer, fake_answer(CONTROL_CHANNEL_OPENED, &open), "ws", (uint64_t)1000,
              "echo");
  fake_expect(&server, peer, 0, CONTROL_CHANNEL_CLOSE);
}

#define TEST(name) \
  cmocka_unit_test_prestate_setup_teardown(name, NULL, fake_tear_down, &server)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(sends_messages),
      TEST(hears_messages),
      TEST(asks),
      TEST(answers),
      TEST(is_told_of_errors),
      TEST(relays),
      TEST(sends_packets),
      TEST(serves_a_channel),
      TEST(closes_a_channel_that_came_too_late),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
