// Commands of a program to its server, and snapshots of it.
#include "library_world.h"

static void commands_reach_clients(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  uint32_t room = create_room(&world, "duel");
  join(&world, "duel");
  uint32_t peer = expect_told(&world, PERIGEE_SERVER_JOIN)->event.peer;
  perigee_server_target to_room = {.kind = PERIGEE_SERVER_TO_ROOM, .id = room};
  perigee_server_target others = {
      .kind = PERIGEE_SERVER_TO_ROOM, .id = room, .peers = &peer, .count = 1};
  perigee_server_target to_group = {
      .kind = PERIGEE_SERVER_TO_PEERS, .peers = &peer, .count = 1};
  perigee_server_send(world.server, NULL, &others, "hidden", "0", 0);
  perigee_server_send(world.server, NULL, &to_room, "news", "[1]",
                      PERIGEE_SERVER_RELIABLE);
  expect_client(&world, PERIGEE_MESSAGE);
  assert_string_equal(world.client_data, "[1]");
  perigee_server_send(world.server, NULL, &to_group, "you", NULL, 0);
  expect_client(&world, PERIGEE_MESSAGE);
  assert_string_equal(world.client_data, "null");
  perigee_server_send_packet(world.server, NULL, &to_group, 10, 7, "xyz", 3, 0);
  expect_client(&world, PERIGEE_PACKET);
  assert_int_equal(world.client_event.number, 7);
  perigee_server_relay(world.server, NULL, &to_room, "bytes", 5, 0);
  expect_client(&world, PERIGEE_RELAY);
  assert_string_equal(world.client_data, "bytes");
  perigee_server_leave(world.server, NULL, peer, room);
  expect_client(&world, PERIGEE_LEFT);
  perigee_server_join(world.server, NULL, peer, room);
  expect_client(&world, PERIGEE_JOINED);
  perigee_server_room_delete(world.server, NULL, room);
  perigee_server_kick(world.server, NULL, peer, "enough");
  expect_client(&world, PERIGEE_CLOSED);
  assert_int_equal(world.client_event.code, PERIGEE_KICKED);
  assert_int_equal(expect_told(&world, PERIGEE_SERVER_ROOM_DELETE)->event.room, room);
  world_deinit(&world);
}

static void a_batch_is_all_or_nothing(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  perigee_server_batch *batch = perigee_server_begin(world.server);
  assert_int_equal(perigee_server_room_create(world.server, batch, "one", 3), 0);
  assert_int_equal(perigee_server_kick(world.server, batch, 4711, NULL), 0);
  int request = perigee_server_commit(batch);
  const Told *told = expect_told(&world, PERIGEE_SERVER_RESULT);
  assert_int_equal(told->event.request, request);
  assert_int_equal(told->event.code, PERIGEE_SERVER_NOT_FOUND);
  int from = world.count;
  batch = perigee_server_begin(world.server);
  perigee_server_room_create(world.server, batch, "one", 3);
  perigee_server_room_create(world.server, batch, "two", 3);
  assert_true(perigee_server_commit(batch) > request);
  assert_string_equal(expect_after(&world, from, PERIGEE_SERVER_ROOM_CREATE)->room_name,
                      "one");
  told = expect_after(&world, from, PERIGEE_SERVER_RESULT);
  assert_int_equal(told->event.code, PERIGEE_SERVER_OK);
  perigee_server_cancel(perigee_server_begin(world.server));
  perigee_server_snapshot *seen = perigee_server_take_snapshot(world.server);
  assert_int_equal(seen->room_count, 3);  // one of them is the lobby
  perigee_server_snapshot_free(seen);
  world_deinit(&world);
}

