// A match of lockstep, against a server that does what each test says: what becomes of inputs that come
// too late, and how a client hears that it takes no part.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "client/fake_server.h"
#include "wire/reader.h"

enum {
  CHANNEL = 3,
  ENTER = 1,
  INPUT = 2,
  EXIT = 6,
  START = 129,
  TURNS = 130,
  END = 137
};
enum { MATCH = 9, SLOT = 0, OTHER = 1 };

static FakeServer server;
static uint32_t room;

static Packet of(uint16_t type) { return (Packet){.channel = CHANNEL, .type = type}; }

// A client in a room that has asked to take part; what it has asked is put into `asked`.
static FakePeer *enter(const PerigeeOptions *options, Packet *asked) {
  FakePeer *peer = fake_connect_in_room(&server, options, 3, &room);
  assert_int_equal(0, perigee_lockstep_enter(server.client, room, 0, NULL));
  *asked = fake_expect(&server, peer, CHANNEL, ENTER);
  return peer;
}

// An interval of 50 s: no inputs meanwhile but those that are asked for. The delay is two turns.
static void start(FakePeer *peer) {
  fake_packet(peer, of(START), "dddbzdbdbwdwb", (uint64_t)ROOM, (uint64_t)1,
              (uint64_t)MATCH, (uint64_t)SLOT, (size_t)16, (uint64_t)7, (uint64_t)0,
              (uint64_t)0, (uint64_t)1, (uint64_t)256, (uint64_t)50000000,
              (uint64_t)100, (uint64_t)2);
}

static FakePeer *begin(void) {
  PerigeeOptions options = fake_options();
  Packet asked;
  FakePeer *peer = enter(&options, &asked);
  start(peer);
  fake_event(&server, PERIGEE_MATCH);
  return peer;
}

static void give(const char *input) {
  assert_int_equal(0,
                   perigee_lockstep_input(server.client, room, input, strlen(input)));
}

// The next INPUT has these inputs, from this turn on; NULL ends them.
static void expect_inputs(FakePeer *peer, uint32_t first, ...) {
  Packet packet = fake_expect(&server, peer, CHANNEL, INPUT);
  Reader reader = reader_of(packet.payload, packet.length);
  reader_bytes(&reader, 16);  // room, start, turn, hash turn
  reader_bytes(&reader, 4u * reader_u8(&reader));
  assert_int_equal(first, reader_u32(&reader));
  uint8_t count = reader_u8(&reader);
  va_list inputs;
  va_start(inputs, first);
  const char *input;
  for (; (input = va_arg(inputs, const char *)) != NULL; count--) {
    assert_true(count > 0);
    uint16_t size = reader_u16(&reader);
    assert_int_equal(strlen(input), size);
    assert_memory_equal(input, reader_bytes(&reader, size), size);
  }
  va_end(inputs);
  assert_int_equal(0, count);
  assert_true(reader_is_done(&reader));
}

static void take_turn(uint32_t turn) {
  const PerigeeEvent *event = fake_event(&server, PERIGEE_TURN);
  assert_int_equal(turn, event->count);
  assert_int_equal(0, perigee_lockstep_done(server.client, room, turn, 1));
}

// A turn with one entry, which the game simulates.
static void turn(FakePeer *peer, uint32_t number, uint8_t slot, PerigeeEntryKind kind,
                 const char *bytes) {
  fake_packet(peer, of(TURNS), "dddbbbbS", (uint64_t)ROOM, (uint64_t)MATCH,
              (uint64_t)number, (uint64_t)1, (uint64_t)1, (uint64_t)slot,
              (uint64_t)kind, bytes);
  take_turn(number);
}

// --- Inputs that come too late ---

static void late_inputs_go_into_other_turns(void **state) {
  (void)state;
  FakePeer *peer = begin();
  expect_inputs(peer, 1, "", "", NULL);
  give("build");
  give("march");
  turn(peer, 1, OTHER, PERIGEE_INPUT, "x");
  expect_inputs(peer, 2, "", "build", NULL);
  turn(peer, 2, OTHER, PERIGEE_INPUT, "x");
  expect_inputs(peer, 3, "build", "march", NULL);
  turn(peer, 3, SLOT, PERIGEE_INPUT_MISSING, "");
  expect_inputs(peer, 4, "march", "build", NULL);
  turn(peer, 4, SLOT, PERIGEE_INPUT, "march");
  expect_inputs(peer, 5, "build", "", NULL);
  turn(peer, 5, SLOT, PERIGEE_INPUT, "build");
  expect_inputs(peer, 6, "", "", NULL);
}

static void late_inputs_keep_their_order(void **state) {
  (void)state;
  FakePeer *peer = begin();
  expect_inputs(peer, 1, "", "", NULL);
  give("a");
  give("b");
  turn(peer, 1, OTHER, PERIGEE_INPUT, "x");
  expect_inputs(peer, 2, "", "a", NULL);
  turn(peer, 2, OTHER, PERIGEE_INPUT, "x");
  expect_inputs(peer, 3, "a", "b", NULL);
  give("c");
  // Two turns at once, of nobody's inputs.
  fake_packet(peer, of(TURNS), "dddbbb", (uint64_t)ROOM, (uint64_t)MATCH, (uint64_t)3,
              (uint64_t)2, (uint64_t)0, (uint64_t)0);
  take_turn(3);
  take_turn(4);
  expect_inputs(peer, 5, "a", "b", NULL);
  turn(peer, 5, SLOT, PERIGEE_INPUT, "a");
  expect_inputs(peer, 6, "b", "c", NULL);
}

