// The life of a connected peer: what reaches the layer above, what is sent, and every
// way it ends.
#include "world.h"

static void bye_ends_without_a_word(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  Buf nothing = empty();
  say(world->net, conn, control(CONTROL_BYE), &nothing);
  expect_nothing(world->net, conn);
  assert_true(fake_is_closed(world->net, conn));
  assert_int_equal(world->disconnects, 1);
  assert_int_equal(world->reason, CODE_CLOSED);
}

static void the_end_of_the_connection_is_told_with_its_code(void **state) {
  World *world = *state;
  fake_end(world->net, join_tcp(world, "ann"), CODE_CLOSED);
  assert_int_equal(world->reason, CODE_CLOSED);
  fake_end(world->net, join_tcp(world, "ann"), CODE_RESET);
  assert_int_equal(world->reason, CODE_RESET);
  assert_int_equal(world->disconnects, 2);
}

static void an_end_before_hello_is_not_told(void **state) {
  World *world = *state;
  fake_end(world->net, open_tcp(world), CODE_CLOSED);
  assert_int_equal(world->connects + world->disconnects, 0);
  uint32_t cursor = 0;
  assert_null(session_next(world->session, &cursor));
}

static void a_fault_closes_with_its_code(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  fake_fault(world->net, conn, CODE_PAYLOAD_TOO_LARGE, "too large");
  expect_code(world->net, conn, CONTROL_CLOSING, CODE_PAYLOAD_TOO_LARGE);
  assert_int_equal(world->reason, CODE_PAYLOAD_TOO_LARGE);
  conn = open_tcp(world);
  fake_fault(world->net, conn, CODE_PROTOCOL, "bad header");
  expect_code(world->net, conn, CONTROL_CLOSING, CODE_PROTOCOL);
  assert_int_equal(world->disconnects, 1);
}

static void malformed_packets_of_the_session_close(void **state) {
  World *world = *state;
  const ControlType types[] = {CONTROL_PING, CONTROL_PONG, CONTROL_ACK, CONTROL_BYE};
  for (uint32_t i = 0; i < 4; i++) {
    ConnId conn = join_tcp(world, "ann");
    Buf payload = empty();
    for (int n = 0; n < 9; n++) buf_u8(&payload, 1);
    say(world->net, conn, control(types[i]), &payload);
    expect_code(world->net, conn, CONTROL_CLOSING, CODE_PROTOCOL);
    assert_int_equal(world->disconnects, i + 1);
  }
}

static void an_ack_is_taken_quietly(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  Buf count = with_u32(3);
  say(world->net, conn, control(CONTROL_ACK), &count);
  expect_nothing(world->net, conn);
  assert_int_equal(world->packets + world->disconnects, 0);
}

static void other_packets_reach_the_layer_above(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  Buf name = with_str8("lobby");
  say(world->net, conn, asking(control(CONTROL_JOIN), 4), &name);
  assert_int_equal(world->packet.type, CONTROL_JOIN);
  assert_int_equal(world->packet.ref, 4);
  Buf data = empty();
  say(world->net, conn, (Packet){.channel = 3000, .type = CONTROL_PING}, &data);
  assert_int_equal(world->packet.channel, 3000);
  Buf unknown = empty();
  say(world->net, conn, control((ControlType)99), &unknown);
  assert_int_equal(world->packets, 3);
}

static void counters_count(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  Peer *peer = peer_of(world);
  assert_int_equal(peer->packets_in, 1);
  NetSent before = session_sent(world->session, peer);
  assert_int_equal(before.packets, 1);
  uint64_t in = peer->bytes_in;
  Buf value = with_u64(1);
  say(world->net, conn, control(CONTROL_PING), &value);
  assert_int_equal(peer->packets_in, 2);
  assert_int_equal(peer->bytes_in - in, PACKET_HEADER_SIZE + 8);
  NetSent after = session_sent(world->session, peer);
  assert_int_equal(after.packets, 2);
  assert_int_equal(after.bytes - before.bytes, PACKET_HEADER_SIZE + 8);
  assert_int_equal(session_stats(world->session).received[TRANSPORT_TCP].packets, 2);
  assert_int_equal(session_stats(world->session).received[TRANSPORT_TCP].bytes,
                   peer->bytes_in);
  fake_drops(world->net, conn, 7, 3, 10);
  assert_int_equal(peer->dropped, 3);
  assert_int_equal(world->drops, 3);
  assert_int_equal(world->dropped_tag, 7);
  assert_int_equal(session_stats(world->session).accepted, 1);
}

