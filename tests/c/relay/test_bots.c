// Bots: members without a connection, which the script plays.
#include "world.h"

static const RoomKind HEARS = {.auto_create = true, .hooks = HOOK_MESSAGE};

static void allow(World *world, uint32_t max_bots) {
  world->limits.max_bots = max_bots;
  relay_set_limits(world->relay, &world->limits);
}

static uint32_t reserve(World *world, uint32_t room, uint8_t flags, int *err) {
  return relay_add_bot(world->relay, room, text_from("robo"), flags, 0, err);
}

// Adds a bot and carries out its command.
static uint32_t add(World *world, uint32_t room, uint8_t flags) {
  int err;
  uint32_t bot = reserve(world, room, flags, &err);
  assert_int_equal(err, 0);
  relay_commit(world->relay);
  return bot;
}

static void a_bot_is_a_member_without_a_connection(void **state) {
  World *world = *state;
  allow(world, 2);
  script(world, 0, NULL);
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann");
  join(world, ann, "lobby");
  uint32_t bot = add(world, lobby, 0);
  expect_data(expect_control(world->net, ann.conn, CONTROL_PEER_JOINED),
              (uint32_t[]){lobby, bot}, 2, "\4robo");
  const Room *room = relay_room(world->relay, lobby);
  assert_int_equal(room->count, 2);
  assert_int_equal(room_present(room), 1);
  assert_int_equal(session_count(world->session), 1);
  session_kick(world->session, session_find(world->session, bot), CODE_KICKED, NULL);
  expect_data(expect_control(world->net, ann.conn, CONTROL_PEER_LEFT),
              (uint32_t[]){lobby, bot}, 2, "");
  begin(world);
  next(world, EVENT_DISCONNECT);
  end(world);
  assert_null(session_find(world->session, bot));
}

static void max_bots_and_the_capacity_hold_for_reserved_bots(void **state) {
  World *world = *state;
  allow(world, 3);
  script(world, 0, &(RoomKind){.capacity = 2});
  uint32_t duel = create(world, "duel:1"), lobby = create(world, "lobby");
  int err;
  RelayMark mark = relay_mark(world->relay);
  for (int i = 0; i < 2; i++) assert_true(reserve(world, duel, 0, &err) != 0);
  assert_int_equal(reserve(world, duel, 0, &err), 0);
  assert_int_equal(err, ERR_FULL);
  assert_true(reserve(world, lobby, 0, &err) != 0);
  assert_int_equal(reserve(world, lobby, 0, &err), 0);
  assert_int_equal(err, ERR_TAKEN);
  relay_forget(world->relay, mark);  // the handler has failed
  for (int i = 0; i < 2; i++) assert_true(reserve(world, duel, 0, &err) != 0);
  relay_commit(world->relay);
  assert_int_equal(relay_room(world->relay, duel)->count, 2);
}

static void a_bot_gets_what_a_client_gets_and_acts_as_one(void **state) {
  World *world = *state;
  allow(world, 2);
  script(world, 0, &HEARS);
  uint32_t duel = create(world, "duel:1");
  uint32_t bot = add(world, duel, BOT_MESSAGES), deaf = add(world, duel, 0);
  command(world, message(TARGET_ROOM, duel));
  Command but = message(TARGET_ROOM, duel);
  but.except = &bot;
  but.except_count = 1;
  command(world, but);
  command(world, message(TARGET_PEER, deaf));
  command(world, message(TARGET_ALL, 0));
  command(world, (Command){.type = COMMAND_ACT,
                           .channel = CHANNEL_MESSAGE,
                           .id = deaf,
                           .room = duel,
                           .body = text_from("[\"act\"]")});
  relay_commit(world->relay);
  begin(world);
  Event event = next_of(world, EVENT_BOT_MESSAGE, (Client){.id = bot});
  expect_text(event.data, "[\"hi\",1]");
  assert_int_equal(event.room, duel);
  event = next_of(world, EVENT_MESSAGE, (Client){.id = deaf});  // the bots alternate
  expect_text(event.data, "[\"act\"]");
  assert_int_equal(event.room, duel);
  event = next_of(world, EVENT_BOT_MESSAGE, (Client){.id = bot});
  assert_int_equal(event.room, 0);
  end(world);
}

static void a_busy_bot_drops_what_is_too_much(void **state) {
  World *world = *state;
  allow(world, 1);
  script(world, 0, &HEARS);
  uint32_t duel = create(world, "duel:1"), bot = add(world, duel, BOT_MESSAGES);
  for (int i = 0; i < RELAY_BOT_EVENTS + 10; i++)
    command(world, message(TARGET_ROOM, duel));
  relay_commit(world->relay);
  begin(world);
  for (int i = 0; i < RELAY_BOT_EVENTS; i++) next(world, EVENT_BOT_MESSAGE);
  end(world);
  assert_int_equal(session_find(world->session, bot)->dropped, 10);
}

