// Joining, leaving, listing and deleting rooms, without a script.
#include "world.h"

static const RoomKind PLAIN = {.auto_create = true};

static void joined_lists_those_already_there(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  join(world, ann, "lobby");
  Buf name = with_str8("lobby");
  say(world->net, bob.conn, asking(control(CONTROL_JOIN), 11), &name);
  const Sent *sent = expect_control(world->net, bob.conn, CONTROL_JOINED);
  expect_answer(sent, 11);
  assert_int_equal(sent->priority, PRIORITY_NORMAL);
  assert_int_equal(sent->flags, OUT_KEEP | OUT_URGENT);
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  assert_int_equal(reader_u32(&reader), lobby);
  expect_text(reader_str8(&reader), "lobby");
  assert_int_equal(reader_u32(&reader), bob.id);
  assert_int_equal(reader_u16(&reader), 1);
  assert_int_equal(reader_u32(&reader), ann.id);
  expect_text(reader_str8(&reader), "ann");
  assert_true(reader_is_done(&reader));
  expect_quiet(world, bob);
}

static void others_see_who_comes_and_goes(void **state) {
  World *world = *state;
  create(world, "lobby");
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  uint32_t lobby = join(world, ann, "lobby");
  join(world, bob, "lobby");
  const Sent *sent = expect_control(world->net, ann.conn, CONTROL_PEER_JOINED);
  expect_data(sent, (uint32_t[]){lobby, bob.id}, 2, "\3bob");
  assert_int_equal(sent->priority, PRIORITY_NORMAL);
  assert_true(sent->flags & OUT_KEEP);
  leave(world, bob, lobby);
  sent = expect_control(world->net, ann.conn, CONTROL_PEER_LEFT);
  expect_data(sent, (uint32_t[]){lobby, bob.id}, 2, "");
  expect_quiet(world, ann);
}

static void left_answers_a_leave(void **state) {
  World *world = *state;
  create(world, "lobby");
  Client ann = enter(world, "ann");
  uint32_t lobby = join(world, ann, "lobby");
  Buf room = with_u32(lobby);
  say(world->net, ann.conn, asking(control(CONTROL_LEAVE), 6), &room);
  const Sent *sent = expect_control(world->net, ann.conn, CONTROL_LEFT);
  expect_answer(sent, 6);
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  assert_int_equal(reader_u32(&reader), lobby);
  assert_int_equal(reader_u16(&reader), CODE_CLOSED);
  assert_true(reader_is_done(&reader));
  assert_int_equal(fake_group_count(world->net, ann.conn), 0);
}

static void a_disconnect_leaves_all_rooms(void **state) {
  World *world = *state;
  uint32_t one = create(world, "one"), two = create(world, "two");
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  join(world, ann, "one");
  join(world, ann, "two");
  join(world, bob, "two");
  join(world, bob, "one");
  overlook(world, ann);
  fake_end(world->net, bob.conn, CODE_RESET);
  expect_data(expect_control(world->net, ann.conn, CONTROL_PEER_LEFT),
              (uint32_t[]){two, bob.id}, 2, "");
  expect_data(expect_control(world->net, ann.conn, CONTROL_PEER_LEFT),
              (uint32_t[]){one, bob.id}, 2, "");
  assert_null(peer_of(world, bob));
  assert_int_equal(relay_room(world->relay, one)->count, 1);
}

static void bad_room_names_are_protocol_errors(void **state) {
  World *world = *state;
  script(world, 0, &PLAIN);
  Client ann = enter(world, "ann");
  const char *names[] = {"", "a\nb", "duel:\x7f", "\xc0\x80"};
  for (int i = 0; i < 4; i++) {
    ask_join(world, ann, names[i]);
    expect_error(world, ann, CODE_PROTOCOL);
  }
  assert_false(fake_is_closed(world->net, ann.conn));
}

