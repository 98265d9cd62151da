// One order for the script and its clients: commands that wait for on_create or
// on_join, and the commands behind them.
#include "world.h"

static const RoomKind ASKING = {.auto_create = true, .hooks = HOOK_JOIN};
static const RoomKind CREATING = {.auto_create = true, .hooks = HOOK_ROOM_CREATE};

static Command join_of(Client client, uint32_t room, uint32_t token) {
  return (Command){.type = COMMAND_JOIN, .id = client.id, .room = room, .token = token};
}

static void expect_joined(World *world, Client client) {
  expect_control(world->net, client.conn, CONTROL_JOINED);
}

static uint32_t reserve(World *world, const char *name) {
  int err;
  uint32_t room = relay_create(world->relay, text_from(name), &err);
  assert_int_not_equal(room, 0);
  return room;
}

// Expects a drain in which only an outcome comes.
static void expect_outcome(World *world, EventType type, uint32_t token, Code code) {
  begin(world);
  Event event = next(world, type);
  assert_int_equal(event.a, token);
  assert_int_equal(event.b, code);
  end(world);
}

// --- on_join ---

static void commands_behind_a_join_wait_for_on_join(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE, &ASKING);
  Client ann = enter(world, "ann");
  uint32_t room = create(world, "duel:1");
  say_message(world, ann, 0, "enter");
  begin(world);
  next_of(world, EVENT_MESSAGE, ann);
  command(world, join_of(ann, room, 0));
  command(world, message(TARGET_PEER, ann.id));
  command(world, message(TARGET_ROOM, room));
  relay_commit(world->relay);
  expect_quiet(world, ann);
  Event event = next_of(world, EVENT_JOIN, ann);
  relay_admit(world->relay, &event);
  command(world, message(TARGET_ALL, 0));
  relay_commit(world->relay);
  end(world);
  expect_joined(world, ann);
  expect_message(world, ann, 0, "[\"hi\",1]");
  expect_message(world, ann, 0, "[\"hi\",1]");
  expect_message(world, ann, room, "[\"hi\",1]");
}

static void what_on_join_follows_from_is_heard_before_it(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE,
         &(RoomKind){.auto_create = true, .hooks = HOOK_JOIN | HOOK_LEAVE});
  Client ann = enter(world, "ann");
  uint32_t first = create(world, "duel:1"), second = create(world, "duel:2");
  command(world, join_of(ann, first, 0));
  relay_commit(world->relay);
  begin(world);
  Event event = next_of(world, EVENT_JOIN, ann);
  relay_admit(world->relay, &event);
  command(world, (Command){.type = COMMAND_LEAVE, .id = ann.id, .room = first});
  command(world, join_of(ann, second, 0));
  relay_commit(world->relay);
  next_of(world, EVENT_LEAVE, ann);
  event = next_of(world, EVENT_JOIN, ann);
  relay_refuse(world->relay, &event, CODE_REJECTED, "no");
  end(world);
}

static void a_handler_that_waits_holds_back_what_is_for_its_peer_alone(void **state) {
  World *world = *state;
  script(world, 0, &ASKING);
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  uint32_t room = create(world, "duel:1");
  command(world, join_of(ann, room, 0));
  command(world, message(TARGET_PEER, ann.id));
  command(world, message(TARGET_PEER, bob.id));
  relay_commit(world->relay);
  begin(world);
  Event event = next_of(world, EVENT_JOIN, ann);
  end(world);
  expect_quiet(world, ann);
  expect_message(world, bob, 0, "[\"hi\",1]");
  command(world, message(TARGET_PEER, ann.id));  // belongs to another handler
  relay_commit(world->relay);
  expect_message(world, ann, 0, "[\"hi\",1]");
  begin(world);
  relay_admit(world->relay, &event);
  end(world);
  expect_joined(world, ann);
  expect_message(world, ann, 0, "[\"hi\",1]");
}

static void what_was_held_back_ends_with_its_peer(void **state) {
  World *world = *state;
  script(world, 0, &ASKING);
  Client ann = enter(world, "ann");
  uint32_t room = create(world, "duel:1");
  command(world, join_of(ann, room, 7));
  command(world, message(TARGET_PEER, ann.id));
  relay_commit(world->relay);
  begin(world);
  Event event = next_of(world, EVENT_JOIN, ann);
  end(world);
  fake_end(world->net, ann.conn, CODE_RESET);
  begin(world);
  event = next(world, EVENT_NOT_JOINED);
  assert_int_equal(event.a, 7);
  expect_text(event.data, "the peer is gone");
  next_of(world, EVENT_DISCONNECT, ann);
  end(world);
  relay_admit(world->relay, &event);
  expect_no_events(world);
}

