// The order of events: classes, sources, slices, and events that handlers cause.
#include "world.h"

enum { SLICE_US = 4000 };

static World *timed(void **state, uint32_t hooks) {
  World *world = *state;
  world->limits.slice_us = SLICE_US;
  relay_set_limits(world->relay, &world->limits);
  script(world, hooks,
         &(RoomKind){.auto_create = true, .hooks = HOOK_JOIN | HOOK_TICK});
  return world;
}

// Makes the handler of `event` take that long.
static void take_time(World *world, const Event *event, uint64_t us) {
  uint64_t started_us = net_clock_us(world->net);
  fake_jump(world->net, us / 1000);
  relay_charge(world->relay, event, event, started_us, net_clock_us(world->net));
}

static Event handle(World *world, EventType type, Client client, uint64_t us) {
  Event event = next_of(world, type, client);
  take_time(world, &event, us);
  return event;
}

static void peers_take_turns(void **state) {
  World *world = timed(state, HOOK_MESSAGE);
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  for (int i = 0; i < 3; i++) say_message(world, ann, 0, "x");
  say_message(world, bob, 0, "x");
  begin(world);
  next_of(world, EVENT_MESSAGE, ann);
  next_of(world, EVENT_MESSAGE, bob);
  next_of(world, EVENT_MESSAGE, ann);
  next_of(world, EVENT_MESSAGE, ann);
  end(world);
}

static void a_drain_ends_with_its_slice(void **state) {
  World *world = timed(state, HOOK_MESSAGE);
  Client ann = enter(world, "ann");
  for (int i = 0; i < 5; i++) say_message(world, ann, 0, "x");
  begin(world);
  for (int i = 0; i < 2; i++) handle(world, EVENT_MESSAGE, ann, SLICE_US / 2);
  end(world);
  assert_true(relay_has_events(world->relay));
  begin(world);
  for (int i = 0; i < 2; i++) handle(world, EVENT_MESSAGE, ann, SLICE_US / 2);
  end(world);
  begin(world);
  handle(world, EVENT_MESSAGE, ann, 0);
  end(world);
  assert_false(relay_has_events(world->relay));
}

static void ticks_and_ends_come_before_messages(void **state) {
  World *world = timed(state, HOOK_MESSAGE | HOOK_TICK);
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  say_message(world, ann, 0, "x");
  fake_end(world->net, bob.conn, CODE_RESET);
  fake_advance(world->net, 50);
  begin(world);
  next_of(world, EVENT_DISCONNECT, bob);
  next(world, EVENT_TICK);
  next_of(world, EVENT_MESSAGE, ann);
  end(world);
}

static void a_costly_event_of_the_game_waits_for_its_turn_with_the_others(
    void **state) {
  World *world = timed(state, HOOK_MESSAGE);
  Client ann = enter(world, "ann");
  uint32_t duel = create(world, "duel:1");
  drain(world);
  for (uint32_t i = 0; i < 3; i++) push_own(world, OWN_EVENT, 0, i);
  say_message(world, ann, 0, "x");
  begin(world);
  Event event = next(world, OWN_EVENT);
  take_time(world, &event, 10 * SLICE_US);
  next_of(world, EVENT_MESSAGE,
          ann);  // one event of each class, even after the end of the slice
  end(world);
  fake_jump(world->net, 50);
  fake_advance(world->net, 0);
  for (int i = 0; i < 3; i++) {  // the loop reads the sockets before the next event
    begin(world);
    if (i == 0) assert_int_equal(next(world, EVENT_TICK).room, duel);
    end(world);
  }
  say_message(world, ann, 0, "x");
  begin(world);
  next(world, OWN_EVENT);
  next_of(world, EVENT_MESSAGE, ann);
  next(world, OWN_EVENT);
  end(world);
}

static void costly_newcomers_have_a_turn_each(void **state) {
  World *world = timed(state, HOOK_MESSAGE);
  Client ann = enter(world, "ann");
  script(world, HOOK_MESSAGE | HOOK_CONNECT, NULL);
  ConnId first = fake_open(world->net, FRAMING_PACKETS, "192.0.2.1");
  say_hello(world->net, first, "bob");
  begin(world);
  Event event = next(world, EVENT_CONNECT);
  take_time(world, &event, SLICE_US - 1000);
  end(world);
  for (int i = 0; i < 3; i++) {
    ConnId conn = fake_open(world->net, FRAMING_PACKETS, "192.0.2.1");
    say_hello(world->net, conn, "cid");
    say_message(world, ann, 0, "x");
  }
  begin(world);
  int connects = 0;
  for (int i = 0; i < 4; i++) {  // one event of each of the four
    assert_true(relay_next_event(world->relay, &event));
    connects += event.type == EVENT_CONNECT;
  }
  assert_int_equal(connects, 3);
  for (int i = 0; i < 2; i++) next_of(world, EVENT_MESSAGE, ann);
  end(world);
}

