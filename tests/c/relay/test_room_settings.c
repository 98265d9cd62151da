// Settings of rooms, from their kinds and of their own: locked, password, permanent,
// resume. Also the order of members.
#include "suspended.h"

static void ask_join_with(World *world, Client client, const char *name,
                          const char *options) {
  Buf payload = with_str8(name);
  buf_append(&payload, options, strlen(options));
  say(world->net, client.conn, control(CONTROL_JOIN_WITH), &payload);
}

static void set(World *world, uint32_t room, RoomSettings settings) {
  command(world, (Command){.type = COMMAND_ROOM_SET,
                           .id = room,
                           .body = {(const char *)&settings, sizeof settings}});
  relay_commit(world->relay);
}

static RoomSettings password_of(const char *password) {
  return (RoomSettings){.given = SETTING_PASSWORD,
                        .values = {.has_password = password[0] != '\0',
                                   .password = secret_of(password, strlen(password))}};
}

static void lock(World *world, uint32_t room, bool is_locked) {
  set(world, room, (RoomSettings){SETTING_LOCKED, {.is_locked = is_locked}});
}

static void clients_do_not_join_a_locked_room(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  join(world, ann, "lobby");
  lock(world, lobby, true);
  ask_join(world, bob, "lobby");
  expect_error(world, bob, CODE_REJECTED);
  command(world, (Command){.type = COMMAND_JOIN, .id = bob.id, .room = lobby});
  relay_commit(world->relay);
  expect_control(world->net, bob.conn, CONTROL_JOINED);
  Client cid = enter(world, "cid");
  lock(world, lobby, false);
  join(world, cid, "lobby");
}

static void a_room_that_is_locked_while_on_join_decides_admits_nobody(void **state) {
  World *world = *state;
  script(world, 0, &(RoomKind){.hooks = HOOK_JOIN});
  uint32_t duel = create(world, "duel:1");
  Client ann = enter(world, "ann");
  ask_join(world, ann, "duel:1");
  begin(world);
  Event event = next_of(world, EVENT_JOIN, ann);
  lock(world, duel, true);
  relay_admit(world->relay, &event);
  end(world);
  expect_error(world, ann, CODE_REJECTED);
  assert_int_equal(relay_room(world->relay, duel)->count, 0);
}

static void a_password_is_needed_before_anything_else_shows(void **state) {
  static const char *const WRONG[] = {
      "{}",
      "{\"password\":\"\"}",
      "{\"password\":7}",
      "{\"password\":null}",
      "{\"password\":\"secre\"}",
      "{\"password\":\"secrets\"}",
      "{\"Password\":\"secret\"}",
      "{\"password\":\"secret\",\"password\":\"other\"}",
      "{\"a\":{\"password\":\"secret\"}}"};
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client ann = enter(world, "ann");
  set(world, lobby, password_of("secret"));
  lock(world, lobby, true);
  ask_join(world, ann, "lobby");
  expect_error(world, ann, CODE_UNAUTHORIZED);
  for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
    ask_join_with(world, ann, "lobby", WRONG[i]);
    expect_error(world, ann, CODE_UNAUTHORIZED);
  }
  ask_join_with(world, ann, "lobby", "{\"password\":\"secret\"}");
  expect_error(world, ann, CODE_REJECTED);
  lock(world, lobby, false);
  ask_join_with(world, ann, "lobby",
                " {\"x\":1, \"pass\\u0077ord\" : \"s\\u0065cret\"} ");
  expect_control(world->net, ann.conn, CONTROL_JOINED);
  Client bob = enter(world, "bob");
  set(world, lobby, password_of(""));
  join(world, bob, "lobby");
}

static void a_kinds_password_is_needed_to_make_its_rooms(void **state) {
  World *world = *state;
  RoomKind duel = {
      .auto_create = true, .has_password = true, .password = secret_of("secret", 6)};
  script(world, 0, &duel);
  Client ann = enter(world, "ann");
  ask_join(world, ann, "duel:1");
  expect_error(world, ann, CODE_UNAUTHORIZED);
  assert_int_equal(relay_find_room(world->relay, text_from("duel:1")), 0);
  ask_join_with(world, ann, "duel:1", "{\"password\":\"secret\"}");
  expect_control(world->net, ann.conn, CONTROL_JOINED);
}