static void late_inputs_are_gone_where_the_one_before_stood_for_them(void **state) {
  (void)state;
  FakePeer *peer = begin();
  expect_inputs(peer, 1, "", "", NULL);
  give("left");
  turn(peer, 1, OTHER, PERIGEE_INPUT, "x");
  expect_inputs(peer, 2, "", "left", NULL);
  turn(peer, 2, OTHER, PERIGEE_INPUT, "x");
  expect_inputs(peer, 3, "left", "", NULL);
  turn(peer, 3, SLOT, PERIGEE_INPUT_REPEATED, "right");
  expect_inputs(peer, 4, "", "", NULL);
}

// --- Who takes no part ---

static void refuse(FakePeer *peer, const Packet *asked, uint16_t code) {
  Packet header = fake_control(CONTROL_ERROR);
  header.flags = PACKET_RESPONSE;
  header.ref = asked->ref;
  fake_packet(peer, header, "wS", (uint64_t)code, "no");
}

static void expect_ended(int code, const char *text) {
  const PerigeeEvent *event = fake_event(&server, PERIGEE_MATCH_ENDED);
  assert_int_equal(room, event->room);
  assert_int_equal(code, event->code);
  assert_string_equal(text, event->text);
}

static void who_is_refused_is_told_why(void **state) {
  (void)state;
  Packet asked;
  FakePeer *peer = enter(NULL, &asked);
  assert_int_equal(PACKET_REQUEST | PACKET_RELIABLE, asked.flags);
  refuse(peer, &asked, PERIGEE_UNSUPPORTED);
  expect_ended(PERIGEE_UNSUPPORTED, "no");
  fake_expect(&server, peer, CHANNEL, EXIT);
  start(peer);  // was under way
  fake_expect_silence(&server);
  assert_int_equal(0, perigee_lockstep_enter(server.client, room, 0, NULL));
  fake_expect(&server, peer, CHANNEL, ENTER);
  start(peer);
  fake_event(&server, PERIGEE_MATCH);
}

static void errors_of_something_else_do_not_end_it(void **state) {
  (void)state;
  Packet asked;
  FakePeer *peer = enter(NULL, &asked);
  fake_packet(peer, fake_control(CONTROL_ERROR), "wS", (uint64_t)PERIGEE_UNSUPPORTED,
              "no handler");
  assert_string_equal("no handler", fake_event(&server, PERIGEE_ERROR)->text);
  start(peer);
  fake_event(&server, PERIGEE_MATCH);
}

static void who_asks_too_soon_asks_again(void **state) {
  (void)state;
  Packet asked;
  FakePeer *peer = enter(NULL, &asked);
  refuse(peer, &asked, PERIGEE_RATE_LIMITED);
  fake_expect(&server, peer, CHANNEL, ENTER);
  start(peer);
  fake_event(&server, PERIGEE_MATCH);
}

static void what_is_not_answered_is_given_up(void **state) {
  (void)state;
  PerigeeOptions options = fake_options();
  options.timeout_ms = 100;
  Packet asked;
  FakePeer *peer = enter(&options, &asked);
  expect_ended(PERIGEE_TIMEOUT, "no answer in time");
  fake_expect(&server, peer, CHANNEL, EXIT);
}

static void who_is_out_of_it_is_not_refused(void **state) {
  (void)state;
  Packet asked;
  FakePeer *peer = enter(NULL, &asked);
  assert_int_equal(0, perigee_lockstep_exit(server.client, room));
  fake_expect(&server, peer, CHANNEL, EXIT);
  refuse(peer, &asked, PERIGEE_UNSUPPORTED);
  fake_expect_silence(&server);
}

static void who_is_refused_in_a_new_session_is_told(void **state) {
  (void)state;
  FakePeer *peer = fake_lose(&server, begin(), CLEO);
  fake_let_in(&server, peer, ROOM, "arena", "bc");
  fake_event(&server, PERIGEE_LOST);
  fake_event(&server, PERIGEE_JOINED);
  Packet asked = fake_expect(&server, peer, CHANNEL, ENTER);
  refuse(peer, &asked, PERIGEE_UNSUPPORTED);
  expect_ended(PERIGEE_UNSUPPORTED, "no");
}

static void what_the_server_ends_is_over(void **state) {
  (void)state;
  FakePeer *peer = begin();
  expect_inputs(peer, 1, "", "", NULL);
  give("of the old one");
  fake_packet(peer, of(END), "dd", (uint64_t)ROOM, (uint64_t)MATCH);
  expect_ended(PERIGEE_CONNECTION_CLOSED, "");
  assert_int_equal(0, perigee_lockstep_enter(server.client, room, 0, NULL));
  fake_expect(&server, peer, CHANNEL, ENTER);
  start(peer);
  fake_event(&server, PERIGEE_MATCH);
  expect_inputs(peer, 1, "", "", NULL);
}

#define TEST(name) \
  cmocka_unit_test_prestate_setup_teardown(name, NULL, fake_tear_down, &server)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(late_inputs_go_into_other_turns),
      TEST(late_inputs_keep_their_order),
      TEST(late_inputs_are_gone_where_the_one_before_stood_for_them),
      TEST(who_is_refused_is_told_why),
      TEST(errors_of_something_else_do_not_end_it),
      TEST(who_asks_too_soon_asks_again),
      TEST(what_is_not_answered_is_given_up),
      TEST(who_is_out_of_it_is_not_refused),
      TEST(who_is_refused_in_a_new_session_is_told),
      TEST(what_the_server_ends_is_over),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
