// Sessions that outlive their connections, against a server that does what each test says.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/fake_server.h"

static FakeServer server;

static void send_ack(FakePeer *peer, uint64_t count) {
  fake_packet(peer, fake_control(CONTROL_ACK), "d", count);
}

// --- Resumed ---

static void what_the_server_has_not_got_is_sent_again(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  char body[32];
  for (int i = 1; i <= 4; i++) {
    snprintf(body, sizeof body, "%d", i);
    perigee_send(server.client, 0, "n", body, 0);
  }
  perigee_send(server.client, 0, "n", "0", PERIGEE_UNRELIABLE);
  for (int i = 1; i <= 5; i++) {
    snprintf(body, sizeof body, "[\"n\",%d]", i % 5);
    fake_expect_message(&server, peer, 0, body);
  }
  send_ack(peer, 1);
  fake_expect_silence(&server);
  assert_int_equal(3, perigee_unconfirmed(server.client));
  fake_cut(peer);
  fake_event(&server, PERIGEE_DISCONNECTED);
  assert_int_equal(PERIGEE_OFFLINE, perigee_ping(server.client, 0));
  assert_int_equal(0, perigee_send(server.client, 0, "n", "5", 0));
  assert_int_equal(0, perigee_send(server.client, 0, "n", "0", PERIGEE_UNRELIABLE));
  fake_event(&server, PERIGEE_RECONNECTING);
  FakePeer *again = fake_accept(&server);
  FakeHello hello = fake_hello(&server, again);
  uint8_t token[UUID_SIZE];
  memset(token, 3, sizeof token);
  assert_memory_equal(token, hello.resume, UUID_SIZE);
  assert_int_equal(0, hello.received);
  fake_welcome(again, &(FakeWelcome){.token = 4, .is_resumed = 1, .received = 3});
  fake_expect_message(&server, again, 0, "[\"n\",4]");
  fake_expect_message(&server, again, 0, "[\"n\",5]");
  assert_true(again->acks == 1);  // the first packet on it
  const PerigeeEvent *event = fake_event(&server, PERIGEE_RESUMED);
  assert_int_equal(2, event->count);
  FakePeer *third = fake_return(&server, again, &hello);
  memset(token, 4, sizeof token);
  assert_memory_equal(token, hello.resume, UUID_SIZE);
  fake_welcome(third, &(FakeWelcome){.token = 5, .is_resumed = 1, .received = 5});
  assert_int_equal(0, fake_event(&server, PERIGEE_RESUMED)->count);
}

static void what_arrived_is_counted_and_told(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  Packet reliable = {.channel = 3000, .flags = PACKET_RELIABLE};
  for (int i = 0; i < RELIABLE_ACK_PACKETS; i++) {
    fake_packet(peer, reliable, "");
    fake_packet(peer, (Packet){.channel = 3000}, "");
  }
  fake_expect_ack(&server, peer, RELIABLE_ACK_PACKETS);  // at once
  fake_packet(peer, reliable, "");
  fake_expect_ack(&server, peer, RELIABLE_ACK_PACKETS + 1);  // after a while
  fake_packet(peer, reliable, "");
  for (int i = 0; i < 2 * RELIABLE_ACK_PACKETS + 2; i++)
    fake_event(&server, PERIGEE_PACKET);
  FakeHello hello;
  fake_return(&server, peer, &hello);
  assert_int_equal(RELIABLE_ACK_PACKETS + 2, hello.received);
}

static void what_was_sent_before_the_end_is_taken(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  fake_packet(peer, (Packet){.channel = 3000, .flags = PACKET_RELIABLE}, "");
  fake_packet(peer, fake_control(CONTROL_CLOSING), "wS",
              (uint64_t)PERIGEE_CONNECTION_CLOSED, "the server stops");
  fake_event(&server, PERIGEE_PACKET);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_DISCONNECTED);
  assert_int_equal(PERIGEE_CONNECTION_CLOSED, event->code);
  assert_string_equal("the server stops", event->text);
  fake_event(&server, PERIGEE_RECONNECTING);
  assert_int_equal(1, fake_hello(&server, fake_accept(&server)).received);
}