static void a_join_that_waits_for_on_create_needs_the_password_that_it_sets(
    void **state) {
  World *world = *state;
  script(world, 0, &(RoomKind){.auto_create = true, .hooks = HOOK_ROOM_CREATE});
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  ask_join(world, ann, "duel:1");
  ask_join_with(world, bob, "duel:1", "{\"password\":\"secret\"}");
  begin(world);
  Event event = next(world, EVENT_CREATE);
  RoomSettings settings = password_of("secret");
  command(world, (Command){.type = COMMAND_ROOM_SET,
                           .id = event.room,
                           .body = {(const char *)&settings, sizeof settings}});
  relay_created(world->relay, event.room);
  relay_begin_commit(world->relay);
  end(world);
  expect_error(world, ann, CODE_UNAUTHORIZED);
  expect_control(world->net, bob.conn, CONTROL_JOINED);
}

static void join_options_reach_on_join(void **state) {
  World *world = *state;
  script(world, 0,
         &(RoomKind){.auto_create = true, .hooks = HOOK_JOIN | HOOK_ROOM_CREATE});
  Client ann = enter(world, "ann"), bob = enter(world, "bob");
  Client guest = enter_text(world);
  ask_join_with(world, ann, "duel:1", "{\"role\":\"spectator\",\"code\":1}");
  ask_join(world, bob, "duel:1");
  type_line(world, guest, "/join_with duel:1 {\"code\": 2}");
  begin(world);
  relay_created(world->relay, next(world, EVENT_CREATE).room);
  relay_commit(world->relay);
  expect_text(next_of(world, EVENT_JOIN, ann).data,
              "{\"role\":\"spectator\",\"code\":1}");
  assert_int_equal(next_of(world, EVENT_JOIN, bob).data.size, 0);
  expect_text(next_of(world, EVENT_JOIN, guest).data, "{\"code\": 2}");
  end(world);
}

static void wrong_join_options_are_protocol_errors(void **state) {
  static const char *const WRONG[] = {
      "",         "[]",   "1",    "\"a\"",      "null",    "{",
      "{\"a\":}", "{}{}", "{} x", "{\"a\":1,}", "{'a':1}", "{\"a\":\"\xff\"}"};
  World *world = *state;
  create(world, "lobby");
  Client ann = enter(world, "ann");
  for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
    ask_join_with(world, ann, "lobby", WRONG[i]);
    expect_error(world, ann, CODE_PROTOCOL);
  }
  char options[5000];
  memset(options, '[', sizeof options);
  memcpy(options, "{\"a\":", 5);
  options[4000] = '\0';
  ask_join_with(world, ann, "lobby", options);
  expect_error(world, ann, CODE_PROTOCOL);
  snprintf(options, sizeof options, "{\"a\":\"%04088d\"}", 0);
  ask_join_with(world, ann, "lobby", options);
  expect_control(world->net, ann.conn, CONTROL_JOINED);
  snprintf(options, sizeof options, "{\"a\":\"%04089d\"}", 0);
  ask_join_with(world, ann, "lobby", options);
  expect_error(world, ann, CODE_PROTOCOL);
  Buf payload = {0};
  buf_u8(&payload, 9);
  say(world->net, ann.conn, control(CONTROL_JOIN_WITH), &payload);
  expect_code(world->net, ann.conn, CONTROL_CLOSING, CODE_PROTOCOL);
}

// Each KiB of options counts as one more waiting join.
static void joins_with_options_do_not_wait_without_limit(void **state) {
  World *world = *state;
  world->limits.max_rooms = 1000;
  relay_set_limits(world->relay, &world->limits);
  script(world, 0, &(RoomKind){.auto_create = true, .hooks = HOOK_ROOM_CREATE});
  Client ann = enter(world, "ann");
  char name[20], options[4000];
  snprintf(options, sizeof options, "{\"a\":\"%03900d\"}", 0);
  for (int i = 0; i < 70; i++) {
    snprintf(name, sizeof name, "duel:%d", i);
    ask_join_with(world, ann, name, options);
    begin(world);
    next(world, EVENT_CREATE);
    end(world);
  }
  assert_int_equal(peer_of(world, ann)->relay.waiting_joins, 256);
  for (int i = 64; i < 70; i++) expect_error(world, ann, CODE_ROOM_FULL);
}

