// A client against a server that does what each test says: connecting, rooms, the end,
// and what the protocol forbids.
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/fake_server.h"

static FakeServer server;

// --- Connecting ---

static void says_hello(void **state) {
  (void)state;
  PerigeeOptions options;
  perigee_options_init(&options);
  options.name = "ann";
  options.token = "secret";
  options.protocol_hash = 0x1122334455667788u;
  fake_open(&server);
  server.client = perigee_connect(server.address, &options, NULL);
  assert_int_equal(PERIGEE_STATE_CONNECTING, perigee_state(server.client));
  FakePeer *peer = fake_accept(&server);
  FakeHello hello = fake_hello(&server, peer);
  static const uint8_t ZEROS[UUID_SIZE];
  assert_int_equal(1, hello.version);
  assert_true(hello.hash == options.protocol_hash);
  assert_string_equal("ann", hello.name);
  assert_string_equal("secret", hello.token);
  assert_memory_equal(ZEROS, hello.resume, UUID_SIZE);
  assert_int_equal(0, hello.received);
  fake_welcome(peer, &(FakeWelcome){.token = 3});
  fake_event(&server, PERIGEE_CONNECTED);
  assert_int_equal(PERIGEE_STATE_OPEN, perigee_state(server.client));
  assert_int_equal(SELF, perigee_peer_id(server.client));
  assert_string_equal("01010101-0101-0101-0101-010101010101",
                      perigee_session(server.client));
  assert_int_equal(65536, perigee_max_payload(server.client));
  assert_int_equal(20, perigee_tick_rate(server.client));
  assert_true(perigee_server_time_us(server.client) == 1700000000000000u);
}

static void fails_with_the_servers_reason(void **state) {
  (void)state;
  fake_open(&server);
  server.client = perigee_connect(server.address, NULL, NULL);
  FakePeer *peer = fake_accept(&server);
  assert_string_equal("guest", fake_hello(&server, peer).name);
  fake_packet(peer, fake_control(CONTROL_REJECTED), "wS", (uint64_t)PERIGEE_SERVER_FULL,
              "not today");
  const PerigeeEvent *event = fake_event(&server, PERIGEE_CLOSED);
  assert_int_equal(PERIGEE_SERVER_FULL, event->code);
  assert_string_equal("not today", event->text);
  assert_int_equal(PERIGEE_STATE_CLOSED, perigee_state(server.client));
  assert_null(perigee_next_event(server.client));
  assert_int_equal(PERIGEE_OVER, perigee_send(server.client, 0, "x", NULL, 0));
  assert_int_equal(PERIGEE_OVER, perigee_join(server.client, "x", 0));
  assert_int_equal(PERIGEE_OVER, perigee_sync(server.client, 0));
  assert_int_equal(0, perigee_poll(server.client, -1));  // does not wait for ever
}

static void fails_where_nobody_answers(void **state) {
  (void)state;
  PerigeeOptions options;
  perigee_options_init(&options);
  options.timeout_ms = 50;
  fake_open(&server);
  server.client = perigee_connect(server.address, &options, NULL);
  assert_int_equal(PERIGEE_TIMEOUT, fake_event(&server, PERIGEE_CLOSED)->code);
  perigee_free(server.client);
  server.client = perigee_connect("127.0.0.1:1", NULL, NULL);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_CLOSED);
  assert_int_equal(PERIGEE_UNREACHABLE, event->code);
  assert_non_null(strstr(event->text, "cannot connect to 127.0.0.1:1: "));
}

static void refuses_addresses_and_names_that_cannot_be(void **state) {
  (void)state;
  static const char *const BAD[] = {"",           ":1",         "a b",  "host:0",
                                    "host:65536", "host:x",     "[::1", "[::1]x",
                                    "gopher://x", "host:123456"};
  fake_open(&server);
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
    int code = 0;
    assert_null(perigee_connect(BAD[i], NULL, &code));
    assert_int_equal(PERIGEE_BAD_ARGUMENT, code);
  }
  char name[66] = {0};
  memset(name, 'x', 65);
  PerigeeOptions options;
  perigee_options_init(&options);
  static const char *const BAD_NAMES[] = {"", "two\nlines", "no \xc3\x28 UTF-8"};
  for (size_t i = 0; i < sizeof BAD_NAMES / sizeof *BAD_NAMES; i++) {
    options.name = BAD_NAMES[i];
    assert_null(perigee_connect("localhost", &options, NULL));
  }
  options.name = name;
  assert_null(perigee_connect("localhost", &options, NULL));
  assert_int_equal(PERIGEE_STATE_CLOSED, perigee_state(NULL));
}