static void bots_tick_at_the_rate_of_their_room(void **state) {
  World *world = *state;
  allow(world, 2);
  script(world, 0, &(RoomKind){.tick_rate = 20});
  uint32_t duel = create(world, "duel:1"), bot = add(world, duel, BOT_TICKS);
  fake_advance(world->net, 50);
  begin(world);
  assert_int_equal(next_of(world, EVENT_BOT_TICK, (Client){.id = bot}).a, 50000);
  end(world);
  script(world, 0, &(RoomKind){.tick_rate = 20, .hooks = HOOK_TICK});
  fake_advance(world->net, 50);
  begin(world);
  next(world, EVENT_TICK);
  next(world, EVENT_BOT_TICK);
  end(world);
  script(world, 0, &(RoomKind){.tick_rate = 20});
  relay_set_brain(world->relay, bot, 0);
  fake_advance(world->net, 500);
  expect_no_events(world);
}

static void a_player_takes_the_place_of_the_bot_that_filled_last(void **state) {
  World *world = *state;
  allow(world, 4);
  script(world, 0, &(RoomKind){.capacity = 3, .hooks = HOOK_LEAVE});
  uint32_t duel = create(world, "duel:1");
  uint32_t first = add(world, duel, BOT_FILLS), second = add(world, duel, BOT_FILLS);
  add(world, duel, 0);
  Client ann = enter(world, "ann"), bob = enter(world, "bob"),
         cid = enter(world, "cid");
  join(world, ann, "duel:1");
  begin(world);
  assert_int_equal(next_of(world, EVENT_LEAVE, (Client){.id = second}).a,
                   CODE_REPLACED);
  next(world, EVENT_DISCONNECT);
  end(world);
  join(world, bob, "duel:1");
  assert_false(relay_is_member(session_find(world->session, first), duel));
  ask_join(world, cid, "duel:1");
  expect_error(world, cid, CODE_ROOM_FULL);
  drain(world);
}

static void bots_end_with_a_room_without_players(void **state) {
  World *world = *state;
  allow(world, 4);
  script(
      world, 0,
      &(RoomKind){.has_auto_delete = true, .keep = KEEP_NONE, .auto_delete_ms = 1000});
  uint32_t duel = create(world, "duel:1");
  add(world, duel, BOT_TICKS);
  add(world, duel, BOT_FILLS);
  fake_advance(world->net, 900);
  Client ann = enter(world, "ann");
  join(world, ann, "duel:1");
  fake_advance(world->net, 2000);
  drain(world);
  assert_int_equal(relay_room(world->relay, duel)->count, 3);
  leave(world, ann, duel);
  fake_advance(world->net, 1000);
  drain(world);
  expect_no_events(world);
  assert_null(relay_room(world->relay, duel));
  uint32_t lobby = create(world, "lobby");
  // The setting max_bots limits the bots that exist now.
  for (int i = 0; i < 4; i++) add(world, lobby, 0);
}

static void bots_leave_in_any_order(void **state) {
  World *world = *state;
  allow(world, 4);
  script(world, 0, NULL);
  uint32_t lobby = create(world, "lobby"), bots[4];
  static const int ORDER[] = {1, 3, 0, 2};
  for (int i = 0; i < 4; i++) bots[i] = add(world, lobby, 0);
  const Room *room = relay_room(world->relay, lobby);
  for (int i = 0; i < 4; i++) {
    session_kick(world->session, session_find(world->session, bots[ORDER[i]]),
                 CODE_KICKED, NULL);
    drain(world);
    uint32_t count = 0;
    const Peer *last = NULL;
    for (const Peer *bot = room->first_bot; bot; bot = bot->relay.next_bot, count++) {
      assert_ptr_equal(bot->relay.previous_bot, last);
      last = bot;
    }
    assert_ptr_equal(room->last_bot, last);
    assert_int_equal(count, 3 - i);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_bot_is_a_member_without_a_connection),
      TEST(max_bots_and_the_capacity_hold_for_reserved_bots),
      TEST(a_bot_gets_what_a_client_gets_and_acts_as_one),
      TEST(a_busy_bot_drops_what_is_too_much),
      TEST(bots_tick_at_the_rate_of_their_room),
      TEST(a_player_takes_the_place_of_the_bot_that_filled_last),
      TEST(bots_leave_in_any_order),
      TEST(bots_end_with_a_room_without_players),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
