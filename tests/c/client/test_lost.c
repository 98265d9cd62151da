// Sessions that are lost, and those that begin in their place, against a server that does what each
// test says.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/fake_server.h"

static FakeServer server;

static void a_lost_session_begins_anew(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, &options, 3, &room);
  fake_joined(peer, 6, "put into", SELF, "", 0, 0);
  uint32_t other = fake_event(&server, PERIGEE_JOINED)->room;
  int asked = perigee_ask(server.client, 0, "x", NULL, 0);
  fake_expect_message(&server, peer, 0, "[\"x\",null]");
  FakePeer *again = fake_lose(&server, peer, 8);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_FAILED);
  assert_int_equal(asked, event->request);
  assert_int_equal(PERIGEE_CONNECTION_RESET, event->code);
  event = fake_event(&server, PERIGEE_LEFT);
  assert_int_equal(other, event->room);
  assert_int_equal(PERIGEE_CONNECTION_RESET, event->code);
  assert_int_equal(2, fake_event(&server, PERIGEE_LOST)->count);  // JOIN and x
  assert_int_equal(8, perigee_peer_id(server.client));
  assert_int_equal(PERIGEE_NOT_JOINED, perigee_send(server.client, room, "x", NULL, 0));
  int joining = perigee_join(server.client, "arena", 0);  // does not ask a second time
  fake_let_in(&server, again, 55, "arena", "be");
  assert_string_equal("cleo", fake_event(&server, PERIGEE_PEER_LEFT)->name);
  assert_string_equal("emil", fake_event(&server, PERIGEE_PEER_JOINED)->name);
  event = fake_event(&server, PERIGEE_JOINED);
  assert_int_equal(room, event->room);
  assert_int_equal(joining, event->request);
  perigee_send(server.client, room, "here", NULL, 0);
  fake_expect_message(&server, again, 55, "[\"here\",null]");
}

static void a_room_that_cannot_be_joined_again_is_left(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, &options, 3, &room);
  FakePeer *again = fake_lose(&server, peer, 8);
  fake_event(&server, PERIGEE_LOST);
  fake_expect(&server, again, 0, CONTROL_JOIN);
  again = fake_lose(&server, again, 11);  // and once more
  fake_event(&server, PERIGEE_LOST);
  Packet join = fake_expect(&server, again, 0, CONTROL_JOIN);
  fake_packet(again, fake_answer(CONTROL_ERROR, &join), "wS",
              (uint64_t)PERIGEE_NO_SUCH_ROOM, "gone");
  const PerigeeEvent *event = fake_event(&server, PERIGEE_LEFT);
  assert_int_equal(room, event->room);
  assert_int_equal(PERIGEE_NO_SUCH_ROOM, event->code);
  fake_expect_silence(&server);
}

static void without_rejoin_rooms_are_left(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  options.rejoin = 0;
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, &options, 3, &room);
  fake_lose(&server, peer, 8);
  assert_int_equal(PERIGEE_CONNECTION_RESET, fake_event(&server, PERIGEE_LEFT)->code);
  fake_event(&server, PERIGEE_LOST);
}

static void without_resume_a_reconnect_is_a_new_session(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 0);
  perigee_send(server.client, 0, "n", NULL, 0);
  fake_expect_message(&server, peer, 0, "[\"n\",null]");
  FakeHello hello;
  FakePeer *again = fake_return(&server, peer, &hello);
  static const uint8_t ZEROS[UUID_SIZE];
  assert_memory_equal(ZEROS, hello.resume, UUID_SIZE);
  fake_welcome(again, &(FakeWelcome){.id = 8});
  assert_int_equal(0, fake_event(&server, PERIGEE_LOST)->count);
}

static void questions_of_a_lost_session_have_no_answer(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  Packet question = {.channel = CHANNEL_MESSAGE, .flags = PACKET_REQUEST, .ref = 77};
  fake_packet(peer, question, "dt", (uint64_t)0, "[\"sum\",1]");
  PerigeeQuestion asked = fake_event(&server, PERIGEE_QUESTION)->question;
  fake_lose(&server, peer, 8);
  fake_event(&server, PERIGEE_LOST);
  assert_int_equal(PERIGEE_OVER, perigee_answer(server.client, &asked, "sum", "1"));
}

static void rooms_are_joined_again_in_their_order(void **state) {
  (void)state;
  static const char *const NAMES[] = {"one", "two", "three"};
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  for (uint32_t i = 0; i < 3; i++) {
    perigee_join(server.client, NAMES[i], 0);
    fake_let_in(&server, peer, ROOM + i, NAMES[i], "");
    fake_event(&server, PERIGEE_JOINED);
  }
  FakePeer *again = fake_lose(&server, peer, 8);
  for (uint32_t i = 0; i < 3; i++) fake_let_in(&server, again, 50 + i, NAMES[i], "");
  fake_event(&server, PERIGEE_LOST);
  for (uint32_t i = 0; i < 3; i++)
    assert_string_equal(NAMES[i], fake_event(&server, PERIGEE_JOINED)->name);
}

static void of_two_answers_to_a_join_one_is_heard(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, &options, 3, &room);
  FakePeer *again = fake_lose(&server, peer, 8);
  Packet join = fake_expect(&server, again, 0, CONTROL_JOIN);
  // The game is faster to put it into its room.
  fake_joined(again, 60, "arena", 8, "bc", 0, 0);
  fake_packet(again, fake_answer(CONTROL_ERROR, &join), "wS",
              (uint64_t)PERIGEE_ALREADY_IN_ROOM, "you are in it already");
  fake_event(&server, PERIGEE_LOST);
  assert_int_equal(room, fake_event(&server, PERIGEE_JOINED)->room);
  fake_expect_silence(&server);
  perigee_send(server.client, room, "here", NULL, 0);
  fake_expect_message(&server, again, 60, "[\"here\",null]");
}

static void who_waits_for_everything_to_arrive_is_told(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  perigee_send(server.client, 0, "n", NULL, 0);
  int request = perigee_sync(server.client, 0);
  fake_expect_message(&server, peer, 0, "[\"n\",null]");
  fake_lose(&server, peer, 8);
  fake_expect_failure(&server, request, PERIGEE_CONNECTION_RESET);
  assert_int_equal(1, fake_event(&server, PERIGEE_LOST)->count);
}

#define TEST(name) \
  cmocka_unit_test_prestate_setup_teardown(name, NULL, fake_tear_down, &server)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_lost_session_begins_anew),
      TEST(a_room_that_cannot_be_joined_again_is_left),
      TEST(without_rejoin_rooms_are_left),
      TEST(without_resume_a_reconnect_is_a_new_session),
      TEST(questions_of_a_lost_session_have_no_answer),
      TEST(rooms_are_joined_again_in_their_order),
      TEST(of_two_answers_to_a_join_one_is_heard),
      TEST(who_waits_for_everything_to_arrive_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