static void who_was_costly_is_trusted_again_after_a_second(void **state) {
  World *world = timed(state, HOOK_MESSAGE | HOOK_TICK);
  Client ann = enter(world, "ann");
  fake_advance(world->net, 50);
  begin(world);
  Event tick = next(world, EVENT_TICK);
  take_time(world, &tick, SLICE_US - 1000);
  end(world);
  say_message(world, ann, 0, "x");
  fake_jump(world->net, 50);
  fake_advance(world->net, 0);
  begin(world);
  next_of(world, EVENT_MESSAGE, ann);
  tick = next(world, EVENT_TICK);
  take_time(world, &tick, 0);
  end(world);
  fake_jump(world->net, 1000);
  say_message(world, ann, 0, "x");
  fake_advance(world->net, 0);
  begin(world);
  next(world, EVENT_TICK);
  next_of(world, EVENT_MESSAGE, ann);
  end(world);
}

static void who_was_costly_stays_last_until_it_has_been_cheap(void **state) {
  World *world = timed(state, HOOK_MESSAGE | HOOK_TICK);
  Client ann = enter(world, "ann");
  for (int i = 0; i < 3; i++) {
    say_message(world, ann, 0, "x");
    fake_jump(world->net, 1100);
    fake_advance(world->net, 0);
    begin(world);
    if (i > 0) next_of(world, EVENT_MESSAGE, ann);
    Event tick = next(world, EVENT_TICK);
    take_time(world, &tick, SLICE_US - 1000);
    if (i == 0) next_of(world, EVENT_MESSAGE, ann);
    end(world);
  }
}

static void what_waits_for_caused_events_holds_up_nothing_else(void **state) {
  World *world = timed(state, 0);
  script(world, HOOK_MESSAGE, &(RoomKind){.auto_create = true, .hooks = HOOK_LEAVE});
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  uint32_t duel = create(world, "duel:1");
  join(world, ann, "duel:1");
  join(world, bob, "duel:1");
  drain(world);
  push_own(world, OWN_EVENT, bob.id, 1);
  push_own(world, OWN_EVENT, bob.id, 2);
  push_own(world, OWN_EVENT, 0, 3);
  command(world, (Command){.type = COMMAND_LEAVE, .id = ann.id, .room = duel});
  command(world, (Command){.type = COMMAND_LEAVE, .id = bob.id, .room = duel});
  push_own(world, OWN_URGENT, 0, 0);
  begin(world);
  Event event = next(world, OWN_URGENT);
  relay_commit(world->relay);
  handle(world, EVENT_LEAVE, ann, SLICE_US);
  assert_int_equal(next(world, OWN_EVENT).peer, 0);
  end(world);
  begin(world);
  next_of(world, EVENT_LEAVE, bob);
  uint32_t first = next_of(world, OWN_EVENT, bob).a;
  event = next_of(world, OWN_EVENT, bob);
  assert_true(event.a > first);
  end(world);
}

static void a_tick_that_waits_is_not_queued_twice(void **state) {
  World *world = timed(state, HOOK_TICK);
  for (int i = 0; i < 4; i++) fake_advance(world->net, 50);
  begin(world);
  assert_int_equal(next(world, EVENT_TICK).b, 0);
  end(world);
  fake_advance(world->net, 50);
  begin(world);
  Event tick = next(world, EVENT_TICK);
  assert_int_equal(tick.a, 200000);
  assert_int_equal(tick.b, 3);
  end(world);
}

static void what_a_handler_causes_comes_before_anything_else(void **state) {
  World *world = timed(state, HOOK_MESSAGE | HOOK_TICK);
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  uint32_t duel = create(world, "duel:1");
  drain(world);
  for (int i = 0; i < 2; i++) say_message(world, ann, 0, "x");
  say_message(world, bob, 0, "x");
  fake_advance(world->net, 50);
  begin(world);
  next(world, EVENT_TICK);
  next(world, EVENT_TICK);
  next_of(world, EVENT_MESSAGE, ann);
  command(world, (Command){.type = COMMAND_JOIN, .id = bob.id, .room = duel});
  relay_commit(world->relay);
  assert_int_equal(next_of(world, EVENT_JOIN, bob).room, duel);
  next_of(world, EVENT_MESSAGE, bob);
  next_of(world, EVENT_MESSAGE, ann);
  end(world);
}

static void an_urgent_event_comes_first(void **state) {
  World *world = timed(state, HOOK_MESSAGE | HOOK_TICK);
  Client ann = enter(world, "ann");
  say_message(world, ann, 0, "x");
  fake_advance(world->net, 50);
  push_own(world, OWN_URGENT, 0, 0);
  assert_true(relay_has_urgent(world->relay));
  begin(world);
  next(world, OWN_URGENT);
  assert_false(relay_has_urgent(world->relay));
  next(world, EVENT_TICK);
  next_of(world, EVENT_MESSAGE, ann);
  end(world);
}

