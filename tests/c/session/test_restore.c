// Sessions of an earlier process: what is kept of a session is enough to resume it.
#include "resuming.h"

// Ends the session as the end of the process does, and restores it.
static Peer *restore(World *world, const Ticket *ticket, uint64_t away_ms) {
  Peer *peer = session_find(world->session, ticket->peer);
  KeptSession kept;
  char name[NAME_MAX_BYTES];
  assert_true(session_kept(world->session, peer, &kept));
  memcpy(name, kept.name.bytes, kept.name.size);
  kept.name.bytes = name;
  session_kick(world->session, peer, CODE_CLOSED, NULL);
  peer = session_restore(world->session, &kept, away_ms);
  assert_non_null(peer);
  assert_int_equal(peer->id, ticket->peer);
  return peer;
}

static ConnId return_to(World *world, Ticket *ticket, uint32_t received) {
  ConnId conn = open_tcp(world);
  Ticket old = *ticket;
  say_resume(world->net, conn, ticket, received);
  *ticket = read_welcome(world->net, conn);
  assert_int_equal(ticket->resumed, WELCOME_RESTORED);
  assert_int_equal(ticket->peer, old.peer);
  assert_memory_equal(ticket->session, old.session, UUID_SIZE);
  assert_int_equal(ticket->received, 0);
  expect_ack(world->net, conn, 0);
  return conn;
}

static void a_token_of_an_earlier_process_resumes(void **state) {
  World *world = *state;
  Ticket ticket;
  enter(world, &ticket);
  Peer *peer = restore(world, &ticket, 7000);
  assert_int_equal(stats(world).suspended_now, 1);
  fake_advance(world->net, 2000);
  ConnId conn = return_to(world, &ticket, 0);
  expect_nothing(world->net, conn);
  assert_int_equal(world->resumes, 1);
  assert_true(world->resumption.is_restored);
  assert_int_equal(world->resumption.suspended_ms, 9000);
  assert_int_equal(world->connects, 1);
  assert_int_equal(stats(world).suspended_now, 0);
  assert_true(peer_has_name(peer, text_from("ann")));
  // The next resume is an ordinary one.
  say_reliable(world, conn);
  fake_end(world->net, conn, CODE_RESET);
  ticket.received = 1;
  come_back(world, &ticket, 0);
  assert_int_equal(ticket.resumed, WELCOME_RESUMED);
  assert_false(world->resumption.is_restored);
}

static void streams_begin_again(void **state) {
  World *world = *state;
  Ticket ticket;
  enter(world, &ticket);
  restore(world, &ticket, 0);
  send_reliable(world, ticket.peer, "one");
  ConnId conn = return_to(world, &ticket, 77);  // a count of the earlier process
  expect_reliable(world, conn, "one");
  say_ack(world->net, conn, 1);
  assert_int_equal(stats(world).kept_bytes, 0);
}

static void a_lost_welcome_is_sent_again(void **state) {
  World *world = *state;
  Ticket ticket;
  enter(world, &ticket);
  restore(world, &ticket, 0);
  Ticket old = ticket;
  fake_end(world->net, return_to(world, &ticket, 3), CODE_RESET);
  ticket = old;
  ConnId conn = return_to(world, &ticket, 3);
  say_reliable(world, conn);  // the client has got WELCOME
  fake_end(world->net, conn, CODE_RESET);
  expect_stranger(world, &old);
}

static void the_older_token_survives_two_ends(void **state) {
  World *world = *state;
  Ticket ticket;
  fake_end(world->net, enter(world, &ticket), CODE_RESET);
  Ticket old = ticket;
  come_back(world, &ticket, 0);  // this WELCOME is lost
  restore(world, &old, 0);
  restore(world, &old, 0);
  ticket = old;
  fake_end(world->net, return_to(world, &ticket, 0), CODE_RESET);
  restore(world, &old, 0);
  return_to(world, &old, 0);
}

static void resume_timeout_begins_with_the_restore(void **state) {
  World *world = *state;
  Ticket ticket;
  enter(world, &ticket);
  fake_advance(world->net, 20000);
  restore(world, &ticket, 60000);
  assert_int_equal(world->disconnects, 1);
  fake_advance(world->net, 29999);
  assert_int_equal(world->disconnects, 1);
  fake_advance(world->net, 1);
  assert_int_equal(world->disconnects, 2);
  assert_int_equal(world->reason, CODE_RESET);
  expect_stranger(world, &ticket);
  assert_int_equal(session_count_address(world->session, "", 0), 0);
}

static void foreign_tokens_resume_nothing(void **state) {
  World *world = *state;
  Ticket ticket;
  enter(world, &ticket);
  restore(world, &ticket, 0);
  Ticket wrong = ticket;
  wrong.token[UUID_SIZE - 1] ^= 1;
  expect_stranger(world, &wrong);
  assert_int_equal(world->resumes, 0);
}

static void a_used_id_or_a_wrong_name_is_refused(void **state) {
  World *world = *state;
  Ticket ticket;
  enter(world, &ticket);
  KeptSession kept;
  session_kept(world->session, peer_of(world), &kept);
  assert_null(session_restore(world->session, &kept, 0));
  kept.id += 5;
  kept.name = (Text){"a\nb", 3};
  assert_null(session_restore(world->session, &kept, 0));
  kept.name = (Text){0};
  assert_null(session_restore(world->session, &kept, 0));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      RESUME(a_token_of_an_earlier_process_resumes),
      RESUME(streams_begin_again),
      RESUME(a_lost_welcome_is_sent_again),
      RESUME(the_older_token_survives_two_ends),
      RESUME(resume_timeout_begins_with_the_restore),
      RESUME(foreign_tokens_resume_nothing),
      RESUME(a_used_id_or_a_wrong_name_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
