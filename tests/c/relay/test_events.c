// The queue of events for the script: which events it gets, in which order, and which
// are dropped because they are no longer true.
#include "world.h"

enum { ROOM_HOOKS = HOOK_JOIN | HOOK_LEAVE | HOOK_BROADCAST | HOOK_MESSAGE };

static const RoomKind HOOKED = {.auto_create = true, .hooks = ROOM_HOOKS};

// Joins a room whose kind has on_join.
static uint32_t join_hooked(World *world, Client client) {
  ask_join(world, client, "duel:1");
  begin(world);
  Event event = next_of(world, EVENT_JOIN, client);
  relay_admit(world->relay, &event);
  end(world);
  overlook(world, client);
  return event.room;
}

static void a_queue_gives_back_what_was_pushed(void **state) {
  (void)state;
  Events events = {0};
  assert_true(events_is_empty(&events));
  for (uint32_t i = 0; i < 100; i++) {
    char data[100];
    memset(data, (int)i, sizeof data);
    events_push(&events, &(Event){.type = EVENT_MESSAGE, .a = i, .data = {data, i}});
  }
  Event event;
  for (uint32_t i = 0; i < 100; i++) {
    events_push(&events, &(Event){.type = EVENT_TICK});
    assert_true(events_peek(&events, &event));
    assert_int_equal(event.a, i);
    assert_true(events_next(&events, &event));
    assert_int_equal(event.a, i);
    assert_int_equal(event.data.size, i);
    for (uint32_t j = 0; j < i; j++) assert_int_equal(event.data.bytes[j], (char)i);
  }
  for (uint32_t i = 0; i < 100; i++) assert_true(events_next(&events, &event));
  assert_false(events_next(&events, &event));
  assert_true(events_is_empty(&events));
  events_deinit(&events);
}

static void a_queue_that_grew_large_shrinks(void **state) {
  (void)state;
  Events events = {0};
  char *data = mem_zalloc(1 << 20);
  for (int i = 0; i < 8; i++)
    events_push(&events, &(Event){.type = EVENT_MESSAGE, .data = {data, 1 << 20}});
  Event event;
  while (events_next(&events, &event)) continue;
  events_trim(&events);
  assert_true(events.bytes.capacity <= 4 << 20);
  mem_free(data);
  events_deinit(&events);
}

static void no_script_no_events(void **state) {
  World *world = *state;
  create(world, "lobby");
  Client ann = enter(world, "ann");
  uint32_t lobby = join(world, ann, "lobby");
  broadcast(world, ann, lobby, "x");
  leave(world, ann, lobby);
  fake_end(world->net, ann.conn, CODE_CLOSED);
  assert_false(relay_has_events(world->relay));
}

static void without_hooks_only_the_end_is_told(void **state) {
  World *world = *state;
  script(world, 0, &(RoomKind){.auto_create = true});
  Client ann = enter(world, "ann");
  uint32_t room = join(world, ann, "duel:1");
  broadcast(world, ann, room, "x");
  leave(world, ann, room);
  assert_false(relay_has_events(world->relay));
  fake_end(world->net, ann.conn, CODE_RESET);
  begin(world);
  assert_int_equal(next_of(world, EVENT_DISCONNECT, ann).a, CODE_RESET);
  end(world);
}

static void events_of_the_layer_above_keep_their_order(void **state) {
  World *world = *state;
  script(world, 0, NULL);
  push_own(world, OWN_EVENT, 0, 1);
  push_own(world, OWN_URGENT, 0, 2);
  assert_true(relay_has_events(world->relay));
  begin(world);
  next(world, OWN_URGENT);
  // A handler caused this event, so it is the next one.
  push_own(world, OWN_BACKGROUND, 0, 3);
  expect_text(next(world, OWN_BACKGROUND).data, "own");
  assert_int_equal(next(world, OWN_EVENT).a, 1);
  end(world);
}