static void the_rest_of_commands_comes_before_what_was_caused_earlier(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE,
         &(RoomKind){.auto_create = true, .hooks = HOOK_JOIN | HOOK_LEAVE});
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  uint32_t first = create(world, "duel:1"), second = create(world, "duel:2");
  Client both[] = {ann, bob};
  for (int i = 0; i < 2; i++) {
    command(world, join_of(both[i], first, 0));
    relay_commit(world->relay);
    begin(world);
    Event event = next_of(world, EVENT_JOIN, both[i]);
    relay_admit(world->relay, &event);
    end(world);
  }
  say_message(world, ann, 0, "leave");
  begin(world);
  next_of(world, EVENT_MESSAGE, ann);
  for (int i = 0; i < 2; i++)
    command(world, (Command){.type = COMMAND_LEAVE, .id = both[i].id, .room = first});
  relay_commit(world->relay);
  next_of(world, EVENT_LEAVE, ann);
  command(world, join_of(ann, second, 0));
  command(world, message(TARGET_PEER, bob.id));
  relay_commit(world->relay);
  Event event = next_of(world, EVENT_JOIN, ann);
  relay_admit(world->relay, &event);
  overlook(world, bob);
  next_of(world, EVENT_LEAVE, bob);
  expect_message(world, bob, 0, "[\"hi\",1]");
  end(world);
}

static void a_handler_may_create_any_number_of_rooms(void **state) {
  World *world = *state;
  script(world, 0, &CREATING);
  Client ann = enter(world, "ann");
  enum { ROOMS = 700 };
  world->limits.max_rooms = ROOMS;
  relay_set_limits(world->relay, &world->limits);
  for (int i = 0; i < ROOMS; i++) {
    char name[24];
    snprintf(name, sizeof name, "duel:%d", i);
    reserve(world, name);
    command(world, message(TARGET_PEER, ann.id));
  }
  uint32_t before = fake_writes(world->net, ann.conn);
  relay_commit(world->relay);
  begin(world);
  for (uint32_t i = 0; i < ROOMS; i++) {
    uint32_t room = next(world, EVENT_CREATE).room;
    assert_int_equal(fake_writes(world->net, ann.conn), before + i);
    relay_created(world->relay, room);
  }
  end(world);
  assert_int_equal(fake_writes(world->net, ann.conn), before + ROOMS);
  overlook(world, ann);
}

static void handlers_that_join_without_end_leave_others_their_turns(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE, &ASKING);
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  uint32_t room = create(world, "duel:1");
  command(world, join_of(ann, room, 0));
  relay_commit(world->relay);
  say_message(world, bob, 0, "x");
  begin(world);
  Event event = {0};
  for (int i = 0; i < 2000 && event.type != EVENT_MESSAGE; i++) {
    if (!relay_next_event(world->relay, &event)) begin(world);
    if (event.type != EVENT_JOIN) continue;
    relay_refuse(world->relay, &event, CODE_REJECTED, "no");
    command(world, join_of(ann, room, 0));
    command(world, message(TARGET_ALL, 0));
    relay_commit(world->relay);
  }
  assert_int_equal(event.type, EVENT_MESSAGE);
  overlook(world, ann);
  overlook(world, bob);
}

// --- Outcomes ---

static void the_script_hears_what_came_of_its_join(void **state) {
  World *world = *state;
  script(world, 0, &ASKING);
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  uint32_t room = create(world, "duel:1"), hall = create(world, "hall");
  command(world, join_of(ann, room, 5));
  command(world, join_of(bob, room, 6));
  relay_commit(world->relay);
  begin(world);
  Event event = next_of(world, EVENT_JOIN, ann);
  relay_admit(world->relay, &event);
  assert_int_equal(next_of(world, EVENT_JOINED, ann).a, 5);
  event = next_of(world, EVENT_JOIN, bob);
  relay_refuse(world->relay, &event, CODE_REJECTED, "no room");
  event = next_of(world, EVENT_NOT_JOINED, bob);
  assert_int_equal(event.a, 6);
  assert_int_equal(event.b, CODE_REJECTED);
  expect_text(event.data, "no room");
  end(world);
  command(world, join_of(ann, hall, 8));
  command(world, join_of(ann, hall, 9));
  relay_commit(world->relay);
  begin(world);
  assert_int_equal(next_of(world, EVENT_JOINED, ann).a, 8);
  assert_int_equal(next_of(world, EVENT_NOT_JOINED, ann).b, CODE_ALREADY_IN_ROOM);
  end(world);
}

