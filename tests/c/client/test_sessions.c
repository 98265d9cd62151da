// Sessions that outlive their connections, against a server that does what each test says.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/fake_server.h"

static FakeServer server;

static int tear_down(void **state) {
  (void)state;
  fake_close(&server);
  memset(&server, 0, sizeof server);
  return 0;
}

static PerigeeOptions quick(void) {
  PerigeeOptions options;
  perigee_options_init(&options);
  options.reconnect_first_ms = 1;
  options.reconnect_max_ms = 10;
  return options;
}

static Packet expect_message(FakePeer *peer, const char *body) {
  Packet packet = fake_expect(&server, peer, CHANNEL_MESSAGE, 0);
  if (packet.length != 4 + strlen(body) ||
      memcmp(packet.payload + 4, body, strlen(body)) != 0)
    fail_msg("%.*s instead of %s", (int)packet.length - 4, packet.payload + 4, body);
  return packet;
}

static void send_ack(FakePeer *peer, uint64_t count) {
  fake_packet(peer, fake_control(CONTROL_ACK), "d", count);
}

// The connection breaks, and is there again: what HELLO says on the new one.
static FakePeer *cut(FakePeer *peer, FakeHello *hello) {
  fake_cut(peer);
  assert_int_equal(PERIGEE_CONNECTION_RESET,
                   fake_event(&server, PERIGEE_DISCONNECTED)->code);
  assert_int_equal(PERIGEE_STATE_RECONNECTING, perigee_state(server.client));
  const PerigeeEvent *event = fake_event(&server, PERIGEE_RECONNECTING);
  assert_int_equal(1, event->count);
  assert_true(event->time_us >= 500 && event->time_us <= 1000);
  FakePeer *again = fake_accept(&server);
  FakeHello said = fake_hello(&server, again);
  if (hello) *hello = said;
  return again;
}

static FakePeer *resume(FakePeer *peer, uint8_t token, uint32_t received) {
  FakePeer *again = cut(peer, NULL);
  fake_welcome(again,
               &(FakeWelcome){.token = token, .is_resumed = 1, .received = received});
  return again;
}

static FakePeer *lose(FakePeer *peer, uint32_t id) {
  FakePeer *again = cut(peer, NULL);
  fake_welcome(again, &(FakeWelcome){.token = 9, .id = id});
  return again;
}

// --- Resumed ---

static void what_the_server_has_not_got_is_sent_again(void **state) {
  (void)state;
  PerigeeOptions options = quick();
  FakePeer *peer = fake_connect(&server, &options, 3);
  char body[32];
  for (int i = 1; i <= 4; i++) {
    snprintf(body, sizeof body, "%d", i);
    perigee_send(server.client, 0, "n", body, 0);
  }
  perigee_send(server.client, 0, "n", "0", PERIGEE_UNRELIABLE);
  for (int i = 1; i <= 5; i++) {
    snprintf(body, sizeof body, "[\"n\",%d]", i % 5);
    expect_message(peer, body);
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
  expect_message(again, "[\"n\",4]");
  expect_message(again, "[\"n\",5]");
  assert_true(again->acks == 1);  // the first packet on it
  const PerigeeEvent *event = fake_event(&server, PERIGEE_RESUMED);
  assert_int_equal(2, event->count);
  FakePeer *third = cut(again, &hello);
  memset(token, 4, sizeof token);
  assert_memory_equal(token, hello.resume, UUID_SIZE);
  fake_welcome(third, &(FakeWelcome){.token = 5, .is_resumed = 1, .received = 5});
  assert_int_equal(0, fake_event(&server, PERIGEE_RESUMED)->count);
}

static void what_arrived_is_counted_and_told(void **state) {
  (void)state;
  PerigeeOptions options = quick();
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
  cut(peer, &hello);
  assert_int_equal(RELIABLE_ACK_PACKETS + 2, hello.received);
}

static void what_was_sent_before_the_end_is_taken(void **state) {
  (void)state;
  PerigeeOptions options = quick();
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
  PerigeeOptions options = quick();
  FakePeer *peer = fake_connect(&server, &options, 3);
  int asked = perigee_ask(server.client, 0, "x", NULL, 0);
  int joining = perigee_join(server.client, "arena", 0);
  Packet question = expect_message(peer, "[\"x\",null]");
  Packet join = fake_expect(&server, peer, 0, CONTROL_JOIN);
  FakePeer *again = resume(peer, 4, 2);
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

static void rooms_are_brought_up_to_date(void **state) {
  (void)state;
  PerigeeOptions options = quick();
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, &options, 3, &room);
  perigee_join(server.client, "other", 0);
  fake_let_in(&server, peer, 6, "other", "");
  uint32_t other = fake_event(&server, PERIGEE_JOINED)->room;
  FakePeer *again = resume(peer, 4, 2);
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

static void a_room_that_was_being_left_is_left(void **state) {
  (void)state;
  PerigeeOptions options = quick();
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, &options, 3, &room);
  int leaving = perigee_leave(server.client, room);
  fake_expect(&server, peer, 0, CONTROL_LEAVE);
  FakePeer *again = resume(peer, 4, 2);
  fake_event(&server, PERIGEE_RESUMED);
  send_ack(again, 2);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_LEFT);
  assert_int_equal(leaving, event->request);
  assert_int_equal(PERIGEE_CONNECTION_CLOSED, event->code);
}