static void an_event_of_the_layer_above_may_not_matter_any_more(void **state) {
  World *world = *state;
  script(world, 0, NULL);
  push_own(world, OWN_EVENT, 0, 7);
  world->is_stale = true;
  expect_no_events(world);
  assert_int_equal(world->taken, 7);
}

static void messages_of_one_turn_come_in_order(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE, NULL);
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  char body[20];
  for (int i = 0; i < 100; i++) {
    snprintf(body, sizeof body, "%d", i);
    say_message(world, i % 2 ? ann : bob, 0, body);
  }
  assert_int_equal(peer_of(world, ann)->relay.queued, 50);
  begin(world);
  for (int i = 0; i < 100; i++) {
    snprintf(body, sizeof body, "%d", i);
    expect_text(next_of(world, EVENT_MESSAGE, i % 2 ? ann : bob).data, body);
  }
  end(world);
  assert_int_equal(peer_of(world, ann)->relay.queued, 0);
}

static void what_comes_behind_a_join_waits_for_the_verdict(void **state) {
  World *world = *state;
  script(world, 0, &HOOKED);
  Client bob = enter(world, "bob"), ann = enter(world, "ann");
  uint32_t room = join_hooked(world, bob);
  ask_join(world, ann, "duel:1");
  say_message(world, ann, room, "1");
  broadcast(world, ann, room, "2");
  leave(world, ann, room);
  say_message(world, ann, room, "3");
  expect_quiet(world, ann);
  begin(world);
  Event event = next_of(world, EVENT_JOIN, ann);
  relay_admit(world->relay, &event);
  expect_text(next_of(world, EVENT_MESSAGE, ann).data, "1");
  event = next_of(world, EVENT_BROADCAST, ann);
  relay_pass(world->relay, &event, event.data);
  next_of(world, EVENT_LEAVE, ann);
  end(world);
  expect_control(world->net, ann.conn, CONTROL_JOINED);
  expect_control(world->net, ann.conn, CONTROL_LEFT);
  expect_error(world, ann, CODE_NOT_IN_ROOM);
  expect_quiet(world, ann);
  expect_control(world->net, bob.conn, CONTROL_PEER_JOINED);
  expect_relayed(world, bob, room, ann.id, "2");
  expect_control(world->net, bob.conn, CONTROL_PEER_LEFT);
}

static void a_refused_join_makes_what_follows_fail(void **state) {
  World *world = *state;
  script(world, 0, &HOOKED);
  Client bob = enter(world, "bob"), ann = enter(world, "ann");
  uint32_t room = join_hooked(world, bob);
  ask_join(world, ann, "duel:1");
  say_message(world, ann, room, "1");
  begin(world);
  Event event = next_of(world, EVENT_JOIN, ann);
  relay_refuse(world->relay, &event, CODE_REJECTED, "no");
  end(world);
  expect_error(world, ann, CODE_REJECTED);
  expect_error(world, ann, CODE_NOT_IN_ROOM);
}

static void lines_wait_too(void **state) {
  World *world = *state;
  script(world, HOOK_TEXT | HOOK_MESSAGE, NULL);
  Client guest = enter_text(world);
  create(world, "lobby");
  type_line(world, guest, "one");
  type_line(world, guest, "/join lobby");
  type_line(world, guest, "/send move [1]");
  type_line(world, guest, "/send move [2]");
  type_line(world, guest, "two");
  expect_quiet(world, guest);
  begin(world);
  expect_text(next_of(world, EVENT_TEXT, guest).data, "one");
  Event first = next_of(world, EVENT_MESSAGE, guest);
  expect_text(first.data, "[\"move\",[1]]");
  assert_int_not_equal(first.room, 0);
  expect_text(next_of(world, EVENT_MESSAGE, guest).data, "[\"move\",[2]]");
  expect_text(next_of(world, EVENT_TEXT, guest).data, "two");
  end(world);
  expect_line(world->net, guest.conn, "* joined lobby, nobody else is here");
}