static void malformed_control_packets_close(void **state) {
  World *world = *state;
  const ControlType types[] = {CONTROL_JOIN, CONTROL_LEAVE, CONTROL_BROADCAST,
                               CONTROL_CHANNEL_OPEN, CONTROL_CHANNEL_CLOSE};
  for (int i = 0; i < 5; i++) {
    Client ann = enter(world, "ann");
    Buf payload = empty();
    buf_u8(&payload, 200);
    say(world->net, ann.conn, control(types[i]), &payload);
    expect_code(world->net, ann.conn, CONTROL_CLOSING, CODE_PROTOCOL);
    assert_true(fake_is_closed(world->net, ann.conn));
  }
  Client ann = enter(world, "ann");
  Buf payload = with_u32(0);
  say(world->net, ann.conn, control(CONTROL_ROOM_LIST), &payload);
  expect_code(world->net, ann.conn, CONTROL_CLOSING, CODE_PROTOCOL);
}

static void what_only_servers_send_is_unsupported(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann");
  const int types[] = {0, 12, 129, 132, 140, 65535};
  for (int i = 0; i < 6; i++) {
    Buf payload = empty();
    say(world->net, ann.conn, asking(control((ControlType)types[i]), 3), &payload);
    expect_answer(expect_error(world, ann, CODE_UNSUPPORTED), 3);
  }
}

static void a_missing_room_is_no_such_room(void **state) {
  World *world = *state;
  Client ann = enter(world, "ann");
  Buf name = with_str8("lobby");
  say(world->net, ann.conn, asking(control(CONTROL_JOIN), 4), &name);
  expect_answer(expect_error(world, ann, CODE_NO_SUCH_ROOM), 4);
  leave(world, ann, 99);
  expect_no_answer(expect_error(world, ann, CODE_NO_SUCH_ROOM));
}

static void a_room_is_made_where_its_kind_says_so(void **state) {
  World *world = *state;
  script(world, 0, &PLAIN);
  Client ann = enter(world, "ann");
  uint32_t room = join(world, ann, "duel:42");
  assert_string_equal(relay_room(world->relay, room)->name, "duel:42");
  join(world, ann, "duel");
  ask_join(world, ann, "dual:1");
  expect_error(world, ann, CODE_NO_SUCH_ROOM);
}

static void too_many_rooms_is_server_full(void **state) {
  World *world = *state;
  script(world, 0, &PLAIN);
  Client ann = enter(world, "ann");
  char name[20];
  for (uint32_t i = 0; i < world->limits.max_rooms; i++) {
    snprintf(name, sizeof name, "duel:%u", i);
    join(world, ann, name);
  }
  ask_join(world, ann, "duel:x");
  expect_error(world, ann, CODE_SERVER_FULL);
  int err;
  assert_int_equal(relay_create(world->relay, text_from("y"), &err), 0);
  assert_int_equal(err, ERR_FULL);
}

static void nobody_joins_twice(void **state) {
  World *world = *state;
  create(world, "lobby");
  Client ann = enter(world, "ann");
  join(world, ann, "lobby");
  ask_join(world, ann, "lobby");
  expect_error(world, ann, CODE_ALREADY_IN_ROOM);
}

static void a_room_at_its_capacity_is_full(void **state) {
  World *world = *state;
  script(world, 0, &(RoomKind){.auto_create = true, .capacity = 2});
  Client ann = enter(world, "ann"), bob = enter(world, "bob"),
         eve = enter(world, "eve");
  uint32_t room = join(world, ann, "duel:1");
  join(world, bob, "duel:1");
  ask_join(world, eve, "duel:1");
  expect_error(world, eve, CODE_ROOM_FULL);
  leave(world, ann, room);
  join(world, eve, "duel:1");
}

