// Names of peers: which names a peer may have, and who is notified of a new name.
#include "suspended.h"

static void unique(World *world, UniqueNames among) {
  world->session_limits.unique_names = among;
  session_set_limits(world->session, &world->session_limits);
}

// Expects PEER_RENAMED; `room` is 0 if the notification is about the client itself.
static void expect_renamed(World *world, Client client, uint32_t room, uint32_t peer,
                           const char *name) {
  const Sent *sent = expect_control(world->net, client.conn, CONTROL_PEER_RENAMED);
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  assert_int_equal(reader_u32(&reader), room);
  assert_int_equal(reader_u32(&reader), peer);
  expect_text(reader_str8(&reader), name);
  assert_true(reader_is_done(&reader));
}

static int rename_to(World *world, Client client, const char *name) {
  return relay_rename(world->relay, client.id, text_from(name));
}

static void expect_name(World *world, Client client, const char *name) {
  assert_string_equal(peer_of(world, client)->name, name);
}

static const char TAKEN[] = "! Rejected: " NAME_IN_USE_TEXT;

// --- /name ---

static void a_text_peer_changes_its_name_before_its_first_join_only(void **state) {
  World *world = *state;
  create(world, "lobby");
  Client guest = enter_text(world);
  type_line(world, guest, "/name Zoe Smith");
  expect_line(world->net, guest.conn, "* you are now Zoe Smith");
  type_line(world, guest, "/name zoe");
  expect_line(world->net, guest.conn, "* you are now zoe");
  join_text(world, guest, "lobby");
  type_line(world, guest, "/leave lobby");
  overlook(world, guest);
  type_line(world, guest, "/name mallory");
  expect_line(world->net, guest.conn,
              "! Rejected: a name can be changed before the first join only");
  expect_name(world, guest, "zoe");
}

static void the_script_is_asked_for_a_new_name(void **state) {
  World *world = *state;
  script(world, HOOK_RENAME, NULL);
  create(world, "lobby");
  Client guest = enter_text(world), other = enter_text(world);
  Client ann = enter(world, "ann");
  fill_lobby(world, ann, enter(world, "bob"), guest);
  join_text(world, other, "lobby");
  overlook(world, ann);
  overlook(world, guest);
  type_line(world, guest, "/name zoe");
  begin(world);
  Event event = next_of(world, EVENT_RENAME, guest);
  expect_text(event.data, "zoe");
  expect_quiet(world, guest);
  relay_allow_name(world->relay, &event);
  end(world);
  expect_line(world->net, guest.conn, "* you are now zoe");
  expect_quiet(world, guest);
  char line[100];
  snprintf(line, sizeof line, "* guest-%u is now zoe", guest.id);
  expect_line(world->net, other.conn, line);
  uint32_t lobby = relay_find_room(world->relay, text_from("lobby"));
  expect_renamed(world, ann, lobby, guest.id, "zoe");
  expect_quiet(world, ann);
  type_line(world, guest, "/name mallory");
  begin(world);
  event = next_of(world, EVENT_RENAME, guest);
  relay_refuse(world->relay, &event, CODE_REJECTED, "no");
  end(world);
  expect_line(world->net, guest.conn, "! Rejected: no");
  expect_name(world, guest, "zoe");
}

static void a_name_taken_while_the_script_thinks_is_refused(void **state) {
  World *world = *state;
  script(world, HOOK_RENAME, NULL);
  Client guest = enter_text(world), other = enter_text(world);
  type_line(world, guest, "/name zoe");
  type_line(world, other, "/name zoe");
  begin(world);
  Event first = next_of(world, EVENT_RENAME, guest);
  Event second = next_of(world, EVENT_RENAME, other);
  relay_allow_name(world->relay, &second);
  relay_allow_name(world->relay, &first);
  end(world);
  expect_line(world->net, other.conn, "* you are now zoe");
  expect_line(world->net, guest.conn, TAKEN);
}

// --- Unique names ---

static void text_peers_may_not_have_the_name_of_another_text_peer(void **state) {
  World *world = *state;
  Client guest = enter_text(world), other = enter_text(world);
  enter(world, "zoe");
  enter(world, "zoe");
  type_line(world, guest, "/name zoe");  // name of a binary peer
  expect_line(world->net, guest.conn, "* you are now zoe");
  type_line(world, other, "/name zoe");
  expect_line(world->net, other.conn, TAKEN);
  type_line(world, guest, "/name zoe");  // the peer's own name
  expect_line(world->net, guest.conn, "* you are now zoe");
  type_line(world, guest, "/quit");
  type_line(world, other, "/name zoe");
  expect_line(world->net, other.conn, "* you are now zoe");
}