static void requests_wait_through_a_resume(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  int asked = perigee_ask(server.client, 0, "x", NULL, 0);
  int joining = perigee_join(server.client, "arena", 0);
  Packet question = fake_expect_message(&server, peer, 0, "[\"x\",null]");
  Packet join = fake_expect(&server, peer, 0, CONTROL_JOIN);
  FakePeer *again = fake_resume(&server, peer, 4, 2);
  fake_event(&server, PERIGEE_RESUMED);
  // The answer to JOIN was lost; the list of rooms after a resume tells as much.
  fake_joined(again, ROOM, "arena", SELF, "b", 0, 0);
  send_ack(again, 2);
  fake_packet(again, fake_answer(0, &question), "dt", (uint64_t)0, "[\"x\",1]");
  const PerigeeEvent *event = fake_event(&server, PERIGEE_JOINED);
  assert_int_equal(joining, event->request);
  uint32_t room = event->room;
  assert_int_equal(asked, fake_event(&server, PERIGEE_ANSWER)->request);
  // The answer itself, should it come yet, is old news.
  fake_joined(again, ROOM, "arena", SELF, "", PACKET_RESPONSE, join.ref);
  fake_expect_silence(&server);
  assert_int_equal(1, perigee_member_count(server.client, room));
}

static void a_refusal_that_was_lost_comes_again(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  int joining = perigee_join(server.client, "arena", 0);
  Packet join = fake_expect(&server, peer, 0, CONTROL_JOIN);
  FakePeer *again = fake_resume(&server, peer, 4, 1);
  fake_event(&server, PERIGEE_RESUMED);
  send_ack(again, 1);
  Packet refusal = fake_answer(CONTROL_ERROR, &join);
  refusal.flags |= PACKET_RELIABLE;
  fake_packet(again, refusal, "wS", (uint64_t)PERIGEE_ROOM_FULL, "full");
  fake_expect_failure(&server, joining, PERIGEE_ROOM_FULL);
  fake_expect_ack(&server, again, 1);
}

static void what_the_game_asks_is_answered_on_the_next_connection(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  Packet question = {
      .channel = CHANNEL_MESSAGE, .flags = PACKET_REQUEST | PACKET_RELIABLE, .ref = 77};
  fake_packet(peer, question, "dt", (uint64_t)0, "[\"sum\",[1,2]]");
  PerigeeQuestion asked = fake_event(&server, PERIGEE_QUESTION)->question;
  fake_cut(peer);
  fake_event(&server, PERIGEE_DISCONNECTED);
  assert_int_equal(0, perigee_answer(server.client, &asked, "sum", "3"));
  fake_event(&server, PERIGEE_RECONNECTING);
  FakePeer *again = fake_accept(&server);
  assert_int_equal(1, fake_hello(&server, again).received);
  fake_welcome(again, &(FakeWelcome){.token = 4, .is_resumed = 1});
  Packet answer = fake_expect_message(&server, again, 0, "[\"sum\",3]");
  assert_int_equal(PACKET_RESPONSE | PACKET_RELIABLE, answer.flags);
  assert_int_equal(77, answer.ref);
}

static void rooms_are_brought_up_to_date(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, &options, 3, &room);
  perigee_join(server.client, "other", 0);
  fake_let_in(&server, peer, 6, "other", "");
  uint32_t other = fake_event(&server, PERIGEE_JOINED)->room;
  FakePeer *again = fake_resume(&server, peer, 4, 2);
  fake_event(&server, PERIGEE_RESUMED);
  fake_joined(again, ROOM, "arena", SELF, "cd", 0, 0);
  send_ack(again, 2);
  assert_string_equal("bob", fake_event(&server, PERIGEE_PEER_LEFT)->name);
  assert_string_equal("dora", fake_event(&server, PERIGEE_PEER_JOINED)->name);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_LEFT);
  assert_int_equal(other, event->room);
  assert_int_equal(PERIGEE_NOT_IN_ROOM, event->code);
  send_ack(again, 2);
  fake_expect_silence(&server);
  assert_int_equal(room, perigee_find_room(server.client, "arena"));
}

static void a_member_renamed_meanwhile_is_renamed(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, &options, 3, &room);
  FakePeer *again = fake_resume(&server, peer, 4, 1);
  fake_event(&server, PERIGEE_RESUMED);
  fake_packet(again, fake_control(CONTROL_JOINED), "dsdwdsds", (uint64_t)ROOM, "arena",
              (uint64_t)SELF, (uint64_t)2, (uint64_t)BOB, "rob", (uint64_t)BOB + 1,
              "cleo");
  const PerigeeEvent *event = fake_event(&server, PERIGEE_PEER_RENAMED);
  assert_int_equal(BOB, event->peer);
  assert_string_equal("rob", event->name);
  assert_string_equal("bob", event->text);
  assert_string_equal("rob", perigee_member_name(server.client, room, BOB));
  send_ack(again, 1);
  fake_expect_silence(&server);
}

