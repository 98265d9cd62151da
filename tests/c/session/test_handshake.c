// How a connection becomes a peer, and the refusals of others.
#include "world.h"

static void hello_is_answered_with_welcome(void **state) {
  World *world = *state;
  ConnId conn = open_tcp(world);
  say_hello(world->net, conn, "ann");
  const Sent *sent = expect_control(world->net, conn, CONTROL_WELCOME);
  expect_no_answer(sent);
  assert_int_equal(sent->priority, PRIORITY_CRITICAL);
  assert_int_equal(sent->flags, OUT_KEEP);
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  const Peer *peer = peer_of(world);
  assert_int_equal(reader_u16(&reader), 1);
  assert_int_equal(reader_u32(&reader), peer->id);
  const uint8_t *session = reader_bytes(&reader, UUID_SIZE);
  assert_memory_equal(session, peer->session, UUID_SIZE);
  assert_int_equal(session[6] >> 4, 4);
  assert_int_equal(session[8] >> 6, 2);
  static const uint8_t zeros[32];
  assert_memory_equal(reader_bytes(&reader, UUID_SIZE), zeros, UUID_SIZE);
  assert_int_equal(reader_u64(&reader), net_unix_us(world->net));
  assert_int_equal(reader_u32(&reader), 65536);
  assert_int_equal(reader_u32(&reader), 13000);
  assert_int_equal(reader_u16(&reader), 20);
  assert_int_equal(reader_u8(&reader), 0);
  assert_int_equal(reader_u32(&reader), 0);
  assert_int_equal(reader_u16(&reader), 0);
  assert_memory_equal(reader_bytes(&reader, 32), zeros, 32);
  assert_true(reader_is_done(&reader));
  assert_int_equal(session_count(world->session), 1);
}

static void two_peers_have_different_sessions(void **state) {
  World *world = *state;
  join_tcp(world, "ann");
  uint32_t ann = world->peer;
  join_tcp(world, "bob");
  const Peer *a = session_find(world->session, ann), *b = peer_of(world);
  assert_int_not_equal(a->id, b->id);
  assert_memory_not_equal(a->session, b->session, UUID_SIZE);
}

static void welcome_answers_a_hello_that_asks(void **state) {
  World *world = *state;
  ConnId conn = open_tcp(world);
  Buf hello = hello_of("ann", "");
  say(world->net, conn, asking(control(CONTROL_HELLO), 7), &hello);
  expect_answer(expect_control(world->net, conn, CONTROL_WELCOME), 7);
}

static void hello_gives_name_token_and_address(void **state) {
  World *world = *state;
  ConnId conn = open_tcp(world);
  Buf hello = hello_of("ann", "secret");
  say(world->net, conn, control(CONTROL_HELLO), &hello);
  const Peer *peer = peer_of(world);
  assert_string_equal(peer->name, "ann");
  assert_int_equal(peer->name_size, 3);
  assert_true(text_equals(peer_token(peer), text_from("secret")));
  assert_string_equal(peer_address(peer), "192.0.2.1");
}

static void payloads_are_small_until_the_peer_is_known(void **state) {
  World *world = *state;
  ConnId conn = open_tcp(world);
  assert_int_equal(fake_max_payload(world->net, conn), SESSION_HELLO_MAX);
  say_hello(world->net, conn, "ann");
  assert_int_equal(fake_max_payload(world->net, conn), 65536);
}

static void a_small_max_payload_holds_for_hello_too(void **state) {
  World *world = *state;
  world->limits.max_payload = 100;
  limit(world);
  ConnId conn = open_tcp(world);
  assert_int_equal(fake_max_payload(world->net, conn), 100);
}

static void expect_closing(World *world, ConnId conn, Code code) {
  expect_code(world->net, conn, CONTROL_CLOSING, code);
  assert_true(fake_is_closed(world->net, conn));
  assert_int_equal(session_count(world->session), 0);
  assert_int_equal(world->disconnects, 0);
}

