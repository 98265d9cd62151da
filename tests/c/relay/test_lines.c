// Lines that text peers type, and lines that they read.
#include "world.h"

static void hears(World *world, Client client, const char *format, uint32_t id) {
  char line[300];
  snprintf(line, sizeof line, format, id);
  expect_line(world->net, client.conn, line);
}

static void joining_tells_who_is_there(void **state) {
  World *world = *state;
  create(world, "lobby");
  Client guest = enter_text(world);
  type_line(world, guest, "/join lobby");
  const Sent *sent =
      expect_line(world->net, guest.conn, "* joined lobby, nobody else is here");
  assert_int_equal(sent->flags, OUT_KEEP | OUT_URGENT);
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  join(world, ann, "lobby");
  join(world, bob, "lobby");
  expect_line(world->net, guest.conn, "* ann joined lobby");
  expect_line(world->net, guest.conn, "* bob joined lobby");
  type_line(world, guest, "/leave lobby");
  expect_line(world->net, guest.conn, "* left lobby");
}

static void joining_names_those_who_are_there(void **state) {
  World *world = *state;
  create(world, "lobby");
  join(world, enter(world, "ann"), "lobby");
  join(world, enter(world, "bob"), "lobby");
  Client guest = enter_text(world);
  type_line(world, guest, "/join lobby");
  expect_line(world->net, guest.conn, "* joined lobby: ann, bob");
}

static void others_read_who_leaves(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client guest = enter_text(world), other = enter_text(world);
  Client ann = enter(world, "ann");
  join_text(world, guest, "lobby");
  join_text(world, other, "lobby");
  join(world, ann, "lobby");
  overlook(world, guest);
  leave(world, ann, lobby);
  expect_line(world->net, guest.conn, "* ann left lobby");
  type_line(world, other, "/quit");
  hears(world, guest, "* guest-%u left lobby", other.id);
  assert_true(fake_is_closed(world->net, other.conn));
}

static void a_kick_from_a_room_names_the_code(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client guest = enter_text(world);
  join_text(world, guest, "lobby");
  command(
      world,
      (Command){
          .type = COMMAND_LEAVE, .id = guest.id, .room = lobby, .code = CODE_KICKED});
  relay_commit(world->relay);
  expect_line(world->net, guest.conn, "* left lobby (Kicked)");
}

static void errors_of_rooms_are_lines(void **state) {
  World *world = *state;
  Client guest = enter_text(world);
  type_line(world, guest, "/join nowhere");
  expect_line(
      world->net, guest.conn,
      "! NoSuchRoom: there is no such room, nor a kind of that name to make it");
  type_line(world, guest, "/leave nowhere");
  expect_line(world->net, guest.conn, "! NotInRoom: you are not in this room");
  type_line(world, guest, "/join \xff");
  expect_line(world->net, guest.conn, "! Protocol: room names are " TEXT_NAME_RULE);
  type_line(world, guest, "hello");
  expect_line(world->net, guest.conn,
              "! NotInRoom: join a room first, with /join ROOM");
}

static void an_empty_line_is_nothing(void **state) {
  World *world = *state;
  Client guest = enter_text(world);
  type_line(world, guest, "");
  expect_quiet(world, guest);
}

static void rooms_are_listed(void **state) {
  World *world = *state;
  Client guest = enter_text(world);
  type_line(world, guest, "/rooms");
  expect_line(world->net, guest.conn, "* no rooms");
  create(world, "lobby");
  create(world, "duel:1");
  join_text(world, guest, "lobby");
  type_line(world, guest, "/rooms");
  expect_line(world->net, guest.conn, "* rooms: lobby (1), duel:1 (0)");
}

static void a_bad_name_is_refused(void **state) {
  World *world = *state;
  Client guest = enter_text(world);
  type_line(world, guest, "/name a\x1b[2Jb");
  expect_line(world->net, guest.conn, "! Protocol: names are " TEXT_PEER_NAME_RULE);
  assert_int_equal(peer_of(world, guest)->name[0], 'g');
}

static void unknown_commands_are_explained(void **state) {
  World *world = *state;
  Client guest = enter_text(world);
  type_line(world, guest, "/foo bar");
  expect_line(world->net, guest.conn,
              "! Unsupported: unknown command /foo; try " TEXT_COMMANDS);
  type_line(world, guest, "/join");
  expect_line(world->net, guest.conn,
              "! Unsupported: /join needs a word; try " TEXT_COMMANDS);
}

static void plain_lines_go_to_the_room_joined_last(void **state) {
  World *world = *state;
  create(world, "one");
  create(world, "two");
  Client guest = enter_text(world), one = enter_text(world), two = enter_text(world);
  join_text(world, one, "one");
  join_text(world, two, "two");
  join_text(world, guest, "one");
  join_text(world, guest, "two");
  overlook(world, one);
  overlook(world, two);
  type_line(world, guest, "a");
  hears(world, two, "guest-%u: a", guest.id);
  type_line(world, guest, "/leave two");
  overlook(world, two);
  type_line(world, guest, "b");
  hears(world, one, "guest-%u: b", guest.id);
  expect_quiet(world, two);
}