static void refuses_names_that_no_room_and_no_channel_can_have(void **state) {
  (void)state;
  fake_connect(&server, NULL, 3);
  assert_int_equal(PERIGEE_BAD_ARGUMENT, perigee_join(server.client, "", 0));
  assert_int_equal(PERIGEE_BAD_ARGUMENT, perigee_join(server.client, NULL, 0));
  assert_int_equal(PERIGEE_BAD_ARGUMENT, perigee_join(server.client, "\xff", 0));
  assert_int_equal(PERIGEE_BAD_ARGUMENT, perigee_open_channel(server.client, "\t", 0));
  assert_int_equal(0, perigee_find_room(server.client, NULL));
}

static void what_is_called_for_before_it_is_connected_waits(void **state) {
  (void)state;
  fake_open(&server);
  server.client = perigee_connect(server.address, NULL, NULL);
  int request = perigee_join(server.client, "arena", 0);
  perigee_send(server.client, 0, "lost", NULL, PERIGEE_UNRELIABLE);
  perigee_send(server.client, 0, "kept", NULL, 0);
  FakePeer *peer = fake_accept(&server);
  fake_hello(&server, peer);
  fake_welcome(peer, &(FakeWelcome){.token = 0});
  fake_event(&server, PERIGEE_CONNECTED);
  fake_let_in(&server, peer, ROOM, "arena", "");
  fake_expect_message(&server, peer, 0, "[\"kept\",null]");
  assert_int_equal(request, fake_event(&server, PERIGEE_JOINED)->request);
  assert_int_equal(0, perigee_unconfirmed(server.client));
}

// --- Rooms ---

static void knows_who_is_in_a_room(void **state) {
  (void)state;
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, NULL, 3, &room);
  PerigeeClient *client = server.client;
  assert_int_equal(room, perigee_find_room(client, "arena"));
  assert_string_equal("arena", perigee_room_name(client, room));
  assert_int_equal(2, perigee_member_count(client, room));
  assert_string_equal("bob", perigee_member_name(client, room, BOB));
  fake_packet(peer, fake_control(CONTROL_PEER_JOINED), "dds", (uint64_t)ROOM,
              (uint64_t)11, "dora");
  fake_packet(peer, fake_control(CONTROL_PEER_LEFT), "dd", (uint64_t)ROOM,
              (uint64_t)BOB);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_PEER_JOINED);
  assert_int_equal(11, event->peer);
  assert_int_equal(room, event->room);
  assert_string_equal("dora", event->name);
  event = fake_event(&server, PERIGEE_PEER_LEFT);
  assert_int_equal(BOB, event->peer);
  assert_string_equal("bob", event->name);
  assert_null(perigee_member_name(client, room, BOB));
  assert_int_equal(2, perigee_member_count(client, room));
  assert_int_equal(0, perigee_member(client, room, 2));
}

static void hears_of_new_names(void **state) {
  (void)state;
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, NULL, 3, &room);
  PerigeeClient *client = server.client;
  fake_packet(peer, fake_control(CONTROL_PEER_RENAMED), "dds", (uint64_t)ROOM,
              (uint64_t)BOB, "rob");
  const PerigeeEvent *event = fake_event(&server, PERIGEE_PEER_RENAMED);
  assert_int_equal(room, event->room);
  assert_int_equal(BOB, event->peer);
  assert_string_equal("rob", event->name);
  assert_string_equal("bob", event->text);
  assert_string_equal("rob", perigee_member_name(client, room, BOB));
  // Of itself once, though the server notifies the members of a room as well.
  fake_packet(peer, fake_control(CONTROL_PEER_RENAMED), "dds", (uint64_t)ROOM,
              (uint64_t)SELF, "zoe");
  fake_packet(peer, fake_control(CONTROL_PEER_RENAMED), "dds", (uint64_t)0,
              (uint64_t)SELF, "zoe");
  fake_packet(peer, fake_control(CONTROL_PEER_RENAMED), "dds", (uint64_t)99,
              (uint64_t)BOB, "x");
  assert_string_not_equal("zoe", perigee_name(client));
  event = fake_event(&server, PERIGEE_PEER_RENAMED);
  assert_int_equal(0, event->room);
  assert_int_equal(SELF, event->peer);
  assert_string_equal("zoe", event->name);
  assert_string_equal("zoe", perigee_name(client));
  fake_expect_silence(&server);
}