static void nobody_may_have_the_name_of_another_where_all_are_unique(void **state) {
  World *world = *state;
  unique(world, UNIQUE_AMONG_ALL);
  Client guest = enter_text(world);
  Client ann = enter(world, "ann");
  type_line(world, guest, "/name ann");
  expect_line(world->net, guest.conn, TAKEN);
  type_line(world, guest, "/name bob");
  overlook(world, guest);
  Client bob = {.conn = fake_open(world->net, FRAMING_PACKETS, "192.0.2.1")};
  say_hello(world->net, bob.conn, "bob");
  expect_code(world->net, bob.conn, CONTROL_REJECTED, CODE_REJECTED);
  assert_int_equal(rename_to(world, ann, "bob"), ERR_EXISTS);
}

static void names_may_be_the_same_where_that_is_allowed(void **state) {
  World *world = *state;
  unique(world, UNIQUE_NOT);
  Client guest = enter_text(world), other = enter_text(world);
  type_line(world, guest, "/name ann");
  type_line(world, other, "/name ann");
  expect_line(world->net, other.conn, "* you are now ann");
}

static void a_suspended_peer_keeps_its_name(void **state) {
  World *world = *state;
  unique(world, UNIQUE_AMONG_ALL);
  Player ann = play(world, "ann");
  fake_end(world->net, ann.client.conn, CODE_RESET);
  Client other = {.conn = fake_open(world->net, FRAMING_PACKETS, "192.0.2.1")};
  say_hello(world->net, other.conn, "ann");
  expect_code(world->net, other.conn, CONTROL_REJECTED, CODE_REJECTED);
  come_back(world, &ann, 0);
  expect_name(world, ann.client, "ann");
}

static void names_from_before_they_had_to_be_unique_count_then(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann");
  enter(world, "ann");
  enter(world, "bob");
  unique(world, UNIQUE_AMONG_ALL);
  Client guest = enter_text(world);
  type_line(world, guest, "/name bob");
  expect_line(world->net, guest.conn, TAKEN);
  fake_end(world->net, ann.conn, CODE_RESET);
  type_line(world, guest, "/name ann");
  expect_line(world->net, guest.conn, TAKEN);
}

static void a_guest_gets_a_name_that_nobody_has(void **state) {
  World *world = *state;
  Client guest = enter_text(world);
  char name[NAME_MAX_BYTES];
  snprintf(name, sizeof name, "guest-%u", guest.id + 1);  // ids follow one another
  assert_int_equal(rename_to(world, guest, name), 0);
  relay_commit(world->relay);
  fake_open(world->net, FRAMING_LINES, "192.0.2.1");
  snprintf(name, sizeof name, "guest-%u-2", guest.id + 1);
  assert_string_equal(session_find(world->session, guest.id + 1)->name, name);
}

// --- By the script ---

static void members_and_the_peer_itself_hear_of_a_name_given_by_the_script(
    void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  Client guest = enter_text(world);
  fill_lobby(world, ann, bob, guest);
  assert_int_equal(rename_to(world, ann, "zoe"), 0);
  expect_quiet(world, bob);
  expect_name(world, ann, "ann");
  expect_text(relay_peer_name(world->relay, peer_of(world, ann)), "zoe");
  relay_commit(world->relay);
  expect_name(world, ann, "zoe");
  expect_renamed(world, bob, lobby, ann.id, "zoe");
  expect_renamed(world, ann, lobby, ann.id, "zoe");
  expect_renamed(world, ann, 0, ann.id, "zoe");
  expect_line(world->net, guest.conn, "* ann is now zoe");
  expect_quiet(world, bob);
  expect_quiet(world, ann);
  assert_int_equal(rename_to(world, ann, "zoe"), 0);  // the name is the same as before
  relay_commit(world->relay);
  expect_quiet(world, ann);
}

static void a_name_given_by_a_handler_that_fails_is_free_again(void **state) {
  World *world = *state;
  unique(world, UNIQUE_AMONG_ALL);
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  RelayMark mark = relay_mark(world->relay);
  assert_int_equal(rename_to(world, ann, "zoe"), 0);
  assert_int_equal(rename_to(world, bob, "zoe"), ERR_EXISTS);
  relay_rollback(world->relay, mark);
  relay_commit(world->relay);
  expect_quiet(world, ann);
  expect_name(world, ann, "ann");
  assert_int_equal(rename_to(world, bob, "zoe"), 0);
  relay_commit(world->relay);
  expect_name(world, bob, "zoe");
  assert_int_equal(rename_to(world, ann, "bob"), 0);
}

static void a_handler_may_change_its_mind_about_a_name(void **state) {
  World *world = *state;
  unique(world, UNIQUE_AMONG_ALL);
  Client ann = enter(world, "ann");
  assert_int_equal(rename_to(world, ann, "zoe"), 0);
  assert_int_equal(rename_to(world, ann, "ann"), 0);
  assert_int_equal(rename_to(world, ann, "zoe"), 0);
  relay_commit(world->relay);
  expect_name(world, ann, "zoe");
  enter(world, "ann");
}