static void an_unhooked_broadcast_waits_behind_a_message(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE, NULL);
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  join(world, ann, "lobby");
  join(world, bob, "lobby");
  say_message(world, ann, 0, "1");
  broadcast(world, ann, lobby, "2");
  expect_quiet(world, bob);
  begin(world);
  next_of(world, EVENT_MESSAGE, ann);
  command(world, message(TARGET_PEER, bob.id));
  relay_commit(world->relay);
  end(world);
  expect_message(world, bob, 0, "[\"hi\",1]");
  expect_relayed(world, bob, lobby, ann.id, "2");
}

static void what_was_sent_before_the_end_is_handled(void **state) {
  World *world = *state;
  script(world, 0, &HOOKED);
  Client bob = enter(world, "bob"), ann = enter(world, "ann");
  uint32_t room = join_hooked(world, bob);
  join_hooked(world, ann);
  overlook(world, bob);
  say_message(world, ann, room, "1");
  broadcast(world, ann, room, "2");
  say_message(world, ann, room, "3");
  fake_end(world->net, ann.conn, CODE_CLOSED);
  expect_quiet(world, bob);
  begin(world);
  expect_text(next_of(world, EVENT_MESSAGE, ann).data, "1");
  Event event = next_of(world, EVENT_BROADCAST, ann);
  relay_pass(world->relay, &event, event.data);
  expect_text(next_of(world, EVENT_MESSAGE, ann).data, "3");
  assert_int_equal(relay_room(world->relay, room)->count, 2);
  event = next_of(world, EVENT_LEAVE, ann);
  assert_int_equal(event.room, room);
  assert_int_equal(event.a, CODE_CLOSED);
  assert_int_equal(relay_room(world->relay, room)->count, 1);
  next_of(world, EVENT_DISCONNECT, ann);
  assert_non_null(peer_of(world, ann));
  end(world);
  assert_null(peer_of(world, ann));
  expect_relayed(world, bob, room, ann.id, "2");
  expect_control(world->net, bob.conn, CONTROL_PEER_LEFT);
}

// The room that the join made is deleted with the join.
static void a_join_of_a_closed_peer_is_skipped(void **state) {
  World *world = *state;
  script(world, 0, &HOOKED);
  Client ann = enter(world, "ann");
  ask_join(world, ann, "duel:1");
  fake_end(world->net, ann.conn, CODE_CLOSED);
  begin(world);
  next(world, EVENT_ROOM_DELETE);
  next_of(world, EVENT_DISCONNECT, ann);
  end(world);
}

static void a_connect_of_a_closed_peer_is_skipped(void **state) {
  World *world = *state;
  script(world, HOOK_CONNECT, NULL);
  ConnId conn = fake_open(world->net, FRAMING_PACKETS, "192.0.2.1");
  say_hello(world->net, conn, "ann");
  fake_end(world->net, conn, CODE_CLOSED);
  expect_no_events(world);
}

static void a_kick_voids_what_waits_behind_it(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE, NULL);
  Client ann = enter(world, "ann");
  for (int i = 0; i < 3; i++) say_message(world, ann, 0, "x");
  begin(world);
  next_of(world, EVENT_MESSAGE, ann);
  command(world, (Command){.type = COMMAND_CLOSE, .id = ann.id, .code = CODE_KICKED});
  relay_commit(world->relay);
  expect_code(world->net, ann.conn, CONTROL_CLOSING, CODE_KICKED);
  assert_int_equal(next_of(world, EVENT_DISCONNECT, ann).a, CODE_KICKED);
  end(world);
  assert_null(peer_of(world, ann));
}