static void a_room_that_was_being_left_is_left(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, &options, 3, &room);
  int leaving = perigee_leave(server.client, room);
  fake_expect(&server, peer, 0, CONTROL_LEAVE);
  FakePeer *again = fake_resume(&server, peer, 4, 2);
  fake_event(&server, PERIGEE_RESUMED);
  send_ack(again, 2);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_LEFT);
  assert_int_equal(leaving, event->request);
  assert_int_equal(PERIGEE_CONNECTION_CLOSED, event->code);
}

static void a_channel_goes_on_after_a_resume(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  perigee_open_channel(server.client, "ide", 0);
  Packet open = fake_expect(&server, peer, 0, CONTROL_CHANNEL_OPEN);
  fake_packet(peer, fake_answer(CONTROL_CHANNEL_OPENED, &open), "ws", (uint64_t)1000,
              "ide");
  fake_event(&server, PERIGEE_CHANNEL_OPENED);
  FakePeer *again = fake_resume(&server, peer, 4, 1);
  fake_event(&server, PERIGEE_RESUMED);
  fake_packet(again, (Packet){.channel = 1000}, "d", (uint64_t)BOB);
  assert_int_equal(BOB, fake_event(&server, PERIGEE_PACKET)->peer);
  fake_lose(&server, again, 8);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_CHANNEL_CLOSED);
  assert_int_equal(1000, event->channel);
  assert_string_equal("ide", event->name);
  fake_event(&server, PERIGEE_LOST);
}

static void waits_for_room_and_then_refuses(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  fake_cut(peer);
  fake_event(&server, PERIGEE_DISCONNECTED);
  for (int i = 0; i < RELIABLE_WINDOW; i++)
    assert_int_equal(0, perigee_send(server.client, 0, "n", NULL, 0));
  assert_int_equal(PERIGEE_QUEUE_FULL, perigee_send(server.client, 0, "n", NULL, 0));
  assert_int_equal(PERIGEE_QUEUE_FULL, perigee_ask(server.client, 0, "n", NULL, 0));
  assert_int_equal(PERIGEE_QUEUE_FULL, perigee_join(server.client, "n", 0));
  assert_int_equal(0, perigee_send(server.client, 0, "n", NULL, PERIGEE_UNRELIABLE));
  fake_event(&server, PERIGEE_RECONNECTING);
  FakePeer *again = fake_accept(&server);
  fake_hello(&server, again);
  fake_welcome(again, &(FakeWelcome){.token = 4, .is_resumed = 1});
  assert_int_equal(RELIABLE_WINDOW, fake_event(&server, PERIGEE_RESUMED)->count);
  for (int i = 0; i < RELIABLE_WINDOW; i++)
    fake_expect_message(&server, again, 0, "[\"n\",null]");
  send_ack(again, RELIABLE_WINDOW);
  fake_expect_silence(&server);
  assert_int_equal(0, perigee_send(server.client, 0, "n", NULL, 0));
}

static void sync_waits_until_the_server_has_everything(void **state) {
  (void)state;
  FakePeer *peer = fake_connect(&server, NULL, 3);
  int request = perigee_sync(server.client, 0);
  assert_int_equal(request, fake_event(&server, PERIGEE_SYNCED)->request);
  perigee_send(server.client, 0, "n", NULL, 0);
  perigee_send(server.client, 0, "n", NULL, 0);
  request = perigee_sync(server.client, 0);
  perigee_send(server.client, 0, "n", NULL, 0);
  fake_expect_message(&server, peer, 0, "[\"n\",null]");
  fake_expect_message(&server, peer, 0, "[\"n\",null]");
  fake_expect_message(&server, peer, 0, "[\"n\",null]");
  send_ack(peer, 1);
  fake_expect_silence(&server);
  send_ack(peer, 2);
  assert_int_equal(request, fake_event(&server, PERIGEE_SYNCED)->request);
}

static void syncs_by_a_ping_where_nothing_is_kept(void **state) {
  (void)state;
  FakePeer *peer = fake_connect(&server, NULL, 0);
  perigee_send(server.client, 0, "n", NULL, 0);
  int request = perigee_sync(server.client, 0);
  fake_expect_message(&server, peer, 0, "[\"n\",null]");
  assert_int_equal(request, fake_event(&server, PERIGEE_SYNCED)->request);
}