static void names_that_cannot_be_are_refused_to_the_script(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann");
  static const char *const bad[] = {"", "!", " a", "a\xe2\x80\x8b", "\xff"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_int_equal(rename_to(world, ann, bad[i]), ERR_INVALID);
  Client gone = enter(world, "bob");
  session_kick(world->session, peer_of(world, gone), CODE_KICKED, "");
  assert_int_equal(rename_to(world, gone, "zoe"), ERR_NOT_FOUND);
}

static void a_peer_that_is_let_in_under_a_name_hears_of_it_after_welcome(void **state) {
  World *world = *state;
  script(world, HOOK_CONNECT, NULL);
  Client ann = {.conn = fake_open(world->net, FRAMING_PACKETS, "192.0.2.1")};
  say_hello(world->net, ann.conn, "ann");
  begin(world);
  Event event = next(world, EVENT_CONNECT);
  assert_true(relay_accept(world->relay, event.peer, text_from("zoe")));
  end(world);
  ann.id = event.peer;
  expect_control(world->net, ann.conn, CONTROL_WELCOME);
  expect_renamed(world, ann, 0, ann.id, "zoe");
  expect_quiet(world, ann);
}

static void a_name_in_use_given_by_on_connect_is_refused(void **state) {
  World *world = *state;
  unique(world, UNIQUE_AMONG_ALL);
  enter(world, "zoe");
  script(world, HOOK_CONNECT, NULL);
  Client ann = {.conn = fake_open(world->net, FRAMING_PACKETS, "192.0.2.1")};
  say_hello(world->net, ann.conn, "ann");
  begin(world);
  Event event = next(world, EVENT_CONNECT);
  assert_false(relay_accept(world->relay, event.peer, text_from("zoe")));
  end(world);
  expect_code(world->net, ann.conn, CONTROL_REJECTED, CODE_REJECTED);
}

// A HELLO with a name in use is accepted if the script gives another name.
static void on_connect_may_give_a_free_name_to_one_that_came_with_a_used_one(
    void **state) {
  World *world = *state;
  unique(world, UNIQUE_AMONG_ALL);
  enter(world, "ann");
  script(world, HOOK_CONNECT, NULL);
  Client ann = {.conn = fake_open(world->net, FRAMING_PACKETS, "192.0.2.1")};
  say_hello(world->net, ann.conn, "ann");
  begin(world);
  Event event = next(world, EVENT_CONNECT);
  assert_true(relay_accept(world->relay, event.peer, text_from("ann 2")));
  end(world);
}

static void a_name_set_in_on_connect_is_that_under_which_the_peer_is_let_in(
    void **state) {
  World *world = *state;
  unique(world, UNIQUE_AMONG_ALL);
  enter(world, "ann");
  script(world, HOOK_CONNECT, NULL);
  Client ann = {.conn = fake_open(world->net, FRAMING_PACKETS, "192.0.2.1")};
  say_hello(world->net, ann.conn, "ann");
  begin(world);
  Event event = next(world, EVENT_CONNECT);
  ann.id = event.peer;
  assert_int_equal(rename_to(world, ann, "zoe"), 0);
  assert_true(relay_accept(world->relay, event.peer, text_from("")));
  relay_commit(world->relay);
  end(world);
  expect_control(world->net, ann.conn, CONTROL_WELCOME);
  expect_renamed(world, ann, 0, ann.id, "zoe");
  expect_quiet(world, ann);
  expect_name(world, ann, "zoe");
}

static void a_session_that_was_renamed_hears_of_it_when_it_is_resumed(void **state) {
  World *world = *state;
  Player ann = play(world, "ann");
  fake_end(world->net, ann.client.conn, CODE_RESET);
  assert_int_equal(rename_to(world, ann.client, "zoe"), 0);
  relay_commit(world->relay);
  come_back(world, &ann, 0);
  expect_renamed(world, ann.client, 0, ann.client.id, "zoe");
  expect_control(world->net, ann.client.conn, CONTROL_ACK);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_text_peer_changes_its_name_before_its_first_join_only),
      TEST(the_script_is_asked_for_a_new_name),
      TEST(a_name_taken_while_the_script_thinks_is_refused),
      TEST(text_peers_may_not_have_the_name_of_another_text_peer),
      TEST(nobody_may_have_the_name_of_another_where_all_are_unique),
      TEST(names_may_be_the_same_where_that_is_allowed),
      RESUMABLE(a_suspended_peer_keeps_its_name),
      TEST(names_from_before_they_had_to_be_unique_count_then),
      TEST(a_guest_gets_a_name_that_nobody_has),
      TEST(members_and_the_peer_itself_hear_of_a_name_given_by_the_script),
      TEST(a_name_given_by_a_handler_that_fails_is_free_again),
      TEST(a_handler_may_change_its_mind_about_a_name),
      TEST(names_that_cannot_be_are_refused_to_the_script),
      TEST(a_peer_that_is_let_in_under_a_name_hears_of_it_after_welcome),
      TEST(a_name_in_use_given_by_on_connect_is_refused),
      TEST(on_connect_may_give_a_free_name_to_one_that_came_with_a_used_one),
      TEST(a_name_set_in_on_connect_is_that_under_which_the_peer_is_let_in),
      RESUMABLE(a_session_that_was_renamed_hears_of_it_when_it_is_resumed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