static void is_refused_a_room(void **state) {
  (void)state;
  FakePeer *peer = fake_connect(&server, NULL, 3);
  int request = perigee_join(server.client, "arena", 0);
  Packet join = fake_expect(&server, peer, 0, CONTROL_JOIN);
  fake_packet(peer, fake_answer(CONTROL_ERROR, &join), "wS",
              (uint64_t)PERIGEE_ROOM_FULL, "full");
  fake_expect_failure(&server, request, PERIGEE_ROOM_FULL);
  assert_int_equal(0, perigee_find_room(server.client, "arena"));
}

static void leaves_a_room(void **state) {
  (void)state;
  uint32_t room;
  FakePeer *peer = fake_connect_in_room(&server, NULL, 3, &room);
  int request = perigee_leave(server.client, room);
  Packet leave = fake_expect(&server, peer, 0, CONTROL_LEAVE);
  assert_int_equal(ROOM, leave.payload[0]);
  fake_packet(peer, fake_answer(CONTROL_LEFT, &leave), "dw", (uint64_t)ROOM,
              (uint64_t)0);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_LEFT);
  assert_int_equal(request, event->request);
  assert_int_equal(room, event->room);
  assert_string_equal("arena", event->name);
  assert_int_equal(PERIGEE_NOT_JOINED, perigee_send(server.client, room, "x", NULL, 0));
  assert_int_equal(PERIGEE_NOT_JOINED, perigee_leave(server.client, room));
  assert_int_equal(PERIGEE_NOT_JOINED, perigee_relay(server.client, 0, "x", 1, 0));
}

static void is_put_into_a_room_and_out_of_it(void **state) {
  (void)state;
  FakePeer *peer = fake_connect(&server, NULL, 3);
  fake_joined(peer, 6, "lobby", SELF, "", 0, 0);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_JOINED);
  assert_int_equal(0, event->request);
  assert_string_equal("lobby", event->name);
  uint32_t room = event->room;
  fake_packet(peer, fake_control(CONTROL_LEFT), "dw", (uint64_t)6,
              (uint64_t)PERIGEE_KICKED);
  event = fake_event(&server, PERIGEE_LEFT);
  assert_int_equal(room, event->room);
  assert_int_equal(PERIGEE_KICKED, event->code);
}

static void a_list_that_is_cut_off_is_forbidden(void **state) {
  (void)state;
  FakePeer *peer = fake_connect(&server, NULL, 3);
  int request = perigee_list_rooms(server.client, 0);
  Packet list = fake_expect(&server, peer, 0, CONTROL_ROOM_LIST);
  fake_packet(peer, fake_answer(CONTROL_ROOMS, &list), "wdsdds", (uint64_t)2,
              (uint64_t)5, "arena", (uint64_t)3, (uint64_t)6, "b");
  fake_expect_failure(&server, request, PERIGEE_PROTOCOL);
  assert_int_equal(PERIGEE_PROTOCOL, fake_event(&server, PERIGEE_CLOSED)->code);
}

static void lists_rooms(void **state) {
  (void)state;
  FakePeer *peer = fake_connect(&server, NULL, 3);
  int request = perigee_list_rooms(server.client, 0);
  Packet list = fake_expect(&server, peer, 0, CONTROL_ROOM_LIST);
  fake_packet(peer, fake_answer(CONTROL_ROOMS, &list), "wdsddsd", (uint64_t)2,
              (uint64_t)5, "arena", (uint64_t)3, (uint64_t)6, "b", (uint64_t)0);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_ROOMS);
  assert_int_equal(request, event->request);
  assert_int_equal(2, event->count);
  assert_string_equal("arena", event->rooms[0].name);
  assert_int_equal(3, event->rooms[0].members);
  assert_string_equal("b", event->rooms[1].name);
}

// --- Keepalive, and the end ---

static void pings_are_answered_and_measured(void **state) {
  (void)state;
  FakePeer *peer = fake_connect(&server, NULL, 3);
  fake_packet(peer, fake_control(CONTROL_PING), "t", "12345678");
  Packet pong = fake_expect(&server, peer, 0, CONTROL_PONG);
  assert_memory_equal("12345678", pong.payload, 8);
  int request = perigee_ping(server.client, 0);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_PONG);
  assert_int_equal(request, event->request);
  assert_true(perigee_latency_us(server.client) >= 0);
  assert_true(event->time_us < 15000000);
  assert_true(peer->pings >= 2);
}

