// Ticks of rooms and of the game, and the effect of a reload on them.
#include "world.h"

static const RoomKind TICKING = {
    .auto_create = true, .hooks = HOOK_TICK, .tick_rate = 30};

// Lets `ms` pass, with a drain in each iteration; returns the number of events.
static uint32_t run(World *world, uint64_t ms, Event *last) {
  uint32_t count = 0;
  for (uint64_t i = 0; i < ms; i++) {
    Event event;
    fake_advance(world->net, 1);
    begin(world);
    while (relay_next_event(world->relay, &event)) *last = event, count++;
  }
  return count;
}

static void the_game_ticks_at_its_rate(void **state) {
  World *world = *state;
  script(world, HOOK_TICK, NULL);
  Event last;
  assert_int_equal(run(world, 1000, &last), 20);
  assert_int_equal(last.type, EVENT_TICK);
  assert_int_equal(last.room, 0);
  assert_int_equal(last.a, 50000);
  assert_int_equal(last.b, 0);
}

static void a_room_ticks_at_the_rate_of_its_kind(void **state) {
  World *world = *state;
  script(world, 0, &TICKING);
  uint32_t duel = create(world, "duel:1");
  create(world, "lobby");
  Event last;
  assert_int_equal(run(world, 1000, &last), 30);
  assert_int_equal(last.room, duel);
  assert_in_range(last.a, 33000, 34000);
}

static void a_kind_without_a_rate_takes_the_games(void **state) {
  World *world = *state;
  script(world, 0, &(RoomKind){.hooks = HOOK_TICK});
  create(world, "duel:1");
  Event last;
  assert_int_equal(run(world, 1000, &last), 20);
}

static void late_ticks_are_left_out_and_counted(void **state) {
  World *world = *state;
  script(world, HOOK_TICK, NULL);
  fake_jump(world->net, 275);
  begin(world);
  Event event = next(world, EVENT_TICK);
  assert_int_equal(event.a, 275000);
  assert_int_equal(event.b, 4);
  end(world);
  fake_advance(world->net, 25);
  begin(world);
  event = next(world, EVENT_TICK);
  assert_int_equal(event.a, 25000);
  assert_int_equal(event.b, 0);
  end(world);
}

static void a_tick_of_a_room_that_went_is_skipped(void **state) {
  World *world = *state;
  script(world, 0, &TICKING);
  uint32_t duel = create(world, "duel:1");
  fake_advance(world->net, 34);
  command(world, (Command){.type = COMMAND_ROOM_DELETE, .id = duel});
  relay_commit(world->relay);
  begin(world);
  next(world, EVENT_ROOM_DELETE);
  end(world);
  Event last;
  assert_int_equal(run(world, 1000, &last), 0);
}

static void a_reload_takes_ticks_away_and_brings_them(void **state) {
  World *world = *state;
  script(world, HOOK_TICK, &TICKING);
  create(world, "duel:1");
  script(world, 0, &(RoomKind){0});
  Event last;
  assert_int_equal(run(world, 1000, &last), 0);
  script(world, 0, &TICKING);
  assert_int_equal(run(world, 1000, &last), 30);
  world->limits.tick_rate = 5;
  script(world, HOOK_TICK, NULL);
  relay_set_limits(world->relay, &world->limits);
  assert_int_equal(run(world, 1000, &last), 5);
}

static void a_reload_that_changes_nothing_does_not_disturb_ticks(void **state) {
  World *world = *state;
  script(world, HOOK_TICK, NULL);
  fake_advance(world->net, 40);
  script(world, HOOK_TICK, NULL);
  fake_advance(world->net, 10);
  begin(world);
  next(world, EVENT_TICK);
  end(world);
}

static void a_reload_changes_what_holds_for_rooms(void **state) {
  World *world = *state;
  script(world, HOOK_BROADCAST | HOOK_JOIN, NULL);
  uint32_t id = create(world, "duel:1");
  const Room *room = relay_room(world->relay, id);
  assert_int_equal(room->kind.hooks, HOOK_BROADCAST | HOOK_JOIN);
  script(world, HOOK_MESSAGE | HOOK_JOIN,
         &(RoomKind){.hooks = HOOK_LEAVE, .capacity = 3});
  assert_int_equal(room->kind.hooks, HOOK_LEAVE);
  assert_int_equal(room->kind.capacity, 3);
  script(world, HOOK_MESSAGE | HOOK_JOIN, NULL);
  assert_int_equal(room->kind.hooks, HOOK_JOIN);
}

static void a_reload_may_start_and_stop_auto_delete(void **state) {
  World *world = *state;
  script(world, 0, &(RoomKind){0});
  uint32_t id = create(world, "duel:1");
  const RoomKind soon = {
      .has_auto_delete = true, .auto_delete_ms = 1000, .keep = KEEP_NONE};
  fake_advance(world->net, 5000);
  script(world, 0, &soon);
  fake_advance(world->net, 900);
  script(world, 0, &soon);
  script(world, 0, &(RoomKind){0});
  fake_advance(world->net, 5000);
  assert_int_equal(relay_room(world->relay, id)->state, ROOM_OPEN);
  script(world, 0, &soon);
  fake_advance(world->net, 1000);
  assert_int_equal(relay_room(world->relay, id)->state, ROOM_GONE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(the_game_ticks_at_its_rate),
      TEST(a_room_ticks_at_the_rate_of_its_kind),
      TEST(a_kind_without_a_rate_takes_the_games),
      TEST(late_ticks_are_left_out_and_counted),
      TEST(a_tick_of_a_room_that_went_is_skipped),
      TEST(a_reload_takes_ticks_away_and_brings_them),
      TEST(a_reload_that_changes_nothing_does_not_disturb_ticks),
      TEST(a_reload_changes_what_holds_for_rooms),
      TEST(a_reload_may_start_and_stop_auto_delete),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