static void auto_delete_spares_rooms_that_no_join_has_made(void **state) {
  World *world = *state;
  RoomKind duel = {
      .auto_create = true, .has_auto_delete = true, .auto_delete_ms = 1000};
  script(world, 0, &duel);
  Client ann = enter(world, "ann");
  uint32_t made = create(world, "duel:1"), joined = join(world, ann, "duel:2");
  uint32_t set_up = create(world, "duel:3");
  set(world, set_up,
      (RoomSettings){SETTING_AUTO_DELETE,
                     {.has_auto_delete = true, .auto_delete_ms = 500}});
  leave(world, ann, joined);
  fake_advance(world->net, 500);
  drain(world);
  drain(world);
  assert_null(relay_room(world->relay, set_up));
  assert_non_null(relay_room(world->relay, joined));
  fake_advance(world->net, 1000);
  drain(world);
  drain(world);
  assert_null(relay_room(world->relay, joined));
  assert_non_null(relay_room(world->relay, made));
  set(world, made, (RoomSettings){SETTING_KEEP, {.keep = KEEP_NONE}});
  fake_advance(world->net, 1000);
  drain(world);
  drain(world);
  assert_null(relay_room(world->relay, made));
}

static void a_permanent_room_stays(void **state) {
  World *world = *state;
  RoomKind duel = {.auto_create = true, .has_auto_delete = true, .keep = KEEP_ALL};
  script(world, 0, &duel);
  Client ann = enter(world, "ann");
  uint32_t room = join(world, ann, "duel:1");
  leave(world, ann, room);
  fake_advance(world->net, 1000);
  assert_int_equal(relay_room(world->relay, room)->state, ROOM_OPEN);
}

static void settings_of_a_room_outlive_a_reload(void **state) {
  World *world = *state;
  script(world, 0, &(RoomKind){.capacity = 2});
  uint32_t room = create(world, "duel:1");
  lock(world, room, true);
  set(world, room, (RoomSettings){SETTING_CAPACITY, {.capacity = 3}});
  script(world, 0, &(RoomKind){.capacity = 4, .is_hidden = true});
  const RoomKind *kind = &relay_room(world->relay, room)->kind;
  assert_int_equal(kind->capacity, 3);
  assert_true(kind->is_locked && kind->is_hidden);
}

static void the_running_handler_sees_the_settings_that_it_makes(void **state) {
  World *world = *state;
  const Room *room = relay_room(world->relay, create(world, "lobby"));
  RoomSettings settings = {SETTING_HIDDEN, {.is_hidden = true}};
  command(world, (Command){.type = COMMAND_ROOM_SET,
                           .id = room->id,
                           .body = {(const char *)&settings, sizeof settings}});
  assert_true(relay_room_settings(world->relay, room).is_hidden);
  assert_false(room->kind.is_hidden);
  relay_forget(world->relay, (RelayMark){0});
  assert_false(relay_room_settings(world->relay, room).is_hidden);
}

static void the_old_list_leaves_hidden_rooms_out(void **state) {
  World *world = *state;
  create(world, "lobby");
  set(world, create(world, "secret"),
      (RoomSettings){SETTING_HIDDEN, {.is_hidden = true}});
  Client guest = enter_text(world), ann = enter(world, "ann");
  type_line(world, guest, "/rooms");
  expect_line(world->net, guest.conn, "* rooms: lobby (0)");
  join(world, ann, "secret");
}

static void members_are_in_the_order_of_joining(void **state) {
  World *world = *state;
  uint32_t lobby = create(world, "lobby");
  Client clients[9];
  for (int i = 0; i < 9; i++) {
    clients[i] = enter(world, "x");
    join(world, clients[i], "lobby");
  }
  static const int LEAVING[] = {0, 4, 2, 7, 5, 8};
  for (size_t i = 0; i < sizeof LEAVING / sizeof *LEAVING; i++) {
    leave(world, clients[LEAVING[i]], lobby);
    join(world, clients[LEAVING[i]] = enter(world, "y"), "lobby");
  }
  const Room *room = relay_room(world->relay, lobby);
  uint32_t place = 0;
  static const int ORDER[] = {1, 3, 6, 0, 4, 2, 7, 5, 8};
  for (size_t i = 0; i < 9; i++)
    assert_int_equal(room_next_member(room, &place), clients[ORDER[i]].id);
  assert_int_equal(room_next_member(room, &place), 0);
}

// --- resume = false ---