static void a_redirect_is_told_of(void **state) {
  (void)state;
  FakePeer *peer = fake_connect(&server, NULL, 3);
  fake_packet(peer, fake_control(CONTROL_REDIRECT), "sw", "other.example",
              (uint64_t)7778);
  fake_packet(peer, fake_control(199), "t", "of another version");
  const PerigeeEvent *event = fake_event(&server, PERIGEE_REDIRECT);
  assert_string_equal("other.example", event->name);
  assert_int_equal(7778, event->number);
  fake_expect_silence(&server);
}

static void closing_says_bye_after_everything_else(void **state) {
  (void)state;
  FakePeer *peer = fake_connect(&server, NULL, 3);
  int request = perigee_ask(server.client, 0, "never", NULL, 0);
  perigee_close(server.client);
  perigee_close(server.client);
  assert_int_equal(PERIGEE_STATE_CLOSING, perigee_state(server.client));
  fake_expect_failure(&server, request, PERIGEE_CONNECTION_CLOSED);
  assert_int_equal(PERIGEE_OVER, perigee_send(server.client, 0, "x", NULL, 0));
  fake_expect_message(&server, peer, 0, "[\"never\",null]");
  fake_expect(&server, peer, 0, CONTROL_BYE);
  fake_packet(peer, (Packet){.channel = CHANNEL_MESSAGE}, "dt", (uint64_t)0,
              "[\"x\",1]");
  fake_cut(peer);
  const PerigeeEvent *event = fake_event(&server, PERIGEE_CLOSED);
  assert_int_equal(PERIGEE_CONNECTION_CLOSED, event->code);
}

static void an_event_that_is_there_is_not_waited_for(void **state) {
  (void)state;
  fake_open(&server);
  server.client = perigee_connect(server.address, NULL, NULL);
  assert_true(perigee_wait_ms(server.client) > 0);
  perigee_close(server.client);
  PerigeeFd fds[2];
  assert_int_equal(0, perigee_fds(server.client, fds));
  assert_int_equal(0, perigee_wait_ms(server.client));
  assert_int_equal(PERIGEE_CLOSED, perigee_next_event(server.client)->type);
  assert_int_equal(-1, perigee_wait_ms(server.client));
}

static void closing_does_not_wait_for_ever(void **state) {
  (void)state;
  fake_connect(&server, NULL, 3);
  perigee_close(server.client);
  fake_event(&server, PERIGEE_CLOSED);
}

// --- Pieces, and what the protocol forbids ---

static void packets_arrive_whole_from_pieces_of_any_size(void **state) {
  (void)state;
  static const size_t SIZES[] = {0, 1, 3000, 70000};
  FakePeer *peer = fake_connect(&server, NULL, 3);
  Buf bytes = {0};
  for (int i = 0; i < 4; i++) {
    char *text = calloc(1, SIZES[i] + 1);
    memset(text, 'a' + i, SIZES[i]);
    Packet packet = {.channel = 3000,
                     .length = (uint32_t)SIZES[i],
                     .payload = (const uint8_t *)text};
    packet_append(&bytes, &packet);
    free(text);
  }
  size_t size = 1;
  for (size_t at = 0; at < bytes.size; at += size, size = size * 3 % 4099) {
    if (size > bytes.size - at) size = bytes.size - at;
    fake_send(peer, bytes.data + at, size);
    perigee_poll(server.client, 0);
  }
  buf_deinit(&bytes);
  for (int i = 0; i < 4; i++) {
    const PerigeeEvent *event = fake_event(&server, PERIGEE_PACKET);
    assert_int_equal(SIZES[i], event->size);
    assert_true(event->size == 0 || event->data[SIZES[i] - 1] == 'a' + i);
  }
}

static void events_that_nobody_takes_stop_the_reading(void **state) {
  (void)state;
  enum { COUNT = 6000, LIMIT = 4096 };
  FakePeer *peer = fake_connect(&server, NULL, 3);
  for (uint64_t i = 0; i < COUNT; i++) {
    fake_packet(peer, (Packet){.channel = 3000}, "d", i);
    if (i % 100 == 0) perigee_poll(server.client, 0);
  }
  fake_packet(peer, (Packet){.channel = 3001}, "");
  for (int i = 0; i < 1000; i++) perigee_poll(server.client, 0);
  PerigeeFd fds[2];
  assert_int_equal(1, perigee_fds(server.client, fds));
  assert_false(fds[0].wants_read);
  for (uint32_t i = 0; i < COUNT; i++) {
    const PerigeeEvent *event = perigee_next_event(server.client);
    if (i < LIMIT) assert_non_null(event);
    if (!event) event = fake_event(&server, PERIGEE_PACKET);
    uint32_t value;
    memcpy(&value, event->data, 4);
    assert_int_equal(i, value);
  }
  assert_int_equal(3001, fake_event(&server, PERIGEE_PACKET)->channel);
}

