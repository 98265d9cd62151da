// Commands of a handler: impossible ones are refused at once; the others are carried
// out when the handler ends, and discarded when it fails.
#include "world.h"

static int try(World *world, Command command) {
  return relay_command(world->relay, &command);
}

static void commands_are_kept_with_all_they_point_to(void **state) {
  (void)state;
  Commands commands = {0};
  for (uint32_t i = 0; i < 20; i++) {
    char name[8];
    uint32_t except[20];
    snprintf(name, sizeof name, "n%u", i);
    for (uint32_t j = 0; j < 20; j++) except[j] = i + j;
    commands_push(&commands, &(Command){.type = COMMAND_MESSAGE,
                                        .id = i,
                                        .name = text_from(name),
                                        .body = {"abcdefghijklmnopqrstuvw", i},
                                        .except = except,
                                        .except_count = i});
  }
  Command command;
  size_t at = 0;
  for (uint32_t i = 0; i < 20; i++) {
    char name[8];
    snprintf(name, sizeof name, "n%u", i);
    assert_true(commands_next(&commands, &at, &command));
    assert_int_equal(command.id, i);
    assert_string_equal(command.name.bytes, name);
    assert_int_equal(strlen(command.body.bytes), i);
    for (uint32_t j = 0; j < i; j++) assert_int_equal(command.except[j], i + j);
  }
  assert_false(commands_next(&commands, &at, &command));
  commands_cut(&commands, 0);
  at = 0;
  assert_false(commands_next(&commands, &at, &command));
  buf_deinit(&commands);
}

static void nothing_goes_out_before_the_commit(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann");
  command(world, message(TARGET_PEER, ann.id));
  expect_quiet(world, ann);
  relay_commit(world->relay);
  expect_message(world, ann, 0, "[\"hi\",1]");
  relay_commit(world->relay);
  expect_quiet(world, ann);
}

static void a_rollback_forgets_everything(void **state) {
  World *world = *state;
  script(world, 0, NULL);
  Client ann = enter(world, "ann");
  int err;
  uint32_t room = relay_create(world->relay, text_from("lobby"), &err);
  command(world, (Command){.type = OWN_COMMAND, .id = 5});
  command(world, message(TARGET_PEER, ann.id));
  command(world, (Command){.type = COMMAND_CLOSE, .id = ann.id});
  relay_rollback(world->relay, (RelayMark){0});
  relay_commit(world->relay);
  expect_quiet(world, ann);
  assert_null(relay_room(world->relay, room));
  assert_int_equal(relay_find_room(world->relay, text_from("lobby")), 0);
  assert_int_equal(world->discarded, 5);
  assert_int_equal(world->executed, 0);
  create(world, "lobby");
  assert_int_equal(relay_stats(world->relay).errors, 1);
}

// As in a reload: several handlers run, of which one fails. Then either all commands
// are carried out or none.
static void a_rollback_to_a_mark_leaves_what_was_before_it(void **state) {
  World *world = *state;
  script(world, 0, NULL);
  Client ann = enter(world, "ann");
  int err;
  uint32_t first = relay_create(world->relay, text_from("first"), &err);
  command(world, (Command){.type = OWN_COMMAND, .id = 5});
  command(world, message(TARGET_PEER, ann.id));
  RelayMark mark = relay_mark(world->relay);
  uint32_t second = relay_create(world->relay, text_from("second"), &err);
  command(world, (Command){.type = OWN_COMMAND, .id = 6});
  command(world, message(TARGET_PEER, ann.id));
  relay_rollback(world->relay, mark);
  assert_null(relay_room(world->relay, second));
  assert_int_equal(relay_find_room(world->relay, text_from("second")), 0);
  assert_int_equal(world->discarded, 6);
  assert_int_equal(relay_find_room(world->relay, text_from("first")), first);
  expect_quiet(world, ann);
  relay_commit(world->relay);
  expect_message(world, ann, 0, "[\"hi\",1]");
  expect_quiet(world, ann);
  assert_int_equal(world->executed, 5);
  assert_int_equal(relay_stats(world->relay).errors, 1);
}