static void a_malformed_packet_closes_in_its_turn(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE, NULL);
  Client ann = enter(world, "ann");
  say_message(world, ann, 0, "1");
  Buf bad = empty();
  say(world->net, ann.conn, control(CONTROL_LEAVE), &bad);
  say_message(world, ann, 0, "2");
  assert_false(fake_is_closed(world->net, ann.conn));
  begin(world);
  next_of(world, EVENT_MESSAGE, ann);
  assert_int_equal(next_of(world, EVENT_DISCONNECT, ann).a, CODE_PROTOCOL);
  end(world);
  expect_code(world->net, ann.conn, CONTROL_CLOSING, CODE_PROTOCOL);
  assert_null(peer_of(world, ann));
}

static void a_message_to_a_room_deleted_meanwhile_is_answered(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE, NULL);
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  join(world, ann, "lobby");
  say_message(world, bob, 0, "delete");
  Buf payload = with_data(lobby, "x");
  say(world->net, ann.conn, asking(message_packet(), 6), &payload);
  begin(world);
  next_of(world, EVENT_MESSAGE, bob);
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = lobby});
  relay_commit(world->relay);
  end(world);
  expect_answer(expect_error(world, ann, CODE_NO_SUCH_ROOM), 6);
}

static void the_end_of_a_room_is_told_before_it_is_forgotten(void **state) {
  World *world = *state;
  script(world, HOOK_ROOM_CREATE, NULL);
  uint32_t lobby = create(world, "lobby");
  begin(world);
  assert_int_equal(next(world, EVENT_CREATE).room, lobby);
  relay_created(world->relay, lobby);
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = lobby});
  relay_commit(world->relay);
  assert_int_equal(next(world, EVENT_ROOM_CREATE).room, lobby);
  Event event = next(world, EVENT_ROOM_DELETE);
  assert_int_equal(event.room, lobby);
  expect_text(event.data, "lobby");
  assert_string_equal(relay_room(world->relay, lobby)->name, "lobby");
  end(world);
  assert_null(relay_room(world->relay, lobby));
}

static void the_last_leave_of_a_deleted_room_comes_before_its_end(void **state) {
  World *world = *state;
  script(world, 0,
         &(RoomKind){.auto_create = true, .hooks = HOOK_LEAVE | HOOK_MESSAGE});
  Client ann = enter(world, "ann");
  uint32_t room = join(world, ann, "duel:1");
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = room});
  relay_commit(world->relay);
  fake_end(world->net, ann.conn, CODE_RESET);
  begin(world);
  next_of(world, EVENT_LEAVE, ann);
  next(world, EVENT_ROOM_DELETE);
  next_of(world, EVENT_DISCONNECT, ann);
  end(world);
}

static void a_room_made_by_a_join_is_told_first(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE,
         &(RoomKind){.auto_create = true, .hooks = HOOK_JOIN | HOOK_ROOM_CREATE});
  Client ann = enter(world, "ann");
  say_message(world, ann, 0, "first");
  ask_join(world, ann, "duel:1");
  begin(world);
  next_of(world, EVENT_MESSAGE, ann);
  uint32_t room = next(world, EVENT_CREATE).room;
  relay_created(world->relay, room);
  Event event = next_of(world, EVENT_JOIN, ann);
  assert_int_equal(event.room, room);
  relay_admit(world->relay, &event);
  end(world);
  expect_control(world->net, ann.conn, CONTROL_JOINED);
}

static void backpressure_is_told_where_a_handler_is(void **state) {
  World *world = *state;
  script(world, HOOK_BACKPRESSURE, &(RoomKind){.auto_create = true});
  create(world, "lobby");
  Client ann = enter(world, "ann");
  uint32_t lobby = join(world, ann, "lobby"), duel = join(world, ann, "duel:1");
  fake_drops(world->net, ann.conn, lobby, 3, 1024);
  fake_drops(world->net, ann.conn, duel, 4, 1024);
  fake_drops(world->net, ann.conn, 0, 5, 1024);
  begin(world);
  Event event = next_of(world, EVENT_BACKPRESSURE, ann);
  assert_int_equal(event.room, lobby);
  assert_int_equal(event.a, 3);
  assert_int_equal(event.b, 1024);
  event = next_of(world, EVENT_BACKPRESSURE, ann);
  assert_int_equal(event.room, 0);
  assert_int_equal(event.a, 5);
  end(world);
  assert_int_equal(relay_stats(world->relay).dropped, 12);
}