typedef struct Forbidden {
  const char *what;
  Packet header;
  const char *format;
  uint64_t number;
  const char *text;
} Forbidden;

static void what_is_forbidden_closes(void **state) {
  (void)state;
  static const Forbidden CASES[] = {
      {"a priority of 4", {.type = 5, .priority = 4}, "q", 0, ""},
      {"an unknown flag", {.type = 5, .flags = 8}, "q", 0, ""},
      {"request and response", {.type = 5, .flags = 6}, "q", 0, ""},
      {"a PING too short", {.type = 5}, "d", 0, ""},
      {"a count of packets never sent", {.type = 7}, "d", 1, ""},
      {"a second WELCOME cut off", {.type = 129}, "w", 1, ""},
      {"JOINED cut off", {.type = 130}, "ds", 5, "x"},
      {"a name that is not UTF-8", {.type = 130}, "ds", 5, "\xc3\x28"},
      {"LEFT too short", {.type = 131}, "d", 5, ""},
      {"PEER_JOINED too short", {.type = 133}, "d", 5, ""},
      {"a message without a room", {.channel = 2}, "b", 0, ""},
      {"a message that is not JSON", {.channel = 2}, "dt", 0, "["},
      {"a message that is no pair", {.channel = 2}, "dt", 0, "[\"x\"]"},
      {"a message of nothing", {.channel = 2}, "dt", 0, "[\"x\",]"},
      {"a message without a name", {.channel = 2}, "dt", 0, "[1,2]"},
      {"half a character", {.channel = 2}, "dt", 0, "[\"\\ud83d\",1]"},
      {"a message that is not UTF-8", {.channel = 2}, "dt", 0, "[\"\xc3\x28\",1]"},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    FakePeer *peer = fake_connect(&server, NULL, 3);
    fake_packet(peer, CASES[i].header, CASES[i].format, CASES[i].number, CASES[i].text);
    const PerigeeEvent *event = fake_event(&server, PERIGEE_CLOSED);
    if (event->code != PERIGEE_PROTOCOL) fail_msg("%s", CASES[i].what);
    assert_memory_equal("the server sent ", event->text, 16);
    fake_close(&server);
  }
  fake_open(&server);
}

static void what_comes_before_welcome_closes(void **state) {
  (void)state;
  static const FakeWelcome WELCOMES[] = {
      {.version = 2}, {.is_resumed = 1}, {.token = 0}};
  for (size_t i = 0; i < sizeof WELCOMES / sizeof *WELCOMES; i++) {
    fake_open(&server);
    server.client = perigee_connect(server.address, NULL, NULL);
    FakePeer *peer = fake_accept(&server);
    fake_hello(&server, peer);
    if (i < 2)
      fake_welcome(peer, &WELCOMES[i]);
    else
      fake_send(peer, "HTTP/1.1 400 Bad Request\r\n\r\n", 28);
    assert_int_equal(PERIGEE_PROTOCOL, fake_event(&server, PERIGEE_CLOSED)->code);
    fake_close(&server);
  }
  fake_open(&server);
}

#define TEST(name) \
  cmocka_unit_test_prestate_setup_teardown(name, NULL, fake_tear_down, &server)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(says_hello),
      TEST(fails_with_the_servers_reason),
      TEST(fails_where_nobody_answers),
      TEST(refuses_addresses_and_names_that_cannot_be),
      TEST(refuses_names_that_no_room_and_no_channel_can_have),
      TEST(what_is_called_for_before_it_is_connected_waits),
      TEST(knows_who_is_in_a_room),
      TEST(hears_of_new_names),
      TEST(is_refused_a_room),
      TEST(leaves_a_room),
      TEST(is_put_into_a_room_and_out_of_it),
      TEST(lists_rooms),
      TEST(a_list_that_is_cut_off_is_forbidden),
      TEST(pings_are_answered_and_measured),
      TEST(a_redirect_is_told_of),
      TEST(closing_says_bye_after_everything_else),
      TEST(an_event_that_is_there_is_not_waited_for),
      TEST(closing_does_not_wait_for_ever),
      TEST(packets_arrive_whole_from_pieces_of_any_size),
      TEST(events_that_nobody_takes_stop_the_reading),
      TEST(what_is_forbidden_closes),
      TEST(what_comes_before_welcome_closes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