static void a_lost_member_leaves_at_once(void **state) {
  World *world = *state;
  script(world, HOOK_SUSPEND | HOOK_LEAVE | HOOK_RESUME,
         &(RoomKind){.hooks = HOOK_LEAVE, .loses_lost = true});
  uint32_t duel = create(world, "duel:1"), lobby = create(world, "lobby");
  Player ann = play(world, "ann"), bob = play(world, "bob");
  join(world, ann.client, "duel:1");
  join(world, bob.client, "lobby");
  join(world, bob.client, "duel:1");
  overlook(world, ann.client);
  fake_end(world->net, bob.client.conn, CODE_RESET);
  expect_control(world->net, ann.client.conn, CONTROL_PEER_LEFT);
  assert_int_equal(relay_room(world->relay, duel)->count, 1);
  assert_int_equal(relay_room(world->relay, duel)->suspended, 0);
  assert_int_equal(relay_room(world->relay, lobby)->count, 1);
  assert_int_equal(relay_room(world->relay, lobby)->suspended, 1);
  begin(world);
  Event event = next_of(world, EVENT_LEAVE, bob.client);
  assert_int_equal(event.room, duel);
  assert_int_equal(event.a, CODE_RESET);
  next_of(world, EVENT_SUSPEND, bob.client);
  end(world);
  Command join_duel = {.type = COMMAND_JOIN, .id = bob.client.id, .room = duel};
  assert_int_equal(relay_command(world->relay, &join_duel), ERR_NOT_FOUND);
  come_back(world, &bob, 0);
  const Sent *sent = expect_control(world->net, bob.client.conn, CONTROL_JOINED);
  Reader reader = reader_of(sent->packet.payload, sent->packet.length);
  assert_int_equal(reader_u32(&reader), lobby);
  expect_ack(world->net, bob.client.conn, 0);
  expect_quiet(world, bob.client);
}

static void a_lost_member_leaves_behind_what_it_has_sent(void **state) {
  World *world = *state;
  script(world, HOOK_MESSAGE,
         &(RoomKind){.hooks = HOOK_LEAVE | HOOK_MESSAGE, .loses_lost = true});
  uint32_t duel = create(world, "duel:1");
  Player bob = play(world, "bob");
  join(world, bob.client, "duel:1");
  say_message(world, bob.client, duel, "[\"a\",1]");
  say_message(world, bob.client, duel, "[\"b\",1]");
  fake_end(world->net, bob.client.conn, CODE_RESET);
  begin(world);
  expect_text(next_of(world, EVENT_MESSAGE, bob.client).data, "[\"a\",1]");
  expect_text(next_of(world, EVENT_MESSAGE, bob.client).data, "[\"b\",1]");
  next_of(world, EVENT_LEAVE, bob.client);
  end(world);
}

static void a_reload_takes_suspended_members_out(void **state) {
  World *world = *state;
  script(world, 0, &(RoomKind){.hooks = HOOK_LEAVE});
  uint32_t duel = create(world, "duel:1");
  Player players[5];
  for (int i = 0; i < 5; i++) {
    players[i] = play(world, "x");
    join(world, players[i].client, "duel:1");
  }
  for (int i = 1; i < 5; i++) fake_end(world->net, players[i].client.conn, CODE_RESET);
  assert_int_equal(relay_room(world->relay, duel)->suspended, 4);
  script(world, 0, &(RoomKind){.hooks = HOOK_LEAVE, .loses_lost = true});
  assert_int_equal(relay_room(world->relay, duel)->suspended, 0);
  assert_int_equal(relay_room(world->relay, duel)->count, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(clients_do_not_join_a_locked_room),
      TEST(a_room_that_is_locked_while_on_join_decides_admits_nobody),
      TEST(a_password_is_needed_before_anything_else_shows),
      TEST(a_kinds_password_is_needed_to_make_its_rooms),
      TEST(a_join_that_waits_for_on_create_needs_the_password_that_it_sets),
      TEST(join_options_reach_on_join),
      TEST(wrong_join_options_are_protocol_errors),
      TEST(joins_with_options_do_not_wait_without_limit),
      TEST(auto_delete_spares_rooms_that_no_join_has_made),
      TEST(a_permanent_room_stays),
      TEST(settings_of_a_room_outlive_a_reload),
      TEST(the_running_handler_sees_the_settings_that_it_makes),
      TEST(the_old_list_leaves_hidden_rooms_out),
      TEST(members_are_in_the_order_of_joining),
      RESUMABLE(a_lost_member_leaves_at_once),
      RESUMABLE(a_lost_member_leaves_behind_what_it_has_sent),
      RESUMABLE(a_reload_takes_suspended_members_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