// Leaves out peers that have gone. If a message for several peers does not fit into the
// queue, none of them gets it.
static void a_message_reaches_all_of_several_peers_or_none(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  expect_client(&world, PERIGEE_CONNECTED);
  uint32_t peer = expect_told(&world, PERIGEE_SERVER_CONNECT)->event.peer;
  uint32_t peers[] = {4711, peer, 4712};
  perigee_server_target several = {
      .kind = PERIGEE_SERVER_TO_PEERS, .peers = peers, .count = 3};
  uint32_t *many = mem_zalloc(2000 * sizeof *many);
  char *json = mem_zalloc(60 << 10);
  memset(json, ' ', (60 << 10) - 1);
  *json = '1';
  for (int i = 0; i < 2000; i++) many[i] = peer;
  perigee_server_target too_many = {
      .kind = PERIGEE_SERVER_TO_PEERS, .peers = many, .count = 2000};
  assert_int_equal(perigee_server_send(world.server, NULL, &too_many, "big", json, 0),
                   PERIGEE_SERVER_LIMIT);
  assert_int_equal(perigee_server_send(world.server, NULL, &several, "small", "2", 0),
                   0);
  expect_client(&world, PERIGEE_MESSAGE);
  assert_string_equal(world.client_data, "2");
  mem_free(json);
  mem_free(many);
  world_deinit(&world);
}

static void rooms_have_the_settings_that_the_host_gives(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  expect_client(&world, PERIGEE_CONNECTED);
  perigee_server_room_settings settings = {
      .size = sizeof settings, .hidden = 1, .locked = 1, .capacity = 2};
  int from = world.count;
  assert_true(
      perigee_server_room_create_with(world.server, NULL, "duel", 4, &settings) > 0);
  uint32_t room = expect_after(&world, from, PERIGEE_SERVER_RESULT)->event.room;
  perigee_list_rooms(world.client, 0);
  expect_client(&world, PERIGEE_ROOMS);
  assert_int_equal(world.client_event.count, 1);  // the lobby
  perigee_join(world.client, "duel", 0);
  expect_client(&world, PERIGEE_FAILED);
  assert_string_equal(world.client_text, "the room is locked");
  settings = (perigee_server_room_settings){
      .size = sizeof settings, .locked = -1, .password = "sesame"};
  assert_int_equal(perigee_server_room_set(world.server, NULL, room, &settings), 0);
  perigee_join(world.client, "duel", 0);
  expect_client(&world, PERIGEE_FAILED);
  perigee_join_with(world.client, "duel", "{\"password\":\"sesame\"}", 0);
  expect_client(&world, PERIGEE_JOINED);
  settings.size = 0;
  assert_int_equal(perigee_server_room_set(world.server, NULL, room, &settings),
                   PERIGEE_SERVER_INVALID);
  settings =
      (perigee_server_room_settings){.size = sizeof settings, .capacity = 2000000};
  assert_int_equal(
      perigee_server_room_create_with(world.server, NULL, "big", 3, &settings),
      PERIGEE_SERVER_INVALID);
  world_deinit(&world);
}

static void calls_that_cannot_succeed_fail_at_once(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  perigee_server_target nowhere = {.kind = 9};
  assert_int_equal(perigee_server_send(world.server, NULL, &nowhere, "a", NULL, 0),
                   PERIGEE_SERVER_INVALID);
  assert_int_equal(perigee_server_verdict(world.server, 0, PERIGEE_ACCEPT, NULL),
                   PERIGEE_SERVER_INVALID);
  uint32_t peers[] = {1, 0};
  perigee_server_target none[] = {
      {.kind = PERIGEE_SERVER_TO_PEER},
      {.kind = PERIGEE_SERVER_TO_ROOM},
      {.kind = PERIGEE_SERVER_TO_PEERS, .peers = peers, .count = 2}};
  for (int i = 0; i < 3; i++)
    assert_int_equal(
        perigee_server_send_packet(world.server, NULL, &none[i], 300, 1, "a", 1, 0),
        PERIGEE_SERVER_INVALID);
  perigee_server_event *event;
  assert_int_equal(perigee_server_wait(world.server, &event, -1),
                   PERIGEE_SERVER_INVALID);
  int request = perigee_server_room_create(world.server, NULL, "\n", 1);
  const Told *told = expect_told(&world, PERIGEE_SERVER_RESULT);
  assert_int_equal(told->event.request, request);
  assert_int_equal(told->event.code, PERIGEE_SERVER_INVALID);
  for (int code = 0; code >= PERIGEE_SERVER_HAS_THREAD; code--)
    assert_string_not_equal(perigee_server_error(code), "unknown code");
  world_deinit(&world);
}