static void what_is_forgotten_for_another_reason_is_no_error(void **state) {
  World *world = *state;
  int err;
  uint32_t room = relay_create(world->relay, text_from("lobby"), &err);
  relay_forget(world->relay, (RelayMark){0});
  assert_null(relay_room(world->relay, room));
  assert_int_equal(relay_stats(world->relay).errors, 0);
}

static void a_message_carries_its_options(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann");
  Command hi = message(TARGET_PEER, ann.id);
  hi.priority = PRIORITY_LOW;
  hi.flags = PACKET_RELIABLE | PACKET_RESPONSE;
  hi.ref = 55;
  hi.key = 1234;
  hi.room = 9;
  command(world, hi);
  relay_commit(world->relay);
  const Sent *sent = expect_packet(world->net, ann.conn, CHANNEL_MESSAGE, 0);
  expect_data(sent, (uint32_t[]){9}, 1, "[\"hi\",1]");
  assert_int_equal(sent->packet.flags, PACKET_RELIABLE | PACKET_RESPONSE);
  assert_int_equal(sent->packet.ref, 55);
  assert_int_equal(sent->packet.priority, PRIORITY_LOW);
  // RELIABLE packets have their place among normal ones.
  assert_int_equal(sent->priority, PRIORITY_NORMAL);
  assert_int_equal(sent->flags, OUT_KEEP);
  assert_int_equal(sent->key, 0);
}

static void a_message_to_a_room_reaches_its_members(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann"), bob = enter(world, "bob"),
         eve = enter(world, "eve");
  Client guest = enter_text(world);
  fill_lobby(world, ann, bob, guest);
  Command hi = message(TARGET_ROOM, lobby);
  hi.except = (const uint32_t[]){ann.id, eve.id, 4711, ann.id};
  hi.except_count = 4;
  hi.key = 5;
  command(world, hi);
  relay_commit(world->relay);
  expect_quiet(world, ann);
  expect_quiet(world, eve);
  const Sent *sent = expect_message(world, bob, lobby, "[\"hi\",1]");
  assert_int_equal(sent->key, 5);
  assert_int_not_equal(sent->group, 0);
  expect_line(world->net, guest.conn, "hi 1");
  assert_int_equal(relay_stats(world->relay).deliveries, 2);
}

static void a_message_to_all_reaches_those_who_came_later_too(void **state) {
  World *world = *state;
  script(world, HOOK_CONNECT, NULL);
  relay_kinds_begin(world->relay, 0);
  relay_kinds_end(world->relay);
  Client ann = enter(world, "ann"), guest = enter_text(world);
  assert_int_equal(fake_groups(world->net), 0);
  command(world, message(TARGET_ALL, 0));
  relay_commit(world->relay);
  expect_message(world, ann, 0, "[\"hi\",1]");
  expect_line(world->net, guest.conn, "hi 1");
  Client bob = enter(world, "bob"), other = enter_text(world);
  Command hi = message(TARGET_ALL, 0);
  hi.except = (const uint32_t[]){ann.id, guest.id};
  hi.except_count = 2;
  command(world, hi);
  relay_commit(world->relay);
  expect_message(world, bob, 0, "[\"hi\",1]");
  expect_line(world->net, other.conn, "hi 1");
  expect_quiet(world, ann);
  expect_quiet(world, guest);
  fake_end(world->net, bob.conn, CODE_CLOSED);
  assert_int_equal(relay_stats(world->relay).deliveries, 4);
}

static void text_peers_get_a_name_and_json(void **state) {
  World *world = *state;
  Client guest = enter_text(world);
  Command hi = message(TARGET_PEER, guest.id);
  hi.body = text_from("[\"hi\",{\"a\":\"\x7f\x1b\"}]");
  command(world, hi);
  hi.value_at = 0;
  command(world, hi);
  relay_commit(world->relay);
  expect_line(world->net, guest.conn, "hi {\"a\":\"??\"}");
  expect_line(world->net, guest.conn, "hi");
}