static void a_chain_of_events_leaves_others_their_turns(void **state) {
  World *world = timed(state, HOOK_MESSAGE);
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  uint32_t duel = create(world, "duel:1");
  drain(world);
  for (int i = 0; i < 2; i++) say_message(world, ann, 0, "x");
  say_message(world, bob, 0, "x");
  begin(world);
  Event event = handle(world, EVENT_MESSAGE, ann, SLICE_US);
  for (int i = 0; i < 3; i++) {
    command(world, (Command){.type = COMMAND_JOIN, .id = ann.id, .room = duel});
    relay_commit(world->relay);
    if (i == 1) next_of(world, EVENT_MESSAGE, bob);
    end(world);
    begin(world);
    event = handle(world, EVENT_JOIN, ann, SLICE_US);
    assert_int_equal(event.room, duel);
  }
  next_of(world, EVENT_MESSAGE, ann);
  end(world);
}

static void a_chain_of_slow_joins_leaves_others_their_turns(void **state) {
  World *world = timed(state, 0);
  script(world, HOOK_MESSAGE, &(RoomKind){.auto_create = true, .hooks = HOOK_JOIN});
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  uint32_t duel = create(world, "duel:1");
  drain(world);
  command(world, (Command){.type = COMMAND_JOIN, .id = ann.id, .room = duel});
  relay_commit(world->relay);
  say_message(world, bob, 0, "x");
  begin(world);
  Event event = {0};
  for (int i = 0; i < 500 && event.type != EVENT_MESSAGE; i++) {
    if (!relay_next_event(world->relay, &event)) begin(world);
    if (event.type != EVENT_JOIN) continue;
    relay_refuse(world->relay, &event, CODE_REJECTED, "no");
    command(world, (Command){.type = COMMAND_JOIN, .id = ann.id, .room = duel});
    command(world, message(TARGET_ALL, 0));
    relay_begin_commit(world->relay);
    take_time(world, &event, 2 * SLICE_US);
    event.type = EVENT_TICK;
  }
  assert_int_equal(event.type, EVENT_MESSAGE);
}

static void commands_go_on_in_the_next_slices_before_any_handler(void **state) {
  enum { MANY = 5000 };
  World *world = timed(state, HOOK_MESSAGE | HOOK_TICK);
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  for (int i = 0; i < 2; i++) say_message(world, ann, 0, "x");
  begin(world);
  Event event = next_of(world, EVENT_MESSAGE, ann);
  for (int i = 0; i < MANY; i++) command(world, message(TARGET_PEER, bob.id));
  take_time(world, &event, SLICE_US);
  relay_begin_commit(world->relay);
  end(world);
  assert_in_range(fake_writes(world->net, bob.conn), 2, MANY);
  push_own(world, OWN_URGENT, 0, 0);
  for (int i = 0; fake_writes(world->net, bob.conn) <= MANY; i++) {
    assert_true(i < 100 && relay_has_urgent(world->relay));
    begin(world);
    if (!relay_next_event(world->relay, &event)) continue;
    assert_int_equal(event.type, OWN_URGENT);
    // One of them is WELCOME.
    assert_int_equal(fake_writes(world->net, bob.conn), MANY + 1);
  }
}

static void few_commands_are_not_divided_among_slices(void **state) {
  World *world = timed(state, HOOK_MESSAGE | HOOK_TICK);
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  say_message(world, ann, 0, "x");
  begin(world);
  Event event = next_of(world, EVENT_MESSAGE, ann);
  for (int i = 0; i < 1000; i++) command(world, message(TARGET_PEER, bob.id));
  take_time(world, &event, SLICE_US);
  relay_begin_commit(world->relay);
  assert_int_equal(fake_writes(world->net, bob.conn), 1001);  // one of them is WELCOME
  end(world);
}

static void what_waits_for_the_next_slice_keeps_its_data(void **state) {
  World *world = timed(state, HOOK_MESSAGE | HOOK_TICK);
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  uint32_t lobby = create(world, "lobby");
  say_message(world, ann, 0, "first");
  say_message(world, ann, 0, "second");
  begin(world);
  handle(world, EVENT_MESSAGE, ann, SLICE_US);
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = lobby});
  relay_commit(world->relay);
  end(world);
  for (int i = 0; i < 2; i++) say_message(world, bob, 0, "other");
  begin(world);
  expect_text(next(world, EVENT_ROOM_DELETE).data, "lobby");
  expect_text(next_of(world, EVENT_MESSAGE, ann).data, "second");
  for (int i = 0; i < 2; i++)
    expect_text(next_of(world, EVENT_MESSAGE, bob).data, "other");
  end(world);
}