static ConnId knock(World *world, uint32_t *peer) {
  ConnId conn = fake_open(world->net, FRAMING_PACKETS, "192.0.2.1");
  say_hello(world->net, conn, "ann");
  begin(world);
  *peer = next(world, EVENT_CONNECT).peer;
  end(world);
  return conn;
}

static void a_join_in_on_connect_comes_after_welcome(void **state) {
  World *world = *state;
  script(world, HOOK_CONNECT, NULL);
  uint32_t room = create(world, "hall"), id;
  Client ann = {.conn = knock(world, &id)};
  ann.id = id;
  command(world, join_of(ann, room, 3));
  relay_commit(world->relay);  // on_connect waits
  expect_quiet(world, ann);
  command(world, message(TARGET_PEER, id));
  begin(world);
  assert_true(relay_accept(world->relay, id, (Text){0}));
  relay_commit(world->relay);
  assert_int_equal(next(world, EVENT_JOINED).a, 3);
  end(world);
  expect_control(world->net, ann.conn, CONTROL_WELCOME);
  expect_joined(world, ann);
  expect_message(world, ann, 0, "[\"hi\",1]");
}

static void a_join_of_a_peer_that_is_not_let_in_is_forgotten(void **state) {
  World *world = *state;
  script(world, HOOK_CONNECT, NULL);
  uint32_t room = create(world, "hall"), id;
  Client ann = {.conn = knock(world, &id)};
  ann.id = id;
  command(world, join_of(ann, room, 3));
  relay_commit(world->relay);
  relay_reject(world->relay, id, CODE_REJECTED, "no");
  expect_outcome(world, EVENT_NOT_JOINED, 3, CODE_CLOSED);
  Client bob = {.conn = knock(world, &id)};
  bob.id = id;
  command(world, join_of(bob, room, 4));
  relay_commit(world->relay);
  fake_end(world->net, bob.conn, CODE_RESET);
  assert_false(relay_accept(world->relay, id, (Text){0}));
  expect_outcome(world, EVENT_NOT_JOINED, 4, CODE_CLOSED);
}

// --- on_create ---

static void joins_wait_for_the_end_of_on_create(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE, &CREATING);
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  ask_join(world, ann, "duel:1");
  ask_join(world, bob, "duel:1");
  begin(world);
  uint32_t room = next(world, EVENT_CREATE).room;
  end(world);
  assert_int_equal(relay_room(world->relay, room)->state, ROOM_CREATING);
  assert_int_equal(relay_stats(world->relay).rooms, 0);
  expect_quiet(world, ann);
  begin(world);
  relay_created(world->relay, room);
  end(world);
  expect_joined(world, ann);
  expect_control(world->net, ann.conn, CONTROL_PEER_JOINED);
  expect_joined(world, bob);
  assert_int_equal(relay_stats(world->relay).rooms, 1);
}

static void a_peer_has_no_more_joins_waiting_than_it_may_have_rooms(void **state) {
  World *world = *state;
  script(world, 0, &CREATING);
  Client ann = enter(world, "ann");
  ask_join(world, ann, "duel:1");
  begin(world);
  uint32_t room = next(world, EVENT_CREATE).room;
  end(world);
  for (int i = 1; i < RELAY_ROOMS_PER_PEER; i++) {
    ask_join(world, ann, "duel:1");
    expect_no_events(world);
  }
  expect_quiet(world, ann);
  ask_join(world, ann, "duel:1");
  expect_no_events(world);
  expect_error(world, ann, CODE_ROOM_FULL);
  begin(world);
  relay_created(world->relay, room);
  end(world);
  expect_joined(world, ann);
  overlook(world, ann);
  assert_int_equal(peer_of(world, ann)->relay.waiting_joins, 0);
}

static void what_a_peer_sends_behind_its_join_comes_after_on_create(void **state) {
  World *world = *state;
  script(world, 0, &(RoomKind){.auto_create = true, .hooks = HOOK_ROOM_CREATE});
  Client guest = enter_text(world), ann = enter(world, "ann");
  type_line(world, guest, "/join duel:1");
  ask_join(world, ann, "duel:1");
  type_line(world, guest, "hello");
  begin(world);
  relay_created(world->relay, next(world, EVENT_CREATE).room);
  end(world);
  expect_joined(world, ann);
  assert_int_equal(expect_control(world->net, ann.conn, CONTROL_RELAYED)->packet.length,
                   8 + strlen("hello"));
}