static void any_other_first_packet_closes(void **state) {
  World *world = *state;
  ConnId conn = open_tcp(world);
  Buf name = with_str8("lobby");
  say(world->net, conn, control(CONTROL_JOIN), &name);
  expect_closing(world, conn, CODE_PROTOCOL);
  conn = open_tcp(world);
  Buf hello = hello_of("ann", "");
  say(world->net, conn, (Packet){.channel = 3, .type = CONTROL_HELLO}, &hello);
  expect_closing(world, conn, CODE_PROTOCOL);
}

static void a_malformed_hello_closes(void **state) {
  World *world = *state;
  for (int change = -1; change <= 1; change += 2) {
    ConnId conn = open_tcp(world);
    Buf hello = hello_of("ann", "");
    buf_u8(&hello, 0);
    hello.size += (size_t)(change - 1);
    if (change > 0) buf_u8(&hello, 0);
    say(world->net, conn, control(CONTROL_HELLO), &hello);
    expect_closing(world, conn, CODE_PROTOCOL);
  }
  assert_int_equal(world->connects, 0);
}

static void expect_rejected(World *world, Buf *hello, Code code) {
  ConnId conn = open_tcp(world);
  say(world->net, conn, asking(control(CONTROL_HELLO), 9), hello);
  expect_answer(expect_code(world->net, conn, CONTROL_REJECTED, code), 9);
  expect_nothing(world->net, conn);
  assert_true(fake_is_closed(world->net, conn));
}

static void an_unknown_version_is_rejected(void **state) {
  Buf hello = hello_of("ann", "");
  hello.data[0] = 2;
  expect_rejected(*state, &hello, CODE_VERSION_MISMATCH);
}

static void a_protocol_hash_is_rejected(void **state) {
  Buf hello = hello_of("ann", "");
  hello.data[2] = 1;
  expect_rejected(*state, &hello, CODE_HASH_MISMATCH);
}

static void the_version_is_judged_before_the_hash(void **state) {
  Buf hello = hello_of("ann", "");
  hello.data[0] = hello.data[2] = 2;
  expect_rejected(*state, &hello, CODE_VERSION_MISMATCH);
}

static void a_bad_name_is_rejected(void **state) {
  char too_long[NAME_MAX_BYTES + 2];
  memset(too_long, 'a', sizeof too_long - 1);
  too_long[sizeof too_long - 1] = '\0';
  const char *names[] = {"", "a\nb", "\x1b[2J", "\xff", too_long};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    Buf hello = hello_of(names[i], "");
    expect_rejected(*state, &hello, CODE_PROTOCOL);
  }
}

static void a_name_of_64_bytes_is_good(void **state) {
  World *world = *state;
  char name[NAME_MAX_BYTES + 1];
  memset(name, 'a', NAME_MAX_BYTES);
  name[NAME_MAX_BYTES] = '\0';
  join_tcp(world, name);
  assert_string_equal(peer_of(world)->name, name);
}

static void a_second_hello_closes(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  say_hello(world->net, conn, "ann");
  expect_code(world->net, conn, CONTROL_CLOSING, CODE_PROTOCOL);
  assert_int_equal(world->disconnects, 1);
  assert_int_equal(world->reason, CODE_PROTOCOL);
}

static void the_layer_above_may_reject(void **state) {
  World *world = *state;
  world->answer = REJECT_AT_ONCE;
  ConnId conn = open_tcp(world);
  Buf hello = hello_of("ann", "");
  say(world->net, conn, asking(control(CONTROL_HELLO), 3), &hello);
  expect_answer(expect_code(world->net, conn, CONTROL_REJECTED, CODE_REJECTED), 3);
  assert_true(fake_is_closed(world->net, conn));
  assert_int_equal(world->disconnects, 0);
  assert_null(peer_of(world));
}

static void the_connection_is_held_until_the_answer(void **state) {
  World *world = *state;
  world->answer = ANSWER_LATER;
  ConnId conn = open_tcp(world);
  say_hello(world->net, conn, "ann");
  Buf name = with_str8("lobby");
  say(world->net, conn, control(CONTROL_JOIN), &name);
  assert_true(fake_is_throttled(world->net, conn));
  expect_nothing(world->net, conn);
  assert_int_equal(world->packets, 0);
  fake_advance(world->net, 20000);
  assert_int_equal(session_count(world->session), 0);
  assert_true(session_accept(world->session, world->peer, (Text){0}));
  expect_control(world->net, conn, CONTROL_WELCOME);
  fake_advance(world->net, 1);
  assert_int_equal(world->packets, 1);
  assert_int_equal(world->packet.type, CONTROL_JOIN);
}