static void a_peer_is_in_so_many_rooms_at_most(void **state) {
  World *world = *state;
  world->limits.max_rooms = 1000;
  relay_set_limits(world->relay, &world->limits);
  script(world, 0, &PLAIN);
  Client ann = enter(world, "ann");
  char name[20];
  for (int i = 0; i < RELAY_ROOMS_PER_PEER; i++) {
    snprintf(name, sizeof name, "duel:%d", i);
    join(world, ann, name);
  }
  ask_join(world, ann, "duel:x");
  expect_error(world, ann, CODE_ROOM_FULL);
  assert_int_equal(relay_stats(world->relay).rooms, RELAY_ROOMS_PER_PEER);
}

static void leaving_where_one_is_not_is_not_in_room(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann");
  leave(world, ann, lobby);
  expect_error(world, ann, CODE_NOT_IN_ROOM);
}

static void a_long_list_goes_on_in_peer_joined(void **state) {
  World *world = *state;
  world->limits.max_payload = 64;
  relay_set_limits(world->relay, &world->limits);
  create(world, "lobby");
  Client clients[10];
  char name[20];
  for (int i = 0; i < 10; i++) {
    snprintf(name, sizeof name, "player-%02d", i);
    clients[i] = enter(world, name);
    join(world, clients[i], "lobby");
    if (i < 9) overlook(world, clients[i]);
  }
  Client last = enter(world, "last");
  ask_join(world, last, "lobby");
  const Sent *sent = expect_control(world->net, last.conn, CONTROL_JOINED);
  assert_true(sent->packet.length <= 64);
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  reader_bytes(&reader, 4 + 6 + 4);
  uint16_t told = reader_u16(&reader);
  assert_int_equal(told, 3);
  for (uint16_t i = told; i < 10; i++) {
    sent = expect_control(world->net, last.conn, CONTROL_PEER_JOINED);
    assert_int_equal(sent->flags, OUT_KEEP | OUT_URGENT);
    reader = reader_of(sent->packet.payload, sent->packet.length);
    reader_u32(&reader);
    assert_int_equal(reader_u32(&reader), clients[i].id);
  }
  expect_quiet(world, last);
  // WELCOME, JOINED, and a third message with the rest, which counts as one waiting
  // message.
  assert_int_equal(fake_writes(world->net, last.conn), 3);
}

static void the_list_of_rooms_has_names_and_members(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby"), duel = create(world, "duel:1");
  uint32_t gone = create(world, "gone");
  Client ann = enter(world, "ann");
  join(world, ann, "lobby");
  join(world, ann, "gone");
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = gone});
  relay_commit(world->relay);
  Buf nothing = empty();
  say(world->net, ann.conn, asking(control(CONTROL_ROOM_LIST), 12), &nothing);
  const Sent *sent = expect_control(world->net, ann.conn, CONTROL_ROOMS);
  expect_answer(sent, 12);
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  assert_int_equal(reader_u16(&reader), 2);
  assert_int_equal(reader_u32(&reader), lobby);
  expect_text(reader_str8(&reader), "lobby");
  assert_int_equal(reader_u32(&reader), 1);
  assert_int_equal(reader_u32(&reader), duel);
  expect_text(reader_str8(&reader), "duel:1");
  assert_int_equal(reader_u32(&reader), 0);
  assert_true(reader_is_done(&reader));
}

static void deletion_is_soft(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  join(world, ann, "lobby");
  join(world, bob, "lobby");
  overlook(world, ann);
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = lobby});
  relay_commit(world->relay);
  expect_quiet(world, ann);
  assert_int_equal(relay_find_room(world->relay, text_from("lobby")), 0);
  broadcast(world, ann, lobby, "x");
  expect_error(world, ann, CODE_NO_SUCH_ROOM);
  ask_join(world, bob, "lobby");
  expect_error(world, bob, CODE_NO_SUCH_ROOM);
  say_message(world, ann, lobby, "[\"x\",1]");
  expect_error(world, ann, CODE_NO_SUCH_ROOM);
  uint32_t again = create(world, "lobby");
  assert_int_not_equal(again, lobby);
  leave(world, ann, lobby);
  expect_control(world->net, ann.conn, CONTROL_LEFT);
  expect_control(world->net, bob.conn, CONTROL_PEER_LEFT);
  assert_non_null(relay_room(world->relay, lobby));
  leave(world, bob, lobby);
  expect_control(world->net, bob.conn, CONTROL_LEFT);
  assert_null(relay_room(world->relay, lobby));
  assert_int_equal(relay_stats(world->relay).rooms, 1);
}

