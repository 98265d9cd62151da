// Sessions that survive their connection: which ends keep them, how long they wait, and
// the tokens that resume them. test_resume_stream.c tests packets that are sent again.
#include "resuming.h"

// --- Which ends keep a session ---

static void a_lost_line_suspends_and_a_token_resumes(void **state) {
  World *world = *state;
  Ticket ticket;
  ConnId conn = enter(world, &ticket);
  assert_false(ticket.is_resumed);
  fake_end(world->net, conn, CODE_RESET);
  assert_int_equal(world->suspends, 1);
  assert_int_equal(world->reason, CODE_RESET);
  assert_int_equal(session_count(world->session), 0);
  assert_int_equal(stats(world).suspended_now, 1);
  fake_advance(world->net, 12000);
  conn = come_back(world, &ticket, 0);
  expect_nothing(world->net, conn);
  assert_int_equal(world->resumes, 1);
  assert_int_equal(world->resumption.suspended_ms, 12000);
  assert_int_equal(world->connects, 1);
  assert_int_equal(world->disconnects, 0);
  assert_int_equal(session_count(world->session), 1);
  assert_int_equal(stats(world).resumed, 1);
}

static void silence_suspends(void **state) {
  World *world = *state;
  Ticket ticket;
  ConnId conn = enter(world, &ticket);
  fake_advance(world->net, 26200);  // two PINGs
  expect_control(world->net, conn, CONTROL_PING);
  expect_code(world->net, conn, CONTROL_CLOSING, CODE_PING_TIMEOUT);
  assert_int_equal(world->reason, CODE_PING_TIMEOUT);
  assert_int_equal(world->suspends, 1);
  world->limits.ping_interval_ms = 0;
  limit(world);
  conn = come_back(world, &ticket, 0);
  fake_advance(world->net, 31000);
  expect_code(world->net, conn, CONTROL_CLOSING, CODE_IDLE_TIMEOUT);
  assert_int_equal(world->suspends, 2);
  come_back(world, &ticket, 0);
}

static void other_ends_are_the_end(void **state) {
  World *world = *state;
  Ticket ticket;
  Buf nothing = empty();
  say(world->net, enter(world, &ticket), control(CONTROL_BYE), &nothing);
  expect_stranger(world, &ticket);
  fake_fault(world->net, enter(world, &ticket), CODE_SLOW_CONSUMER, "slow");
  expect_stranger(world, &ticket);
  fake_fault(world->net, enter(world, &ticket), CODE_PROTOCOL, "bad");
  expect_stranger(world, &ticket);
  enter(world, &ticket);
  session_kick(world->session, peer_of(world), CODE_KICKED, "out");
  expect_stranger(world, &ticket);
  assert_int_equal(world->suspends, 0);
}

static void nobody_comes_in_time(void **state) {
  World *world = *state;
  Ticket ticket;
  fake_end(world->net, enter(world, &ticket), CODE_CLOSED);
  fake_advance(world->net, 29999);
  assert_int_equal(world->disconnects, 0);
  fake_advance(world->net, 1);
  assert_int_equal(world->disconnects, 1);
  assert_int_equal(world->reason, CODE_CLOSED);
  assert_int_equal(stats(world).expired, 1);
  expect_stranger(world, &ticket);
  assert_int_equal(session_count_address(world->session, "192.0.2.1", 0), 0);
}

static void a_kick_ends_a_suspended_session(void **state) {
  World *world = *state;
  Ticket ticket;
  fake_end(world->net, enter(world, &ticket), CODE_RESET);
  session_kick(world->session, peer_of(world), CODE_KICKED, "out");
  assert_int_equal(world->disconnects, 1);
  assert_int_equal(world->reason, CODE_KICKED);
  assert_int_equal(stats(world).suspended_now, 0);
  expect_stranger(world, &ticket);
}

static void with_no_time_nothing_waits(void **state) {
  World *world = *state;
  Ticket ticket;
  fake_end(world->net, enter(world, &ticket), CODE_RESET);
  world->limits.resume_timeout_ms = 0;
  limit(world);
  fake_advance(world->net, 1);
  assert_int_equal(world->disconnects, 1);
  ConnId conn = enter(world, &ticket);
  assert_memory_equal(ticket.token, NO_TICKET.token, UUID_SIZE);
  send_reliable(world, ticket.peer, "one");
  expect_reliable(world, conn, "one");
  assert_int_equal(stats(world).kept_bytes, 0);
  say_ack(world->net, conn, 77);  // has no effect here
  say_reliable(world, conn);
  fake_advance(world->net, RELIABLE_ACK_MS);
  expect_ack(world->net, conn, 1);
  fake_end(world->net, conn, CODE_RESET);
  assert_int_equal(world->disconnects, 2);
  expect_stranger(world, &ticket);
}