static void a_closed_peer_under_pressure_is_not_told(void **state) {
  World *world = *state;
  script(world, HOOK_BACKPRESSURE, NULL);
  Client ann = enter(world, "ann");
  fake_drops(world->net, ann.conn, 0, 5, 1024);
  fake_end(world->net, ann.conn, CODE_RESET);
  begin(world);
  next_of(world, EVENT_DISCONNECT, ann);
  end(world);
}

static void what_waits_is_freed_with_the_relay(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE | HOOK_TEXT, &HOOKED);
  Client ann = enter(world, "ann"), bob = enter(world, "bob"),
         guest = enter_text(world);
  join_hooked(world, ann);
  say_message(world, ann, 0, "x");
  say_message(world, ann, 0, "y");
  fake_end(world->net, ann.conn, CODE_RESET);
  say_message(world, bob, 0, "x");
  type_line(world, guest, "a");
  type_line(world, guest, "/send b");
  int err;
  relay_create(world->relay, text_from("reserved"), &err);
  command(world, (Command){.type = OWN_COMMAND});
  begin(world);
  next_of(world, EVENT_MESSAGE, ann);
}

static void a_thousand_packets_of_random_kinds_keep_their_order(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE, &(RoomKind){.auto_create = true, .hooks = ROOM_HOOKS});
  Client ann = enter(world, "ann");
  uint32_t random = 7, sent = 0, got = 0;
  for (int turn = 0; turn < 100; turn++) {
    for (uint32_t i = 0; i < (random >> 20) % 20; i++) {
      random = random * 1664525 + 1013904223;
      char body[20];
      snprintf(body, sizeof body, "%u", sent);
      if ((random >> 8) % 3 == 0)
        ask_join(world, ann, "duel:1");
      else
        say_message(world, ann, 0, body), sent++;
    }
    Event event;
    begin(world);
    while (relay_next_event(world->relay, &event)) {
      if (event.type == EVENT_JOIN) relay_admit(world->relay, &event);
      if (event.type != EVENT_MESSAGE) continue;
      char body[20];
      snprintf(body, sizeof body, "%u", got++);
      expect_text(event.data, body);
    }
    random = random * 1664525 + 1013904223;
  }
  assert_int_equal(sent, got);
  assert_true(sent > 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_queue_gives_back_what_was_pushed),
      TEST(a_queue_that_grew_large_shrinks),
      TEST(no_script_no_events),
      TEST(without_hooks_only_the_end_is_told),
      TEST(events_of_the_layer_above_keep_their_order),
      TEST(an_event_of_the_layer_above_may_not_matter_any_more),
      TEST(messages_of_one_turn_come_in_order),
      TEST(what_comes_behind_a_join_waits_for_the_verdict),
      TEST(a_refused_join_makes_what_follows_fail),
      TEST(lines_wait_too),
      TEST(an_unhooked_broadcast_waits_behind_a_message),
      TEST(what_was_sent_before_the_end_is_handled),
      TEST(a_join_of_a_closed_peer_is_skipped),
      TEST(a_connect_of_a_closed_peer_is_skipped),
      TEST(a_kick_voids_what_waits_behind_it),
      TEST(a_malformed_packet_closes_in_its_turn),
      TEST(a_message_to_a_room_deleted_meanwhile_is_answered),
      TEST(the_end_of_a_room_is_told_before_it_is_forgotten),
      TEST(the_last_leave_of_a_deleted_room_comes_before_its_end),
      TEST(a_room_made_by_a_join_is_told_first),
      TEST(backpressure_is_told_where_a_handler_is),
      TEST(a_closed_peer_under_pressure_is_not_told),
      TEST(what_waits_is_freed_with_the_relay),
      TEST(a_thousand_packets_of_random_kinds_keep_their_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