static void an_answer_after_the_end_is_ignored(void **state) {
  World *world = *state;
  world->answer = ANSWER_LATER;
  ConnId conn = open_tcp(world);
  say_hello(world->net, conn, "ann");
  uint32_t peer = world->peer;
  fake_end(world->net, conn, CODE_RESET);
  assert_false(session_accept(world->session, peer, (Text){0}));
  session_reject(world->session, peer, CODE_REJECTED, "late");
  assert_int_equal(world->disconnects, 0);
  assert_int_equal(session_count(world->session), 0);
}

static void a_second_answer_is_ignored(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  assert_false(session_accept(world->session, world->peer, (Text){0}));
  session_reject(world->session, world->peer, CODE_REJECTED, "no");
  expect_nothing(world->net, conn);
  assert_int_equal(session_count(world->session), 1);
}

static void a_text_peer_is_connected_at_once(void **state) {
  World *world = *state;
  ConnId conn = open_text(world);
  const Peer *peer = peer_of(world);
  char expected[200];
  snprintf(expected, sizeof expected, "* connected as guest-%u; " TEXT_COMMANDS,
           peer->id);
  expect_line(world->net, conn, expected);
  expect_nothing(world->net, conn);
  assert_int_equal(peer->state, PEER_CONNECTED);
  fake_line(world->net, conn, "hi");
  assert_int_equal(world->lines, 1);
  assert_string_equal(world->line, "hi");
}

static void a_text_peer_may_be_rejected(void **state) {
  World *world = *state;
  world->answer = REJECT_AT_ONCE;
  ConnId conn = open_text(world);
  expect_line(world->net, conn, "! Rejected: banned");
  assert_true(fake_is_closed(world->net, conn));
  assert_int_equal(world->disconnects, 0);
}

static void who_is_to_come_later_is_told_when(void **state) {
  World *world = *state;
  world->answer = ANSWER_LATER;
  ConnId conn = open_tcp(world);
  say_hello(world->net, conn, "ann");
  session_postpone(world->session, world->peer, "not yet", 300);
  expect_retry(world->net, conn, CONTROL_REJECTED, 300);
  assert_true(fake_is_closed(world->net, conn));
  conn = open_text(world);
  session_postpone(world->session, world->peer, "not yet", 300);
  expect_line(world->net, conn, "! Unavailable: not yet; try again in 300 s");
  assert_true(fake_is_closed(world->net, conn));
  assert_int_equal(session_stats(world->session).ended[CODE_UNAVAILABLE], 2);
}

static void the_reason_cannot_forge_a_line(void **state) {
  World *world = *state;
  world->answer = ANSWER_LATER;
  ConnId conn = open_text(world);
  session_reject(world->session, world->peer, CODE_REJECTED, "a\n* b\x1b[2J");
  expect_line(world->net, conn, "! Rejected: a?* b?[2J");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(hello_is_answered_with_welcome),
      TEST(two_peers_have_different_sessions),
      TEST(welcome_answers_a_hello_that_asks),
      TEST(hello_gives_name_token_and_address),
      TEST(payloads_are_small_until_the_peer_is_known),
      TEST(a_small_max_payload_holds_for_hello_too),
      TEST(any_other_first_packet_closes),
      TEST(a_malformed_hello_closes),
      TEST(an_unknown_version_is_rejected),
      TEST(a_protocol_hash_is_rejected),
      TEST(the_version_is_judged_before_the_hash),
      TEST(a_bad_name_is_rejected),
      TEST(a_name_of_64_bytes_is_good),
      TEST(a_second_hello_closes),
      TEST(the_layer_above_may_reject),
      TEST(the_connection_is_held_until_the_answer),
      TEST(an_answer_after_the_end_is_ignored),
      TEST(a_second_answer_is_ignored),
      TEST(a_text_peer_is_connected_at_once),
      TEST(a_text_peer_may_be_rejected),
      TEST(who_is_to_come_later_is_told_when),
      TEST(the_reason_cannot_forge_a_line),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