// --- Whether there is a reconnect ---

// CLOSING for this reason, and the client's next event.
static const PerigeeEvent *close_for(int code, PerigeeEventType type) {
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  fake_packet(peer, fake_control(CONTROL_CLOSING), "wS", (uint64_t)code, "because");
  const PerigeeEvent *event = fake_event(&server, type);
  assert_int_equal(code, event->code);
  assert_string_equal("because", event->text);
  return event;
}

static void some_reasons_are_final(void **state) {
  (void)state;
  static const int FINAL[] = {PERIGEE_PAYLOAD_TOO_LARGE,
                              PERIGEE_PROTOCOL,
                              PERIGEE_KICKED,
                              PERIGEE_REJECTED,
                              PERIGEE_VERSION_MISMATCH,
                              PERIGEE_PROTOCOL_HASH_MISMATCH,
                              PERIGEE_RATE_LIMITED,
                              PERIGEE_UNSUPPORTED,
                              PERIGEE_UNAUTHORIZED,
                              PERIGEE_REPLACED};
  for (size_t i = 0; i < sizeof FINAL / sizeof *FINAL; i++) {
    close_for(FINAL[i], PERIGEE_CLOSED);
    fake_close(&server);
  }
  fake_open(&server);
}

static void after_others_it_comes_back(void **state) {
  (void)state;
  static const int OTHERS[] = {PERIGEE_CONNECTION_CLOSED,
                               PERIGEE_IDLE_TIMEOUT,
                               PERIGEE_PING_TIMEOUT,
                               PERIGEE_SERVER_FULL,
                               PERIGEE_INTERNAL,
                               PERIGEE_SLOW_CONSUMER,
                               999};
  for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++) {
    close_for(OTHERS[i], PERIGEE_DISCONNECTED);
    fake_event(&server, PERIGEE_RECONNECTING);
    FakePeer *again = fake_accept(&server);
    fake_hello(&server, again);
    fake_welcome(again, &(FakeWelcome){.token = 4, .is_resumed = 1});
    fake_event(&server, PERIGEE_RESUMED);
    fake_close(&server);
  }
  fake_open(&server);
}

static void reject(FakePeer *peer, int code) {
  fake_packet(peer, fake_control(CONTROL_REJECTED), "wS", (uint64_t)code, "no");
}

static void a_refused_reconnect_is_final_but_for_want_of_room(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  reject(fake_return(&server, peer, NULL), PERIGEE_SERVER_FULL);
  assert_int_equal(2, fake_event(&server, PERIGEE_RECONNECTING)->count);
  FakePeer *again = fake_accept(&server);
  fake_hello(&server, again);
  reject(again, PERIGEE_REJECTED);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_CLOSED);
  assert_int_equal(PERIGEE_REJECTED, event->code);
  assert_string_equal("no", event->text);
}

static void pauses_grow_and_patience_ends(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  options.reconnect_max_ms = 4;
  options.reconnect_for_ms = 60;
  FakePeer *peer = fake_connect(&server, &options, 3);
  int request = perigee_ask(server.client, 0, "x", NULL, 0);
  fake_expect_message(&server, peer, 0, "[\"x\",null]");
  fake_cut(fake_return(&server, peer, NULL));
  fake_stop_listening(&server);
  const PerigeeEvent *event;
  for (uint32_t attempt = 2;; attempt++) {
    uint64_t whole_us = attempt == 2 ? 2000 : 4000;
    while ((event = perigee_next_event(server.client)) == NULL)
      perigee_poll(server.client, -1);
    if (event->type != PERIGEE_RECONNECTING) break;
    assert_int_equal(attempt, event->count);
    assert_true(event->time_us >= whole_us / 2 && event->time_us <= whole_us);
  }
  assert_int_equal(PERIGEE_FAILED, event->type);
  assert_int_equal(request, event->request);
  fake_expect_cut(fake_event(&server, PERIGEE_CLOSED));
}

static void postpone(FakePeer *peer, ControlType type, uint16_t seconds) {
  fake_packet(peer, fake_control(type), "wSw", (uint64_t)PERIGEE_UNAVAILABLE, "soon",
              (uint64_t)seconds);
}

// The next try comes after so many seconds, and up to a half later.
static void expect_pause(uint64_t seconds, uint32_t attempt) {
  const PerigeeEvent *event = fake_event(&server, PERIGEE_RECONNECTING);
  assert_int_equal(attempt, event->count);
  assert_true(event->time_us >= seconds * 1000000);
  assert_true(event->time_us <= seconds * 1500000 + 500000);
}