static void an_empty_room_goes_at_once_when_deleted(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = lobby});
  relay_commit(world->relay);
  assert_null(relay_room(world->relay, lobby));
}

static void auto_delete_counts_from_creation_and_from_the_last_leave(void **state) {
  World *world = *state;
  script(
      world, 0,
      &(RoomKind){.has_auto_delete = true, .auto_delete_ms = 10000, .keep = KEEP_NONE});
  uint32_t first = create(world, "duel:1"), second = create(world, "duel:2");
  Client ann = enter(world, "ann");
  fake_advance(world->net, 9999);
  join(world, ann, "duel:2");
  assert_non_null(relay_room(world->relay, first));
  fake_advance(world->net, 1);
  drain(world);
  drain(world);
  assert_null(relay_room(world->relay, first));
  fake_advance(world->net, 100000);
  assert_int_equal(relay_room(world->relay, second)->state, ROOM_OPEN);
  leave(world, ann, second);
  fake_advance(world->net, 9999);
  assert_int_equal(relay_room(world->relay, second)->state, ROOM_OPEN);
  fake_advance(world->net, 1);
  assert_int_equal(relay_room(world->relay, second)->state, ROOM_GONE);
}

static void rooms_without_auto_delete_stay(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  fake_advance(world->net, 1000000);
  assert_non_null(relay_room(world->relay, lobby));
}

// The lists of members stay consistent when members leave in any order.
static void many_come_and_go(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client clients[40];
  bool is_in[40] = {false};
  uint32_t random = 1, count = 0;
  for (int i = 0; i < 40; i++) clients[i] = enter(world, "x");
  for (int step = 0; step < 2000; step++) {
    random = random * 1664525 + 1013904223;
    uint32_t who = (random >> 8) % 40;
    if (is_in[who])
      leave(world, clients[who], lobby);
    else
      ask_join(world, clients[who], "lobby");
    is_in[who] = !is_in[who];
    count += is_in[who] ? 1 : -1u;
    const Room *room = relay_room(world->relay, lobby);
    assert_int_equal(room->count, count);
    uint32_t found = 0;
    for (uint32_t place = 0, id; (id = room_next_member(room, &place)); found++) {
      const Peer *peer = session_find(world->session, id);
      assert_int_equal(peer->relay.rooms[0].place, place - 1);
    }
    assert_int_equal(found, count);
    assert_true(room->places <= 2 * count + 1);
    assert_int_equal(fake_group_count(world->net, clients[who].conn), is_in[who]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(joined_lists_those_already_there),
      TEST(others_see_who_comes_and_goes),
      TEST(left_answers_a_leave),
      TEST(a_disconnect_leaves_all_rooms),
      TEST(bad_room_names_are_protocol_errors),
      TEST(malformed_control_packets_close),
      TEST(what_only_servers_send_is_unsupported),
      TEST(a_missing_room_is_no_such_room),
      TEST(a_room_is_made_where_its_kind_says_so),
      TEST(too_many_rooms_is_server_full),
      TEST(nobody_joins_twice),
      TEST(a_room_at_its_capacity_is_full),
      TEST(a_peer_is_in_so_many_rooms_at_most),
      TEST(leaving_where_one_is_not_is_not_in_room),
      TEST(a_long_list_goes_on_in_peer_joined),
      TEST(the_list_of_rooms_has_names_and_members),
      TEST(deletion_is_soft),
      TEST(an_empty_room_goes_at_once_when_deleted),
      TEST(auto_delete_counts_from_creation_and_from_the_last_leave),
      TEST(rooms_without_auto_delete_stay),
      TEST(many_come_and_go),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