static void a_snapshot_has_rooms_members_and_meta(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  uint32_t room = create_room(&world, "duel");
  join(&world, "duel");
  perigee_server_room_meta(world.server, NULL, room, "map", "fire");
  perigee_server_room_meta(world.server, NULL, room, "mode", "fast");
  perigee_server_room_meta(world.server, NULL, room, "map", "ice");
  perigee_server_room_meta(world.server, NULL, room, "mode", NULL);
  turn(&world);
  turn(&world);
  perigee_server_snapshot *seen = perigee_server_take_snapshot(world.server);
  const perigee_server_room_info *info = &seen->rooms[seen->room_count - 1];
  assert_int_equal(info->room, room);
  assert_string_equal(info->name.bytes, "duel");
  assert_int_equal(info->member_count, 1);
  assert_int_equal(info->members[0], seen->peers[0].peer);
  assert_string_equal(seen->peers[0].name.bytes, "ada");
  assert_int_equal(info->meta_count, 1);
  assert_string_equal(info->meta[0].bytes, "map");
  assert_string_equal(info->meta[1].bytes, "ice");
  perigee_server_snapshot_free(seen);
  world_deinit(&world);
}

static void meta_has_a_limit(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  uint32_t room = create_room(&world, "duel");
  char *value = mem_zalloc((64 << 10) + 1);
  memset(value, 'x', 64 << 10);
  assert_int_equal(set_meta(&world, room, "a", value), PERIGEE_SERVER_LIMIT);
  value[(64 << 10) - 3] = '\0';  // the quotes and the key count as well
  assert_int_equal(set_meta(&world, room, "a", value), PERIGEE_SERVER_OK);
  assert_int_equal(set_meta(&world, room, "a", value), PERIGEE_SERVER_OK);
  assert_int_equal(set_meta(&world, room, "b", ""), PERIGEE_SERVER_LIMIT);
  assert_int_equal(set_meta(&world, room, "a", NULL), PERIGEE_SERVER_OK);
  assert_int_equal(set_meta(&world, room, "b", ""), PERIGEE_SERVER_OK);
  value[40 << 10] = '\0';
  int from = world.count;
  perigee_server_batch *batch = perigee_server_begin(world.server);
  perigee_server_room_meta(world.server, batch, room, "c", value);
  perigee_server_room_meta(world.server, batch, room, "d", value);
  perigee_server_commit(batch);
  assert_int_equal(expect_after(&world, from, PERIGEE_SERVER_RESULT)->event.code,
                   PERIGEE_SERVER_LIMIT);
  assert_int_equal(set_meta(&world, room, "d", value), PERIGEE_SERVER_OK);
  assert_int_equal(perigee_server_room_meta(world.server, NULL, room, "e", "\xff"),
                   PERIGEE_SERVER_INVALID);
  mem_free(value);
  world_deinit(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(commands_reach_clients),
      cmocka_unit_test(a_batch_is_all_or_nothing),
      cmocka_unit_test(a_message_reaches_all_of_several_peers_or_none),
      cmocka_unit_test(rooms_have_the_settings_that_the_host_gives),
      cmocka_unit_test(calls_that_cannot_succeed_fail_at_once),
      cmocka_unit_test(a_snapshot_has_rooms_members_and_meta),
      cmocka_unit_test(meta_has_a_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