static void a_server_that_stops_is_asked_again_when_it_said(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  postpone(peer, CONTROL_CLOSING, 300);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_DISCONNECTED);
  assert_int_equal(PERIGEE_UNAVAILABLE, event->code);
  assert_string_equal("soon", event->text);
  expect_pause(300, 1);
  assert_true(perigee_wait_ms(server.client) >= 299000);
}

static void the_first_connection_is_tried_again_when_it_is_unavailable(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  fake_open(&server);
  server.client = perigee_connect(server.address, &options, NULL);
  FakePeer *peer = fake_accept(&server);
  fake_hello(&server, peer);
  postpone(peer, CONTROL_REJECTED, 1);
  expect_pause(1, 1);
  assert_int_equal(PERIGEE_STATE_CONNECTING, perigee_state(server.client));
  uint64_t start_us = perigee_clock_us();
  peer = fake_accept(&server);
  assert_true(perigee_clock_us() - start_us >= 900000);
  fake_hello(&server, peer);
  reject(peer,
         PERIGEE_SERVER_FULL);  // final for a first try, and not for those after it
  expect_pause(0, 2);
  peer = fake_accept(&server);
  fake_hello(&server, peer);
  fake_welcome(peer, &(FakeWelcome){.token = 3});
  fake_event(&server, PERIGEE_CONNECTED);
}

static void it_is_not_tried_for_longer_than_the_options_say(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  for (int i = 0; i < 2; i++) {
    options.reconnect = i;
    options.reconnect_for_ms = 5000;
    fake_open(&server);
    server.client = perigee_connect(server.address, &options, NULL);
    FakePeer *peer = fake_accept(&server);
    fake_hello(&server, peer);
    postpone(peer, CONTROL_REJECTED, 7);
    const PerigeeEvent *event = fake_event(&server, PERIGEE_CLOSED);
    assert_int_equal(PERIGEE_UNAVAILABLE, event->code);
    assert_string_equal("soon", event->text);
    fake_close(&server);
  }
  fake_open(&server);
}

static void without_reconnect_a_lost_connection_is_the_end(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  options.reconnect = 0;
  FakePeer *peer = fake_connect(&server, &options, 3);
  fake_cut(peer);
  fake_expect_cut(fake_event(&server, PERIGEE_CLOSED));
}

static void closing_while_it_is_away_ends_at_once(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  FakePeer *peer = fake_connect(&server, &options, 3);
  fake_cut(peer);
  fake_event(&server, PERIGEE_DISCONNECTED);
  perigee_close(server.client);
  fake_event(&server, PERIGEE_RECONNECTING);
  assert_int_equal(PERIGEE_CONNECTION_CLOSED,
                   fake_event(&server, PERIGEE_CLOSED)->code);
  assert_int_equal(PERIGEE_STATE_CLOSED, perigee_state(server.client));
}

#define TEST(name) \
  cmocka_unit_test_prestate_setup_teardown(name, NULL, fake_tear_down, &server)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_the_server_has_not_got_is_sent_again),
      TEST(what_arrived_is_counted_and_told),
      TEST(what_was_sent_before_the_end_is_taken),
      TEST(requests_wait_through_a_resume),
      TEST(a_refusal_that_was_lost_comes_again),
      TEST(what_the_game_asks_is_answered_on_the_next_connection),
      TEST(rooms_are_brought_up_to_date),
      TEST(a_member_renamed_meanwhile_is_renamed),
      TEST(a_room_that_was_being_left_is_left),
      TEST(a_channel_goes_on_after_a_resume),
      TEST(waits_for_room_and_then_refuses),
      TEST(sync_waits_until_the_server_has_everything),
      TEST(syncs_by_a_ping_where_nothing_is_kept),
      TEST(some_reasons_are_final),
      TEST(after_others_it_comes_back),
      TEST(a_refused_reconnect_is_final_but_for_want_of_room),
      TEST(pauses_grow_and_patience_ends),
      TEST(a_server_that_stops_is_asked_again_when_it_said),
      TEST(the_first_connection_is_tried_again_when_it_is_unavailable),
      TEST(it_is_not_tried_for_longer_than_the_options_say),
      TEST(without_reconnect_a_lost_connection_is_the_end),
      TEST(closing_while_it_is_away_ends_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