static void a_relay_goes_out_as_it_is_from_nobody(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann"), bob = enter(world, "bob"),
         guest = enter_text(world);
  fill_lobby(world, ann, bob, guest);
  command(world, (Command){.type = COMMAND_RELAY,
                           .target = TARGET_ROOM,
                           .id = lobby,
                           .priority = PRIORITY_HIGH,
                           .flags = PACKET_RELIABLE,
                           .body = text_from("raw \x1b[1mbytes"),
                           .except = (const uint32_t[]){bob.id},
                           .except_count = 1});
  relay_commit(world->relay);
  const Sent *sent = expect_relayed(world, ann, lobby, 0, "raw \x1b[1mbytes");
  assert_int_equal(sent->packet.flags, PACKET_RELIABLE);
  assert_int_equal(sent->packet.priority, PRIORITY_HIGH);
  assert_int_equal(sent->priority, PRIORITY_NORMAL);
  expect_quiet(world, bob);
  expect_line(world->net, guest.conn, "raw \x1b[1mbytes");
}

static void a_packet_goes_to_one_peer(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann"), guest = enter_text(world);
  Command packet = {.type = COMMAND_PACKET,
                    .id = ann.id,
                    .channel = 3000,
                    .packet_type = 8,
                    .priority = PRIORITY_NORMAL,
                    .body = text_from("bytes")};
  command(world, packet);
  packet.id = guest.id;
  command(world, packet);
  packet.channel = CHANNEL_CONTROL;
  assert_int_equal(try(world, packet), ERR_INVALID);
  relay_commit(world->relay);
  expect_data(expect_packet(world->net, ann.conn, 3000, 8), NULL, 0, "bytes");
  expect_quiet(world, guest);
}

static void an_error_answers_a_request(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann"), guest = enter_text(world);
  Command error = {.type = COMMAND_ERROR,
                   .id = ann.id,
                   .code = CODE_UNSUPPORTED,
                   .flags = PACKET_REQUEST,
                   .ref = 12,
                   .body = {"no handlerXXX", 10}};
  command(world, error);
  error.flags = 0;
  command(world, error);
  error.id = guest.id;
  command(world, error);
  relay_commit(world->relay);
  expect_answer(expect_error(world, ann, CODE_UNSUPPORTED), 12);
  expect_no_answer(expect_error(world, ann, CODE_UNSUPPORTED));
  expect_line(world->net, guest.conn, "! Unsupported: no handler");
}

static void what_cannot_be_is_refused_at_once(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann");
  assert_int_equal(try(world, message(TARGET_PEER, 99)), ERR_NOT_FOUND);
  assert_int_equal(try(world, message(TARGET_ROOM, 99)), ERR_NOT_FOUND);
  const CommandType peers[] = {COMMAND_PACKET, COMMAND_ERROR, COMMAND_CLOSE,
                               COMMAND_JOIN};
  for (int i = 0; i < 4; i++) {
    Command to_nobody = {.type = (uint8_t)peers[i], .id = 99, .room = lobby};
    to_nobody.channel = 3000;
    assert_int_equal(try(world, to_nobody), ERR_NOT_FOUND);
  }
  const CommandType rooms[] = {COMMAND_RELAY, COMMAND_ROOM_DELETE};
  for (int i = 0; i < 2; i++)
    assert_int_equal(
        try(world,
            (Command){.type = (uint8_t)rooms[i], .target = TARGET_ROOM, .id = 99}),
        ERR_NOT_FOUND);
  assert_int_equal(
      try(world, (Command){.type = COMMAND_LEAVE, .id = ann.id, .room = lobby}),
      ERR_NOT_FOUND);
  assert_int_equal(
      try(world, (Command){.type = COMMAND_JOIN, .id = ann.id, .room = 99}),
      ERR_NOT_FOUND);
  Command large = message(TARGET_PEER, ann.id);
  large.body.bytes = mem_zalloc(65537);
  large.body.size = 65537;
  assert_int_equal(try(world, large), ERR_TOO_LARGE);
  large.type = COMMAND_RELAY;
  assert_int_equal(try(world, large), 0);
  large.type = COMMAND_MESSAGE;
  large.body.size = 65536;
  assert_int_equal(try(world, large), 0);
  mem_free((void *)large.body.bytes);
  relay_rollback(world->relay, (RelayMark){0});
}

