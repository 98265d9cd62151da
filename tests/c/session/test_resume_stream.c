// The RELIABLE packets of a session across its connections: counts, packets that are
// sent again, and limits.
#include "resuming.h"

static void what_was_not_received_is_sent_again(void **state) {
  World *world = *state;
  Ticket ticket;
  ConnId conn = enter(world, &ticket);
  const char *texts[] = {"one", "two", "three", "four", "five"};
  for (int i = 0; i < 3; i++) send_reliable(world, ticket.peer, texts[i]);
  for (int i = 0; i < 3; i++) expect_reliable(world, conn, texts[i]);
  say_ack(world->net, conn, 1);
  fake_end(world->net, conn, CODE_RESET);
  for (int i = 3; i < 5; i++) send_reliable(world, ticket.peer, texts[i]);
  conn = come_back(world, &ticket, 2);
  assert_int_equal(world->resumption.resent, 3);
  for (int i = 2; i < 5; i++) {
    const Sent *sent = expect_packet(world->net, conn, 5, 0);
    expect_data(sent, NULL, 0, texts[i]);
    assert_int_equal(sent->priority, PRIORITY_NORMAL);
  }
  send_reliable(world, ticket.peer, "six");
  expect_reliable(world, conn, "six");
  say_ack(world->net, conn, 6);
  assert_int_equal(stats(world).kept_bytes, 0);
  expect_nothing(world->net, conn);
}

static void unreliable_packets_do_not_wait(void **state) {
  World *world = *state;
  Ticket ticket;
  fake_end(world->net, enter(world, &ticket), CODE_RESET);
  Outgoing packet = {.packet = {.channel = 5}, .flags = OUT_KEEP};
  session_send(world->session, peer_of(world), &packet);
  session_error(world->session, peer_of(world), NULL, CODE_INTERNAL, "no");
  expect_nothing(world->net, come_back(world, &ticket, 0));
}

// Expects the ERROR that answers the request of that ref. It is RELIABLE and has its
// place in the stream.
static void expect_kept_error(World *world, ConnId conn, uint16_t ref) {
  const Sent *sent = expect_control(world->net, conn, CONTROL_ERROR);
  assert_int_equal(sent->packet.flags, PACKET_RELIABLE | PACKET_RESPONSE);
  assert_int_equal(sent->packet.ref, ref);
  assert_int_equal(sent->priority, PRIORITY_NORMAL);
}

static void an_error_waits_where_its_request_was_reliable(void **state) {
  World *world = *state;
  Ticket ticket;
  ConnId conn = enter(world, &ticket);
  Packet request = asking((Packet){.flags = PACKET_RELIABLE}, 7);
  session_error(world->session, peer_of(world), &request, CODE_ROOM_FULL, "full");
  expect_kept_error(world, conn, 7);
  fake_end(world->net, conn, CODE_RESET);
  request.ref = 8;  // refused while the session is suspended
  session_error(world->session, peer_of(world), &request, CODE_INTERNAL, "no");
  request.flags = PACKET_REQUEST;
  session_error(world->session, peer_of(world), &request, CODE_INTERNAL, "no");
  request.flags = PACKET_RELIABLE;  // no sender waits for the answer
  session_error(world->session, peer_of(world), &request, CODE_INTERNAL, "no");
  conn = come_back(world, &ticket, 0);
  expect_kept_error(world, conn, 7);
  expect_kept_error(world, conn, 8);
  expect_nothing(world->net, conn);
  say_ack(world->net, conn, 2);
  assert_int_equal(stats(world).kept_bytes, 0);
  session_error(world->session, peer_of(world), &request, CODE_INTERNAL, "no");
  expect_code(world->net, conn, CONTROL_ERROR, CODE_INTERNAL);
}