static void text_peers_are_not_kept(void **state) {
  World *world = *state;
  fake_end(world->net, open_text(world), CODE_RESET);
  assert_int_equal(world->suspends, 0);
  assert_int_equal(world->disconnects, 1);
}

static void a_shutdown_ends_suspended_sessions(void **state) {
  World *world = *state;
  Ticket ticket;
  fake_end(world->net, enter(world, &ticket), CODE_RESET);
  session_shutdown(world->session);
  assert_int_equal(world->disconnects, 1);
  assert_int_equal(stats(world).suspended_now, 0);
}

// --- Tokens ---

static void a_token_is_used_once(void **state) {
  World *world = *state;
  Ticket first, ticket;
  fake_end(world->net, enter(world, &first), CODE_RESET);
  ticket = first;
  ConnId conn = come_back(world, &ticket, 0);
  say_ack(world->net, conn, 0);  // the client knows the next token
  expect_stranger(world, &first);
  fake_end(world->net, conn, CODE_RESET);
  expect_stranger(world, &first);
  come_back(world, &ticket, 0);
}

static void a_lost_welcome_costs_nothing(void **state) {
  World *world = *state;
  Ticket first, ticket;
  ConnId conn = enter(world, &first);
  for (int i = 0; i < 5; i++) {
    fake_end(world->net, conn, CODE_RESET);
    ticket = first;
    conn = come_back(world, &ticket, 0);
  }
  // The client has received the last token.
  fake_end(world->net, conn, CODE_RESET);
  Ticket last = ticket;
  conn = come_back(world, &ticket, 0);
  expect_stranger(world, &first);
  say_ack(world->net, conn, 0);
  expect_stranger(world, &last);
}

static void guesses_begin_new_sessions(void **state) {
  World *world = *state;
  Ticket ticket, guess;
  fake_end(world->net, enter(world, &ticket), CODE_RESET);
  for (int i = 0; i < UUID_SIZE * 8; i++) {
    guess = ticket;
    guess.token[i / 8] ^= (uint8_t)(1 << i % 8);
    expect_stranger(world, &guess);
  }
  expect_stranger(world, &NO_TICKET);
  come_back(world, &ticket, 0);
}

static void a_session_is_taken_over(void **state) {
  World *world = *state;
  Ticket ticket;
  ConnId old = enter(world, &ticket);
  ConnId conn = come_back(world, &ticket, 0);
  expect_code(world->net, old, CONTROL_CLOSING, CODE_REPLACED);
  assert_true(fake_is_closed(world->net, old));
  assert_false(fake_is_closed(world->net, conn));
  assert_int_equal(world->suspends, 1);
  assert_int_equal(world->reason, CODE_REPLACED);
  assert_int_equal(world->resumes, 1);
  assert_int_equal(stats(world).ended[CODE_REPLACED], 1);
  assert_int_equal(session_count(world->session), 1);
}

static void of_two_that_resume_the_last_one_has_it(void **state) {
  World *world = *state;
  Ticket ticket, again;
  fake_end(world->net, enter(world, &ticket), CODE_RESET);
  again = ticket;
  ConnId first = come_back(world, &ticket, 0);
  come_back(world, &again, 0);
  expect_code(world->net, first, CONTROL_CLOSING, CODE_REPLACED);
  expect_stranger(world, &ticket);
}

static void a_veto_that_waits_has_no_token(void **state) {
  World *world = *state;
  world->answer = ANSWER_LATER;
  ConnId conn = open_tcp(world);
  say_hello(world->net, conn, "ann");
  assert_false(session_keeps(world->session));
  fake_end(world->net, conn, CODE_RESET);
  assert_int_equal(world->suspends + world->disconnects, 0);
  assert_int_equal(stats(world).suspended_now, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      RESUME(a_lost_line_suspends_and_a_token_resumes),
      RESUME(silence_suspends),
      RESUME(other_ends_are_the_end),
      RESUME(nobody_comes_in_time),
      RESUME(a_kick_ends_a_suspended_session),
      RESUME(with_no_time_nothing_waits),
      RESUME(text_peers_are_not_kept),
      RESUME(a_shutdown_ends_suspended_sessions),
      RESUME(a_token_is_used_once),
      RESUME(a_lost_welcome_costs_nothing),
      RESUME(guesses_begin_new_sessions),
      RESUME(a_session_is_taken_over),
      RESUME(of_two_that_resume_the_last_one_has_it),
      RESUME(a_veto_that_waits_has_no_token),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