static void a_channel_goes_on_after_a_resume(void **state) {
  (void)state;
  PerigeeOptions options = quick();
  FakePeer *peer = fake_connect(&server, &options, 3);
  perigee_open_channel(server.client, "ide", 0);
  Packet open = fake_expect(&server, peer, 0, CONTROL_CHANNEL_OPEN);
  fake_packet(peer, fake_answer(CONTROL_CHANNEL_OPENED, &open), "ws", (uint64_t)1000,
              "ide");
  fake_event(&server, PERIGEE_CHANNEL_OPENED);
  FakePeer *again = resume(peer, 4, 1);
  fake_event(&server, PERIGEE_RESUMED);
  fake_packet(again, (Packet){.channel = 1000}, "d", (uint64_t)BOB);
  assert_int_equal(BOB, fake_event(&server, PERIGEE_PACKET)->peer);
  lose(again, 8);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_CHANNEL_CLOSED);
  assert_int_equal(1000, event->channel);
  assert_string_equal("ide", event->name);
  fake_event(&server, PERIGEE_LOST);
}

static void waits_for_room_and_then_refuses(void **state) {
  (void)state;
  PerigeeOptions options = quick();
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
  for (int i = 0; i < RELIABLE_WINDOW; i++) expect_message(again, "[\"n\",null]");
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
  expect_message(peer, "[\"n\",null]");
  expect_message(peer, "[\"n\",null]");
  expect_message(peer, "[\"n\",null]");
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
  expect_message(peer, "[\"n\",null]");
  assert_int_equal(request, fake_event(&server, PERIGEE_SYNCED)->request);
}

// --- Lost ---

static void a_lost_session_begins_anew(void **state) {
  (void)state;
  PerigeeOptions options = quick();
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, &options, 3, &room);
  fake_joined(peer, 6, "put into", SELF, "", 0, 0);
  uint32_t other = fake_event(&server, PERIGEE_JOINED)->room;
  int asked = perigee_ask(server.client, 0, "x", NULL, 0);
  expect_message(peer, "[\"x\",null]");
  FakePeer *again = lose(peer, 8);
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
  assert_int_equal(55, expect_message(again, "[\"here\",null]").payload[0]);
}

static void a_room_that_cannot_be_joined_again_is_left(void **state) {
  (void)state;
  PerigeeOptions options = quick();
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, &options, 3, &room);
  FakePeer *again = lose(peer, 8);
  fake_event(&server, PERIGEE_LOST);
  fake_expect(&server, again, 0, CONTROL_JOIN);
  again = lose(again, 11);  // and once more
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
  PerigeeOptions options = quick();
  options.rejoin = 0;
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, &options, 3, &room);
  lose(peer, 8);
  assert_int_equal(PERIGEE_CONNECTION_RESET, fake_event(&server, PERIGEE_LEFT)->code);
  fake_event(&server, PERIGEE_LOST);
}

static void without_resume_a_reconnect_is_a_new_session(void **state) {
  (void)state;
  PerigeeOptions options = quick();
  FakePeer *peer = fake_connect(&server, &options, 0);
  perigee_send(server.client, 0, "n", NULL, 0);
  expect_message(peer, "[\"n\",null]");
  FakeHello hello;
  FakePeer *again = cut(peer, &hello);
  static const uint8_t ZEROS[UUID_SIZE];
  assert_memory_equal(ZEROS, hello.resume, UUID_SIZE);
  fake_welcome(again, &(FakeWelcome){.id = 8});
  assert_int_equal(0, fake_event(&server, PERIGEE_LOST)->count);
}

static void questions_of_a_lost_session_have_no_answer(void **state) {
  (void)state;
  PerigeeOptions options = quick();
  FakePeer *peer = fake_connect(&server, &options, 3);
  Packet question = {.channel = CHANNEL_MESSAGE, .flags = PACKET_REQUEST, .ref = 77};
  fake_packet(peer, question, "dt", (uint64_t)0, "[\"sum\",1]");
  PerigeeQuestion asked = fake_event(&server, PERIGEE_QUESTION)->question;
  lose(peer, 8);
  fake_event(&server, PERIGEE_LOST);
  assert_int_equal(PERIGEE_OVER, perigee_answer(server.client, &asked, "sum", "1"));
}

// --- Whether there is a reconnect ---