static void counts_of_the_peer_go_on(void **state) {
  World *world = *state;
  Ticket ticket;
  ConnId conn = enter(world, &ticket);
  say_reliable(world, conn);
  say_reliable(world, conn);
  fake_advance(world->net, RELIABLE_ACK_MS - 1);
  expect_nothing(world->net, conn);
  fake_advance(world->net, 1);
  expect_ack(world->net, conn, 2);
  fake_advance(world->net, 5000);
  expect_nothing(world->net, conn);  // the count has not grown
  say_reliable(world, conn);
  fake_end(world->net, conn, CODE_RESET);
  conn = come_back(world, &ticket, 0);
  assert_int_equal(ticket.received, 3);
  assert_int_equal(world->packets, 3);
  say_reliable(world, conn);
  fake_advance(world->net, RELIABLE_ACK_MS);
  expect_ack(world->net, conn, 4);
}

static void many_are_acknowledged_at_once(void **state) {
  World *world = *state;
  Ticket ticket;
  ConnId conn = enter(world, &ticket);
  for (int i = 0; i < 4 * RELIABLE_ACK_PACKETS; i++) say_reliable(world, conn);
  fake_advance(world->net, 1);
  expect_ack(world->net, conn, 4 * RELIABLE_ACK_PACKETS);  // one ACK for all of them
  expect_nothing(world->net, conn);
}

static void absurd_counts_are_refused(void **state) {
  World *world = *state;
  Ticket ticket;
  ConnId conn = enter(world, &ticket);
  for (int i = 0; i < 5; i++) send_reliable(world, ticket.peer, "x");
  say_ack(world->net, conn, 3);
  fake_end(world->net, conn, CODE_RESET);
  const uint32_t wrong[] = {0, 2, 6, UINT32_MAX, 0x80000000};
  for (int i = 0; i < 5; i++) {
    ConnId eve = open_tcp(world);
    say_resume(world->net, eve, &ticket, wrong[i]);
    expect_code(world->net, eve, CONTROL_REJECTED, CODE_PROTOCOL);
    assert_true(fake_is_closed(world->net, eve));
  }
  conn = come_back(world, &ticket, 4);  // the session is unchanged
  skip_all(world->net, conn);
  say_ack(world->net, conn, 6);
  expect_code(world->net, conn, CONTROL_CLOSING, CODE_PROTOCOL);
  expect_stranger(world, &ticket);
}

static void a_full_window_ends_in_slow_consumer(void **state) {
  World *world = *state;
  for (int suspended = 0; suspended < 2; suspended++) {
    Ticket ticket;
    ConnId conn = enter(world, &ticket);
    if (suspended) fake_end(world->net, conn, CODE_RESET);
    for (int i = 0; i < RELIABLE_WINDOW; i++) send_reliable(world, ticket.peer, "x");
    fake_advance(world->net, 1);
    assert_int_equal(world->disconnects, suspended);
    send_reliable(world, ticket.peer, "x");
    send_reliable(world, ticket.peer, "x");
    // No disconnect happens within the call that sends.
    assert_int_equal(world->disconnects, suspended);
    fake_advance(world->net, 1);
    assert_int_equal(world->disconnects, 1 + suspended);
    assert_int_equal(world->reason, CODE_SLOW_CONSUMER);
    assert_int_equal(stats(world).kept_bytes, 0);
    expect_stranger(world, &ticket);
    world->disconnects = suspended + 1;
  }
}

static void who_is_about_to_end_is_not_resumed(void **state) {
  World *world = *state;
  Ticket ticket;
  fake_end(world->net, enter(world, &ticket), CODE_RESET);
  for (int i = 0; i <= RELIABLE_WINDOW; i++) send_reliable(world, ticket.peer, "x");
  expect_stranger(world, &ticket);
  // The other disconnect is that of the stranger, by its BYE.
  assert_int_equal(world->disconnects, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      RESUME(what_was_not_received_is_sent_again),
      RESUME(unreliable_packets_do_not_wait),
      RESUME(an_error_waits_where_its_request_was_reliable),
      RESUME(counts_of_the_peer_go_on),
      RESUME(many_are_acknowledged_at_once),
      RESUME(absurd_counts_are_refused),
      RESUME(a_full_window_ends_in_slow_consumer),
      RESUME(who_is_about_to_end_is_not_resumed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