static void a_packet_is_sent_with_its_ids(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  Packet packet = {.channel = 3000,
                   .type = 12,
                   .priority = PRIORITY_LOW,
                   .flags = PACKET_RELIABLE,
                   .length = 2,
                   .payload = (const uint8_t *)"xy"};
  Outgoing outgoing = {
      .packet = packet, .ids = {7, 8}, .id_count = 2, .flags = OUT_KEEP, .key = 99};
  session_send(world->session, peer_of(world), &outgoing);
  const Sent *sent = expect_packet(world->net, conn, 3000, 12);
  assert_int_equal(sent->packet.length, 10);
  assert_memory_equal(sent->packet.payload, "\7\0\0\0\10\0\0\0xy", 10);
  assert_int_equal(sent->packet.flags, PACKET_RELIABLE);
  assert_int_equal(sent->packet.priority, PRIORITY_LOW);
  // RELIABLE packets have their place among normal ones.
  assert_int_equal(sent->priority, PRIORITY_NORMAL);
  assert_int_equal(sent->flags, OUT_KEEP);
  assert_int_equal(sent->key, 0);
}

static void a_text_peer_gets_lines_instead_of_packets(void **state) {
  World *world = *state;
  ConnId text = open_text(world);
  skip_all(world->net, text);
  Outgoing packet = {.packet = {.channel = 3000}};
  session_send(world->session, peer_of(world), &packet);
  expect_nothing(world->net, text);
  Outgoing message = {.packet = {.channel = CHANNEL_MESSAGE, .priority = PRIORITY_LOW},
                      .flags = OUT_KEEP,
                      .key = 5,
                      .name = {"hi", 2},
                      .detail = {"[1]", 3}};
  session_send(world->session, peer_of(world), &message);
  const Sent *sent = expect_line(world->net, text, "hi [1]");
  assert_int_equal(sent->priority, PRIORITY_LOW);
  assert_int_equal(sent->key, 5);
}

static void an_error_answers_only_what_asked(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  Packet plain = control(CONTROL_JOIN), request = asking(plain, 8);
  session_error(world->session, peer_of(world), &request, CODE_NO_SUCH_ROOM, "no");
  expect_answer(expect_code(world->net, conn, CONTROL_ERROR, CODE_NO_SUCH_ROOM), 8);
  session_error(world->session, peer_of(world), &plain, CODE_NO_SUCH_ROOM, "no");
  expect_no_answer(expect_code(world->net, conn, CONTROL_ERROR, CODE_NO_SUCH_ROOM));
  session_error(world->session, peer_of(world), NULL, CODE_INTERNAL, "no");
  expect_no_answer(expect_code(world->net, conn, CONTROL_ERROR, CODE_INTERNAL));
}

static void an_error_of_a_text_peer_is_a_line(void **state) {
  World *world = *state;
  ConnId conn = open_text(world);
  skip_all(world->net, conn);
  session_error(world->session, peer_of(world), NULL, CODE_NO_SUCH_ROOM, "no\tsuch");
  expect_line(world->net, conn, "! NoSuchRoom: no?such");
}

static void a_kick_tells_the_peer_and_the_layer_above(void **state) {
  World *world = *state;
  ConnId conn = join_tcp(world, "ann");
  session_kick(world->session, peer_of(world), CODE_KICKED, "for a reason");
  expect_code(world->net, conn, CONTROL_CLOSING, CODE_KICKED);
  assert_int_equal(world->reason, CODE_KICKED);
  conn = open_text(world);
  skip_all(world->net, conn);
  session_kick(world->session, peer_of(world), CODE_KICKED, "for a reason");
  expect_line(world->net, conn, "! Kicked: for a reason");
  assert_true(fake_is_closed(world->net, conn));
}

static void shutdown_closes_everybody_and_the_door(void **state) {
  World *world = *state;
  ConnId ann = join_tcp(world, "ann"), quiet = open_tcp(world), text = open_text(world);
  skip_all(world->net, text);
  session_shutdown(world->session);
  expect_retry(world->net, ann, CONTROL_CLOSING, 1);
  expect_retry(world->net, quiet, CONTROL_CLOSING, 1);
  expect_line(world->net, text,
              "! Unavailable: the server is shutting down; try again in 1 s");
  assert_int_equal(world->disconnects, 2);
  assert_int_equal(session_count(world->session), 0);
  ConnId late = open_tcp(world);
  assert_true(fake_is_closed(world->net, late));
  expect_nothing(world->net, late);
}

static void what_is_left_is_freed_with_the_session(void **state) {
  World *world = *state;
  open_tcp(world);
  join_tcp(world, "ann");
  world->answer = ANSWER_LATER;
  ConnId conn = open_tcp(world);
  Buf hello = hello_of("bob", "token");
  say(world->net, conn, control(CONTROL_HELLO), &hello);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(bye_ends_without_a_word),
      TEST(the_end_of_the_connection_is_told_with_its_code),
      TEST(an_end_before_hello_is_not_told),
      TEST(a_fault_closes_with_its_code),
      TEST(malformed_packets_of_the_session_close),
      TEST(an_ack_is_taken_quietly),
      TEST(other_packets_reach_the_layer_above),
      TEST(counters_count),
      TEST(a_packet_is_sent_with_its_ids),
      TEST(a_text_peer_gets_lines_instead_of_packets),
      TEST(an_error_answers_only_what_asked),
      TEST(an_error_of_a_text_peer_is_a_line),
      TEST(a_kick_tells_the_peer_and_the_layer_above),
      TEST(shutdown_closes_everybody_and_the_door),
      TEST(what_is_left_is_freed_with_the_session),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