static void one_handler_cannot_queue_without_end(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann");
  Command large = message(TARGET_PEER, ann.id);
  large.body.bytes = mem_zalloc(65536);
  large.body.size = 65536;
  int err = 0, count = 0;
  while (err == 0 && count < 2000) err = try(world, large), count++;
  assert_int_equal(err, ERR_COMMANDS);
  assert_in_range(count, 1000, 1024);
  mem_free((void *)large.body.bytes);
  relay_rollback(world->relay, (RelayMark){0});
}

static void a_join_goes_the_same_way_as_a_clients(void **state) {
  World *world = *state;
  script(world, 0, &(RoomKind){.auto_create = true, .hooks = HOOK_JOIN, .capacity = 1});
  uint32_t duel = create(world, "duel:1");
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  Command join_ann = {.type = COMMAND_JOIN, .id = ann.id, .room = duel};
  command(world, join_ann);
  relay_commit(world->relay);
  expect_quiet(world, ann);
  begin(world);
  Event event = next_of(world, EVENT_JOIN, ann);
  relay_admit(world->relay, &event);
  end(world);
  expect_no_answer(expect_control(world->net, ann.conn, CONTROL_JOINED));
  assert_int_equal(try(world, join_ann), ERR_EXISTS);
  join_ann.id = bob.id;
  assert_int_equal(try(world, join_ann), ERR_FULL);
}

static void a_join_that_becomes_impossible_is_told_to_the_peer(void **state) {
  World *world = *state;
  script(world, 0, &(RoomKind){.capacity = 1});
  uint32_t duel = create(world, "duel:1");
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  command(world, (Command){.type = COMMAND_JOIN, .id = ann.id, .room = duel});
  command(world, (Command){.type = COMMAND_JOIN, .id = bob.id, .room = duel});
  relay_commit(world->relay);
  expect_control(world->net, ann.conn, CONTROL_JOINED);
  expect_no_answer(expect_error(world, bob, CODE_ROOM_FULL));
}

static void a_kick_from_a_room_says_so(void **state) {
  World *world = *state;
  script(world, 0, &(RoomKind){.hooks = HOOK_LEAVE});
  uint32_t duel = create(world, "duel:1");
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  join(world, ann, "duel:1");
  join(world, bob, "duel:1");
  overlook(world, ann);
  Command kick = {.type = COMMAND_LEAVE, .id = ann.id, .room = duel};
  kick.code = CODE_KICKED;
  command(world, kick);
  command(world, kick);
  relay_commit(world->relay);
  const Sent *sent = expect_control(world->net, ann.conn, CONTROL_LEFT);
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  assert_int_equal(reader_u32(&reader), duel);
  assert_int_equal(reader_u16(&reader), CODE_KICKED);
  expect_quiet(world, ann);
  expect_control(world->net, bob.conn, CONTROL_PEER_LEFT);
  begin(world);
  assert_int_equal(next_of(world, EVENT_LEAVE, ann).a, CODE_KICKED);
  end(world);
}

static void a_room_is_reserved_at_once_and_opened_at_the_end(void **state) {
  World *world = *state;
  script(world, HOOK_ROOM_CREATE, NULL);
  Client ann = enter(world, "ann");
  int err = 0;
  uint32_t room = relay_create(world->relay, text_from("lobby"), &err);
  assert_int_equal(relay_find_room(world->relay, text_from("lobby")), room);
  assert_int_equal(relay_create(world->relay, text_from("lobby"), &err), 0);
  assert_int_equal(err, ERR_EXISTS);
  uint32_t cursor = 0;
  assert_int_equal(relay_next_room(world->relay, &cursor)->state, ROOM_RESERVED);
  command(world, (Command){.type = COMMAND_JOIN, .id = ann.id, .room = room});
  command(world, message(TARGET_ROOM, room));
  relay_commit(world->relay);
  expect_quiet(world, ann);
  begin(world);
  assert_int_equal(next(world, EVENT_CREATE).room, room);
  relay_created(world->relay, room);
  assert_int_equal(next(world, EVENT_ROOM_CREATE).room, room);
  end(world);
  expect_control(world->net, ann.conn, CONTROL_JOINED);
  expect_message(world, ann, room, "[\"hi\",1]");
}