static void a_deleted_room_can_still_be_left(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client guest = enter_text(world);
  join_text(world, guest, "lobby");
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = lobby});
  relay_commit(world->relay);
  type_line(world, guest, "hi");
  expect_line(world->net, guest.conn, "! NoSuchRoom: there is no such room");
  type_line(world, guest, "/leave lobby");
  expect_line(world->net, guest.conn, "* left lobby");
}

static void a_handler_takes_plain_lines_as_text(void **state) {
  World *world = *state;
  script(world, HOOK_TEXT | HOOK_MESSAGE, NULL);
  Client guest = enter_text(world);
  type_line(world, guest, "hello");
  uint32_t lobby = create(world, "lobby");
  begin(world);
  Event event = next_of(world, EVENT_TEXT, guest);
  expect_text(event.data, "hello");
  assert_int_equal(event.room, 0);
  end(world);
  join_text(world, guest, "lobby");
  type_line(world, guest, "again");
  begin(world);
  event = next_of(world, EVENT_TEXT, guest);
  assert_int_equal(event.room, lobby);
  end(world);
}

static void the_handler_of_the_kind_takes_lines_too(void **state) {
  World *world = *state;
  script(world, 0, &(RoomKind){.auto_create = true, .hooks = HOOK_TEXT});
  create(world, "lobby");
  Client guest = enter_text(world);
  join_text(world, guest, "duel:1");
  type_line(world, guest, "for the kind");
  begin(world);
  expect_text(next_of(world, EVENT_TEXT, guest).data, "for the kind");
  end(world);
  join_text(world, guest, "lobby");
  type_line(world, guest, "for nobody");
  expect_no_events(world);
}

static void send_makes_a_message(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE, NULL);
  uint32_t lobby = create(world, "lobby");
  Client guest = enter_text(world);
  type_line(world, guest, "/send ping");
  join_text(world, guest, "lobby");
  type_line(world, guest, "/send move {\"x\": 1}");
  begin(world);
  Event event = next_of(world, EVENT_MESSAGE, guest);
  expect_text(event.data, "[\"ping\",null]");
  assert_int_equal(event.room, 0);
  assert_int_equal(event.packet_type, 0);
  event = next_of(world, EVENT_MESSAGE, guest);
  expect_text(event.data, "[\"move\",{\"x\": 1}]");
  assert_int_equal(event.room, lobby);
  end(world);
}

static void send_with_a_name_that_would_break_json_is_refused(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE, NULL);
  Client guest = enter_text(world);
  const char *lines[] = {"/send a\"b 1", "/send a\\b 1", "/send \x01 1"};
  for (int i = 0; i < 3; i++) {
    type_line(world, guest, lines[i]);
    expect_line(world->net, guest.conn,
                "! Protocol: message names have no quotes, backslashes or control "
                "characters");
  }
}

static void send_without_a_handler_is_unsupported(void **state) {
  World *world = *state;
  Client guest = enter_text(world);
  type_line(world, guest, "/send ping 1");
  expect_line(world->net, guest.conn, "! Unsupported: no handler for messages");
}

static void a_long_list_of_members_is_cut(void **state) {
  World *world = *state;
  world->limits.max_payload = world->session_limits.max_payload = 40;
  relay_set_limits(world->relay, &world->limits);
  session_set_limits(world->session, &world->session_limits);
  create(world, "lobby");
  char name[20];
  for (int i = 0; i < 10; i++) {
    snprintf(name, sizeof name, "player-%d", i);
    join(world, enter(world, name), "lobby");
  }
  Client guest = enter_text(world);
  type_line(world, guest, "/join lobby");
  expect_line(world->net, guest.conn,
              "* joined lobby: player-0, player-1, player-2 and 7 more");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(joining_tells_who_is_there),
      TEST(joining_names_those_who_are_there),
      TEST(others_read_who_leaves),
      TEST(a_kick_from_a_room_names_the_code),
      TEST(errors_of_rooms_are_lines),
      TEST(an_empty_line_is_nothing),
      TEST(rooms_are_listed),
      TEST(a_bad_name_is_refused),
      TEST(unknown_commands_are_explained),
      TEST(plain_lines_go_to_the_room_joined_last),
      TEST(a_deleted_room_can_still_be_left),
      TEST(a_handler_takes_plain_lines_as_text),
      TEST(the_handler_of_the_kind_takes_lines_too),
      TEST(send_makes_a_message),
      TEST(send_with_a_name_that_would_break_json_is_refused),
      TEST(send_without_a_handler_is_unsupported),
      TEST(a_long_list_of_members_is_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
