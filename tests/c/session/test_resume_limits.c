// Limits of suspended sessions, and rules for clients that come back.
#include "resuming.h"

static void a_suspended_peer_keeps_its_place(void **state) {
  World *world = *state;
  world->limits.max_clients = 2;
  limit(world);
  Ticket ticket, other;
  fake_end(world->net, enter(world, &ticket), CODE_RESET);
  enter(world, &other);
  ConnId conn = open_tcp(world);
  say_hello(world->net, conn, "cat");
  expect_code(world->net, conn, CONTROL_REJECTED, CODE_SERVER_FULL);
  come_back(world, &ticket, 0);
}

static void an_address_may_come_back_to_its_place(void **state) {
  World *world = *state;
  world->limits.max_clients_per_address = 1;
  limit(world);
  Ticket ticket;
  ConnId old = enter(world, &ticket);
  ConnId conn = open_tcp(world);
  say_hello(world->net, conn, "two");
  expect_code(world->net, conn, CONTROL_REJECTED, CODE_SERVER_FULL);
  conn = come_back(world, &ticket, 0);  // while the old connection still exists
  skip_all(world->net, old);
  fake_end(world->net, conn, CODE_RESET);
  conn = open_tcp(world);
  say_hello(world->net, conn, "two");  // a suspended session counts as a client
  expect_code(world->net, conn, CONTROL_REJECTED, CODE_SERVER_FULL);
  conn = come_back(world, &ticket, 0);
  Buf nothing = empty();
  say(world->net, conn, control(CONTROL_BYE), &nothing);
  enter(world, &ticket);
}

static void it_may_come_from_another_address(void **state) {
  World *world = *state;
  Ticket ticket;
  fake_end(world->net, enter(world, &ticket), CODE_RESET);
  ConnId conn = fake_open(world->net, FRAMING_PACKETS, "198.51.100.7");
  say_resume(world->net, conn, &ticket, 0);
  assert_true(read_welcome(world->net, conn).is_resumed);
  assert_string_equal(peer_address(peer_of(world)), "198.51.100.7");
  assert_string_equal(peer_of(world)->name, "ann");
  assert_int_equal(session_count_address(world->session, "192.0.2.1", 0), 0);
  assert_int_equal(session_count_address(world->session, "198.51.100.7", 0), 1);
}

// After a resume, the rate limit ignores as many packets as the window has, because the
// client may send them again.
static void what_is_sent_again_does_not_count_for_the_rate_limit(void **state) {
  World *world = *state;
  world->limits.rate_limit = 5;
  world->limits.rate_limit_kicks = true;
  limit(world);
  Ticket ticket;
  fake_end(world->net, enter(world, &ticket), CODE_RESET);
  fake_advance(world->net, 10000);
  ConnId conn = come_back(world, &ticket, 0);
  for (int i = 0; i < RELIABLE_WINDOW + 10; i++) say_reliable(world, conn);
  assert_int_equal(world->disconnects, 0);
  skip_all(world->net, conn);
  say_reliable(world, conn);
  expect_code(world->net, conn, CONTROL_CLOSING, CODE_RATE_LIMITED);
}

static void who_is_throttled_is_so_on_its_next_connection(void **state) {
  World *world = *state;
  Ticket ticket;
  ConnId conn = enter(world, &ticket);
  session_throttle(world->session, peer_of(world), THROTTLE_QUEUE);
  session_throttle(world->session, peer_of(world), THROTTLE_RATE);
  fake_end(world->net, conn, CODE_RESET);
  conn = come_back(world, &ticket, 0);
  assert_true(fake_is_throttled(world->net, conn));
  session_release(world->session, peer_of(world), THROTTLE_QUEUE);
  assert_false(fake_is_throttled(world->net, conn));
}

static void a_storm_of_resumes(void **state) {
  World *world = *state;
  Ticket ticket;
  ConnId conn = enter(world, &ticket);
  for (int i = 0; i < 500; i++) {
    send_reliable(world, ticket.peer, "x");
    conn = come_back(world, &ticket, (uint32_t)i);
    expect_packet(world->net, conn, 5, 0);
    expect_nothing(world->net, conn);
  }
  assert_int_equal(session_count(world->session), 1);
  assert_int_equal(stats(world).ended[CODE_REPLACED], 500);
  assert_int_equal(session_count_address(world->session, "192.0.2.1", 0), 1);
}

static void ten_thousand_wait(void **state) {
  World *world = *state;
  enum { COUNT = 10000 };
  world->limits.max_clients = COUNT;
  limit(world);
  Ticket *tickets = mem_alloc(COUNT * sizeof *tickets);
  for (int i = 0; i < COUNT; i++) {
    fake_end(world->net, enter(world, &tickets[i]), CODE_RESET);
    send_reliable(world, tickets[i].peer, "waiting");
  }
  assert_int_equal(stats(world).suspended_now, COUNT);
  for (int i = 0; i < COUNT; i += 10)
    expect_packet(world->net, come_back(world, &tickets[i], 0), 5, 0);
  fake_advance(world->net, 30000);
  assert_int_equal(world->disconnects, COUNT - COUNT / 10);
  // No PINGs were answered since.
  assert_int_equal(stats(world).suspended_now, COUNT / 10);
  mem_free(tickets);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      RESUME(a_suspended_peer_keeps_its_place),
      RESUME(an_address_may_come_back_to_its_place),
      RESUME(it_may_come_from_another_address),
      RESUME(what_is_sent_again_does_not_count_for_the_rate_limit),
      RESUME(who_is_throttled_is_so_on_its_next_connection),
      RESUME(a_storm_of_resumes),
      RESUME(ten_thousand_wait),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