static void a_room_whose_on_create_fails_has_never_existed(void **state) {
  World *world = *state;
  script(world, HOOK_ROOM_CREATE | HOOK_ROOM_DELETE, &CREATING);
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  ask_join(world, ann, "duel:1");
  uint32_t made = reserve(world, "duel:2");
  command(world, join_of(bob, made, 2));
  command(world, message(TARGET_ROOM, made));
  relay_commit(world->relay);
  begin(world);
  uint32_t room = next(world, EVENT_CREATE).room;
  assert_int_equal(room, made);
  relay_not_created(world->relay, room, NULL);
  Event outcome = next(world, EVENT_NOT_JOINED);
  assert_int_equal(outcome.a, 2);
  assert_int_equal(outcome.b, CODE_INTERNAL);
  room = next(world, EVENT_CREATE).room;
  relay_not_created(world->relay, room, NULL);
  end(world);
  expect_error(world, ann, CODE_INTERNAL);
  expect_error(world, bob, CODE_INTERNAL);
  assert_null(relay_room(world->relay, room));
  assert_null(relay_room(world->relay, made));
  assert_int_equal(relay_find_room(world->relay, text_from("duel:1")), 0);
  assert_int_equal(relay_stats(world->relay).rooms, 0);
  create(world, "duel:2");
}

static void a_room_deleted_before_it_is_created_comes_and_goes(void **state) {
  World *world = *state;
  script(world, HOOK_ROOM_CREATE | HOOK_ROOM_DELETE, &CREATING);
  Client ann = enter(world, "ann");
  uint32_t room = reserve(world, "duel:1");
  relay_commit(world->relay);
  begin(world);
  assert_int_equal(next(world, EVENT_CREATE).room, room);
  end(world);
  ask_join(world, ann, "duel:1");
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = room});
  relay_commit(world->relay);
  expect_no_events(world);
  expect_error(world, ann, CODE_NO_SUCH_ROOM);
  uint32_t other = reserve(world, "duel:1");
  assert_int_not_equal(other, room);
  relay_rollback(world->relay, (RelayMark){0});
  begin(world);
  relay_created(world->relay, room);
  assert_int_equal(next(world, EVENT_ROOM_CREATE).room, room);
  assert_int_equal(next(world, EVENT_ROOM_DELETE).room, room);
  end(world);
  assert_null(relay_room(world->relay, room));
}

static void a_room_that_was_deleted_and_then_fails_is_freed(void **state) {
  World *world = *state;
  script(world, 0, &CREATING);
  uint32_t room = create(world, "duel:1");
  begin(world);
  next(world, EVENT_CREATE);
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = room});
  relay_commit(world->relay);
  relay_not_created(world->relay, room, NULL);
  end(world);
  assert_null(relay_room(world->relay, room));
}

static void what_is_not_carried_out_yet_is_freed_with_the_relay(void **state) {
  World *world = *state;
  script(world, HOOK_CONNECT,
         &(RoomKind){.auto_create = true, .hooks = HOOK_JOIN | HOOK_ROOM_CREATE});
  uint32_t id, hall = create(world, "hall");
  Client late = {.conn = knock(world, &id)};
  late.id = id;
  command(world, join_of(late, hall, 1));
  relay_commit(world->relay);
  Client ann = {.conn = knock(world, &id)};
  ann.id = id;
  assert_true(relay_accept(world->relay, id, (Text){0}));
  uint32_t room = reserve(world, "duel:1"), other = reserve(world, "duel:2");
  command(world, join_of(ann, room, 2));
  command(world, message(TARGET_PEER, ann.id));
  relay_commit(world->relay);
  begin(world);
  assert_int_equal(next(world, EVENT_CREATE).room, room);
  assert_int_equal(next(world, EVENT_CREATE).room, other);
  command(world, message(TARGET_PEER, ann.id));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(commands_behind_a_join_wait_for_on_join),
      TEST(what_on_join_follows_from_is_heard_before_it),
      TEST(a_handler_that_waits_holds_back_what_is_for_its_peer_alone),
      TEST(what_was_held_back_ends_with_its_peer),
      TEST(the_rest_of_commands_comes_before_what_was_caused_earlier),
      TEST(a_handler_may_create_any_number_of_rooms),
      TEST(handlers_that_join_without_end_leave_others_their_turns),
      TEST(the_script_hears_what_came_of_its_join),
      TEST(a_join_in_on_connect_comes_after_welcome),
      TEST(a_join_of_a_peer_that_is_not_let_in_is_forgotten),
      TEST(joins_wait_for_the_end_of_on_create),
      TEST(a_peer_has_no_more_joins_waiting_than_it_may_have_rooms),
      TEST(what_a_peer_sends_behind_its_join_comes_after_on_create),
      TEST(a_room_whose_on_create_fails_has_never_existed),
      TEST(a_room_deleted_before_it_is_created_comes_and_goes),
      TEST(a_room_that_was_deleted_and_then_fails_is_freed),
      TEST(what_is_not_carried_out_yet_is_freed_with_the_relay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