static void who_has_too_many_waiting_is_throttled(void **state) {
  World *world = timed(state, HOOK_MESSAGE);
  Client ann = enter(world, "ann");
  for (int i = 0; i < 200; i++) say_message(world, ann, 0, "x");
  assert_true(fake_is_throttled(world->net, ann.conn));
  uint32_t got = 0;
  begin(world);
  for (Event event; relay_next_event(world->relay, &event); got++) continue;
  assert_int_equal(got, 65);
  assert_false(fake_is_throttled(world->net, ann.conn));
  while (got < 200) {
    fake_read(world->net, ann.conn);
    begin(world);
    for (Event event; relay_next_event(world->relay, &event); got++) continue;
  }
  assert_int_equal(got, 200);
}

static void who_has_too_much_waiting_is_throttled(void **state) {
  World *world = timed(state, HOOK_MESSAGE);
  Client ann = enter(world, "ann");
  char *body = mem_alloc(60001);
  memset(body, 'x', 60000);
  body[60000] = '\0';
  for (int i = 0; i < 10; i++) say_message(world, ann, 0, body);
  mem_free(body);
  assert_true(fake_is_throttled(world->net, ann.conn));
  uint32_t got = 0;
  begin(world);
  for (Event event; relay_next_event(world->relay, &event); got++) continue;
  assert_in_range(got, 4, 6);
  assert_false(fake_is_throttled(world->net, ann.conn));
}

static int deliver(World *world, Command base, uint32_t bytes) {
  char *body = mem_zalloc(bytes);
  base.body = (Text){body, bytes};
  int result = relay_command(world->relay, &base);
  mem_free(body);
  return result;
}

static void a_handler_delivers_so_much(void **state) {
  World *world = timed(state, 0);
  world->limits.delivery = 100000;
  relay_set_limits(world->relay, &world->limits);
  Client ann = enter(world, "ann");
  Command to_ann = message(TARGET_PEER, ann.id);
  relay_begin_handler(world->relay);
  assert_int_equal(deliver(world, to_ann, 40000), 0);
  assert_int_equal(deliver(world, to_ann, 40000), 0);
  assert_int_equal(deliver(world, to_ann, 40000), ERR_DELIVERY);
  relay_begin_handler(world->relay);
  assert_int_equal(deliver(world, to_ann, 40000), 0);
}

static void one_message_to_a_room_always_passes(void **state) {
  World *world = timed(state, 0);
  world->limits.delivery = 50000;
  relay_set_limits(world->relay, &world->limits);
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  join(world, ann, "lobby");
  join(world, bob, "lobby");
  Command to_room = message(TARGET_ROOM, lobby);
  relay_begin_handler(world->relay);
  assert_int_equal(deliver(world, message(TARGET_PEER, ann.id), 1000), 0);
  assert_int_equal(deliver(world, to_room, 60000), 0);
  assert_int_equal(deliver(world, message(TARGET_PEER, ann.id), 1000), 0);
  assert_int_equal(deliver(world, to_room, 60000), ERR_DELIVERY);
  relay_begin_handler(world->relay);
  assert_int_equal(deliver(world, to_room, 20000), 0);
  assert_int_equal(deliver(world, to_room, 20000), ERR_DELIVERY);
  relay_begin_handler(world->relay);
  assert_int_equal(deliver(world, message(TARGET_ALL, 0), 20000), 0);
  assert_int_equal(deliver(world, message(TARGET_ALL, 0), 60000), ERR_DELIVERY);
  assert_int_equal(deliver(world, to_room, 60000), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(peers_take_turns),
      TEST(a_drain_ends_with_its_slice),
      TEST(ticks_and_ends_come_before_messages),
      TEST(a_costly_event_of_the_game_waits_for_its_turn_with_the_others),
      TEST(costly_newcomers_have_a_turn_each),
      TEST(who_was_costly_is_trusted_again_after_a_second),
      TEST(who_was_costly_stays_last_until_it_has_been_cheap),
      TEST(what_waits_for_caused_events_holds_up_nothing_else),
      TEST(a_tick_that_waits_is_not_queued_twice),
      TEST(what_a_handler_causes_comes_before_anything_else),
      TEST(an_urgent_event_comes_first),
      TEST(a_chain_of_events_leaves_others_their_turns),
      TEST(a_chain_of_slow_joins_leaves_others_their_turns),
      TEST(commands_go_on_in_the_next_slices_before_any_handler),
      TEST(few_commands_are_not_divided_among_slices),
      TEST(what_waits_for_the_next_slice_keeps_its_data),
      TEST(who_has_too_many_waiting_is_throttled),
      TEST(who_has_too_much_waiting_is_throttled),
      TEST(a_handler_delivers_so_much),
      TEST(one_message_to_a_room_always_passes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