static void some_reasons_are_final(void **state) {
  (void)state;
  static const int FINAL[] = {PERIGEE_KICKED,       PERIGEE_REPLACED,
                              PERIGEE_PROTOCOL,     PERIGEE_RATE_LIMITED,
                              PERIGEE_UNAUTHORIZED, PERIGEE_PAYLOAD_TOO_LARGE};
  PerigeeOptions options = quick();
  for (size_t i = 0; i < sizeof FINAL / sizeof *FINAL; i++) {
    FakePeer *peer = fake_connect(&server, &options, 3);
    fake_packet(peer, fake_control(CONTROL_CLOSING), "wS", (uint64_t)FINAL[i],
                "because");
    const PerigeeEvent *event = fake_event(&server, PERIGEE_CLOSED);
    assert_int_equal(FINAL[i], event->code);
    assert_string_equal("because", event->text);
    fake_close(&server);
  }
  fake_open(&server);
}

static void a_refused_reconnect_is_final(void **state) {
  (void)state;
  PerigeeOptions options = quick();
  FakePeer *peer = fake_connect(&server, &options, 3);
  FakePeer *again = cut(peer, NULL);
  fake_packet(again, fake_control(CONTROL_REJECTED), "wS", (uint64_t)PERIGEE_REJECTED,
              "no");
  assert_int_equal(PERIGEE_REJECTED, fake_event(&server, PERIGEE_CLOSED)->code);
}

static void pauses_grow_and_patience_ends(void **state) {
  (void)state;
  PerigeeOptions options = quick();
  options.reconnect_max_ms = 4;
  options.reconnect_for_ms = 60;
  FakePeer *peer = fake_connect(&server, &options, 3);
  int request = perigee_ask(server.client, 0, "x", NULL, 0);
  expect_message(peer, "[\"x\",null]");
  fake_cut(cut(peer, NULL));
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
  assert_int_equal(PERIGEE_CONNECTION_RESET, fake_event(&server, PERIGEE_CLOSED)->code);
}

static void without_reconnect_a_lost_connection_is_the_end(void **state) {
  (void)state;
  PerigeeOptions options = quick();
  options.reconnect = 0;
  FakePeer *peer = fake_connect(&server, &options, 3);
  fake_cut(peer);
  assert_int_equal(PERIGEE_CONNECTION_RESET, fake_event(&server, PERIGEE_CLOSED)->code);
}

static void a_server_that_says_nothing_any_more_is_left(void **state) {
  (void)state;
  PerigeeOptions options = quick();
  fake_open(&server);
  server.client = perigee_connect(server.address, &options, NULL);
  FakePeer *peer = fake_accept(&server);
  fake_hello(&server, peer);
  fake_welcome(peer, &(FakeWelcome){.token = 3, .ping_interval = 100});
  fake_event(&server, PERIGEE_CONNECTED);
  server.is_deaf = true;
  assert_int_equal(PERIGEE_PING_TIMEOUT,
                   fake_event(&server, PERIGEE_DISCONNECTED)->code);
  server.is_deaf = false;
  fake_event(&server, PERIGEE_RECONNECTING);
  FakePeer *again = fake_accept(&server);
  fake_hello(&server, again);
  fake_welcome(again, &(FakeWelcome){.token = 4, .is_resumed = 1});
  fake_event(&server, PERIGEE_RESUMED);
}

static void closing_while_it_is_away_ends_at_once(void **state) {
  (void)state;
  PerigeeOptions options = quick();
  FakePeer *peer = fake_connect(&server, &options, 3);
  fake_cut(peer);
  fake_event(&server, PERIGEE_DISCONNECTED);
  perigee_close(server.client);
  fake_event(&server, PERIGEE_RECONNECTING);
  assert_int_equal(PERIGEE_CONNECTION_CLOSED,
                   fake_event(&server, PERIGEE_CLOSED)->code);
  assert_int_equal(PERIGEE_STATE_CLOSED, perigee_state(server.client));
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_the_server_has_not_got_is_sent_again),
      TEST(what_arrived_is_counted_and_told),
      TEST(what_was_sent_before_the_end_is_taken),
      TEST(requests_wait_through_a_resume),
      TEST(rooms_are_brought_up_to_date),
      TEST(a_room_that_was_being_left_is_left),
      TEST(a_channel_goes_on_after_a_resume),
      TEST(waits_for_room_and_then_refuses),
      TEST(sync_waits_until_the_server_has_everything),
      TEST(syncs_by_a_ping_where_nothing_is_kept),
      TEST(a_lost_session_begins_anew),
      TEST(a_room_that_cannot_be_joined_again_is_left),
      TEST(without_rejoin_rooms_are_left),
      TEST(without_resume_a_reconnect_is_a_new_session),
      TEST(questions_of_a_lost_session_have_no_answer),
      TEST(some_reasons_are_final),
      TEST(a_refused_reconnect_is_final),
      TEST(pauses_grow_and_patience_ends),
      TEST(without_reconnect_a_lost_connection_is_the_end),
      TEST(a_server_that_says_nothing_any_more_is_left),
      TEST(closing_while_it_is_away_ends_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