static void a_room_made_and_deleted_by_one_handler_comes_and_goes(void **state) {
  World *world = *state;
  script(world, HOOK_ROOM_CREATE, NULL);
  int err;
  uint32_t room = relay_create(world->relay, text_from("lobby"), &err);
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = room});
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = room});
  relay_commit(world->relay);
  begin(world);
  next(world, EVENT_CREATE);
  relay_created(world->relay, room);
  next(world, EVENT_ROOM_CREATE);
  next(world, EVENT_ROOM_DELETE);
  end(world);
}

static void bad_room_names_are_invalid(void **state) {
  World *world = *state;
  char long_name[100];
  memset(long_name, 'a', sizeof long_name);
  const Text names[] = {{"", 0}, {"a\n", 2}, {long_name, 65}};
  for (int i = 0; i < 3; i++) {
    int err = 0;
    assert_int_equal(relay_create(world->relay, names[i], &err), 0);
    assert_int_equal(err, ERR_INVALID);
  }
}

static void a_closed_peer_gets_no_more_commands(void **state) {
  World *world = *state;
  script(world, 0, NULL);
  Client ann = enter(world, "ann");
  fake_end(world->net, ann.conn, CODE_CLOSED);
  begin(world);
  next_of(world, EVENT_DISCONNECT, ann);
  assert_int_equal(try(world, message(TARGET_PEER, ann.id)), ERR_NOT_FOUND);
  end(world);
}

static void what_follows_a_close_in_one_handler_is_left_out(void **state) {
  World *world = *state;
  script(world, 0, NULL);
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann");
  join(world, ann, "lobby");
  command(world, (Command){.type = COMMAND_CLOSE,
                           .id = ann.id,
                           .code = CODE_KICKED,
                           .body = text_from("bye")});
  command(world, message(TARGET_PEER, ann.id));
  command(world, (Command){.type = COMMAND_LEAVE, .id = ann.id, .room = lobby});
  command(world, (Command){.type = COMMAND_CLOSE, .id = ann.id, .code = CODE_KICKED});
  relay_commit(world->relay);
  const Sent *sent = expect_code(world->net, ann.conn, CONTROL_CLOSING, CODE_KICKED);
  Reader reader = reader_of(sent->packet.payload + 2, sent->packet.length - 2);
  expect_text(reader_str16(&reader), "bye");
  expect_quiet(world, ann);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(commands_are_kept_with_all_they_point_to),
      TEST(nothing_goes_out_before_the_commit),
      TEST(a_rollback_forgets_everything),
      TEST(a_rollback_to_a_mark_leaves_what_was_before_it),
      TEST(what_is_forgotten_for_another_reason_is_no_error),
      TEST(a_message_carries_its_options),
      TEST(a_message_to_a_room_reaches_its_members),
      TEST(a_message_to_all_reaches_those_who_came_later_too),
      TEST(text_peers_get_a_name_and_json),
      TEST(a_relay_goes_out_as_it_is_from_nobody),
      TEST(a_packet_goes_to_one_peer),
      TEST(an_error_answers_a_request),
      TEST(what_cannot_be_is_refused_at_once),
      TEST(one_handler_cannot_queue_without_end),
      TEST(a_join_goes_the_same_way_as_a_clients),
      TEST(a_join_that_becomes_impossible_is_told_to_the_peer),
      TEST(a_kick_from_a_room_says_so),
      TEST(a_room_is_reserved_at_once_and_opened_at_the_end),
      TEST(a_room_made_and_deleted_by_one_handler_comes_and_goes),
      TEST(bad_room_names_are_invalid),
      TEST(a_closed_peer_gets_no_more_commands),
      TEST(what_follows_a_close_in_one_handler_is_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
