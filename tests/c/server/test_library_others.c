// A server inside this program, whose rooms and peers are also seen and changed by a
// Lua game and by the control API.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include "library_world.h"

// --- With a game ---

typedef struct GameFolder {
  char path[32], file[48];
} GameFolder;

static void write_game(const GameFolder *game, const char *text) {
  FILE *file = fopen(game->file, "w");
  fputs(text, file);
  fclose(file);
}

static void world_init_game(World *world, GameFolder *game, const char *text) {
  strcpy(game->path, "/tmp/perigee-library-XXXXXX");
  assert_non_null(mkdtemp(game->path));
  snprintf(game->file, sizeof game->file, "%s/game.lua", game->path);
  write_game(game, text);
  world_init(world, (const char *[]){"game", game->path, "watch", "false", NULL});
}

static void world_deinit_game(World *world, const GameFolder *game) {
  char command[80];
  world_deinit(world);
  snprintf(command, sizeof command, "rm -r %s", game->path);
  assert_int_equal(system(command), 0);
}

static void a_game_is_asked_after_the_host(void **state) {
  (void)state;
  World world;
  GameFolder game;
  world_init_game(
      &world, &game,
      "return { on_connect = function(peer) return peer.name ~= 'ada', 'no ada' end,\n"
      "  on_message = { ping = function(peer) peer:send('pong', 1) end } }\n");
  expect_client(&world, PERIGEE_CLOSED);
  assert_true(was_told(&world, PERIGEE_SERVER_CONNECT));
  assert_string_equal(world.client_text, "no ada");
  perigee_free(world.client);
  world.client = new_client(perigee_server_port(world.server), "bob", NULL);
  expect_client(&world, PERIGEE_CONNECTED);
  perigee_send(world.client, 0, "ping", NULL, 0);
  expect_client(&world, PERIGEE_MESSAGE);
  assert_string_equal(expect_told(&world, PERIGEE_SERVER_MESSAGE)->name, "ping");
  world_deinit_game(&world, &game);
}

// A request that the host accepts goes on to the game; one that it rejects is refused.
static void a_game_answers_what_the_host_passes_on(void **state) {
  (void)state;
  World world;
  GameFolder game;
  world_init_game(
      &world, &game,
      "return { on_message = { double = function(_, n) return 2 * n end } }\n");
  expect_client(&world, PERIGEE_CONNECTED);
  perigee_ask(world.client, 0, "double", "21", 0);
  uint64_t token = expect_told(&world, PERIGEE_SERVER_MESSAGE)->event.token;
  assert_int_equal(perigee_server_verdict(world.server, token, PERIGEE_ACCEPT, NULL),
                   0);
  expect_client(&world, PERIGEE_ANSWER);
  assert_string_equal(world.client_data, "42");
  int from = world.count;
  perigee_ask(world.client, 0, "double", "21", 0);
  token = expect_after(&world, from, PERIGEE_SERVER_MESSAGE)->event.token;
  perigee_server_verdict(world.server, token, PERIGEE_REJECT, "not now");
  expect_client(&world, PERIGEE_FAILED);
  assert_int_equal(world.client_event.code, PERIGEE_REJECTED);
  assert_string_equal(world.client_text, "not now");
  world_deinit_game(&world, &game);
}

static int commit_rooms(World *world, const char *const names[2]) {
  perigee_server_target all = {.kind = PERIGEE_SERVER_TO_ALL};
  perigee_server_batch *batch = perigee_server_begin(world->server);
  for (int i = 0; i < 2; i++)
    perigee_server_room_create(world->server, batch, names[i], strlen(names[i]));
  perigee_server_send(world->server, batch, &all, "news", "1", 0);
  int from = world->count;
  int request = perigee_server_commit(batch);
  const Told *told = expect_after(world, from, PERIGEE_SERVER_RESULT);
  assert_int_equal(told->event.request, request);
  return told->event.code;
}

static void a_batch_waits_for_the_verdicts_on_its_rooms(void **state) {
  (void)state;
  World world;
  GameFolder game;
  world_init_game(&world, &game,
                  "local duel = {}\n"
                  "function duel.on_create(room)\n"
                  "  require('perigee').sleep(0.02)\n"
                  "  if room.name == 'duel:bad' then error 'not this one' end\n"
                  "end\n"
                  "return { rooms = { duel = duel, free = {} } }\n");
  expect_client(&world, PERIGEE_CONNECTED);
  const char *const bad[2][2] = {{"duel:1", "duel:bad"}, {"free", "duel:bad"}};
  for (int i = 0; i < 2; i++) {
    assert_int_equal(commit_rooms(&world, bad[i]), PERIGEE_SERVER_REFUSED);
    turn(&world);
    assert_false(has_room(&world, bad[i][0]));
    assert_false(has_room(&world, bad[i][1]));
  }
  assert_int_equal(commit_rooms(&world, (const char *[]){"duel:1", "free"}), 0);
  assert_true(has_room(&world, "duel:1"));
  assert_true(has_room(&world, "free"));
  expect_client(&world,
                // The first message, which belongs to the batch that was carried out.
                PERIGEE_MESSAGE);
  turn(&world);
  assert_null(perigee_next_event(world.client));
  world_deinit_game(&world, &game);
}

// A room has one meta for the host, the game and the API.
static void a_game_and_the_host_share_the_meta_of_rooms(void **state) {
  (void)state;
  World world;
  GameFolder game;
  world_init_game(
      &world, &game,
      "return { on_start = function() require('perigee').rooms.create 'duel' end,\n"
      "  on_create = function(room)\n"
      "    room:set_meta('map', 'ice')\n"
      "    room:set_meta('sizes', { 1, 2.5 })\n"
      "  end,\n"
      "  on_message = { map = function(_, _, room) return room:get_meta 'map' end } "
      "}\n");
  join(&world, "duel");
  uint32_t room = expect_told(&world, PERIGEE_SERVER_JOIN)->event.room;
  perigee_server_snapshot *seen = perigee_server_take_snapshot(world.server);
  const perigee_server_room_info *info = &seen->rooms[0];
  assert_int_equal(info->meta_count, 2);
  assert_string_equal(info->meta[1].bytes, "ice");
  assert_string_equal(info->meta[3].bytes, "[1,2.5]");
  perigee_server_snapshot_free(seen);
  assert_int_equal(set_meta(&world, room, "map", "a \"fire\""), PERIGEE_SERVER_OK);
  perigee_ask(world.client, world.client_event.room, "map", NULL, 0);
  uint64_t token = expect_told(&world, PERIGEE_SERVER_MESSAGE)->event.token;
  perigee_server_verdict(world.server, token, PERIGEE_ACCEPT, NULL);
  expect_client(&world, PERIGEE_ANSWER);
  assert_string_equal(world.client_data, "\"a \\\"fire\\\"\"");
  world_deinit_game(&world, &game);
}

static void a_reload_reports_what_became_of_it(void **state) {
  (void)state;
  World world;
  GameFolder game;
  world_init_game(&world, &game, "return {}\n");
  int request = perigee_server_reload(world.server);
  const Told *told = expect_told(&world, PERIGEE_SERVER_RESULT);
  assert_true(request > 0);
  assert_int_equal(told->event.request, request);
  assert_int_equal(told->event.code, PERIGEE_SERVER_OK);
  assert_true(told->event.text.size > 0);
  write_game(&game, "return {\n");
  int from = world.count;
  perigee_server_reload(world.server);
  told = expect_after(&world, from, PERIGEE_SERVER_RESULT);
  assert_int_equal(told->event.code, PERIGEE_SERVER_REFUSED);
  assert_non_null(strstr(told->text, "game.lua"));
  world_deinit_game(&world, &game);
  world_init(&world, NULL);
  perigee_server_reload(world.server);
  told = expect_told(&world, PERIGEE_SERVER_RESULT);
  assert_int_equal(told->event.code, PERIGEE_SERVER_REFUSED);
  assert_non_null(strstr(told->text, "no game to reload"));
  world_deinit(&world);
}

// --- The control API ---

// Returns a port that is free now.
static uint16_t free_port(void) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
  getsockname(fd, (struct sockaddr *)&address, &size);
  close(fd);
  return ntohs(address.sin_port);
}

// Sends a request, and polls until its whole answer is in `answer`.
static void request_api(World *world, uint16_t port, const char *request,
                        char answer[2048]) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons(port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  char text[512];
  size_t size = 0;
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
  int length =
      snprintf(text, sizeof text,
               "%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", request);
  assert_int_equal(send(fd, text, (size_t)length, 0), length);
  for (uint64_t until = deadline(); now_ms() < until; turn(world)) {
    ssize_t got = recv(fd, answer + size, 2047 - size, MSG_DONTWAIT);
    if (got > 0) size += (size_t)got;
    if (got == 0) break;
  }
  answer[size] = '\0';
  close(fd);
}

static void the_control_api_serves_an_embedded_server(void **state) {
  (void)state;
  World world;
  char admin[32], answer[2048];
  uint16_t port = free_port();
  snprintf(admin, sizeof admin, "127.0.0.1:%u", port);
  world_init(&world, (const char *[]){"admin", admin, "admin_write", "true", NULL});
  expect_client(&world, PERIGEE_CONNECTED);
  request_api(&world, port, "POST /api/rooms?name=duel", answer);
  assert_non_null(strstr(answer, " 201 "));
  assert_string_equal(expect_told(&world, PERIGEE_SERVER_ROOM_CREATE)->room_name,
                      "lobby");
  assert_true(has_room(&world, "duel"));
  request_api(&world, port, "GET /api/peers", answer);
  assert_non_null(strstr(answer, "\"name\":\"ada\""));
  request_api(&world, port, "DELETE /api/peers/ada?reason=away", answer);
  assert_non_null(strstr(answer, " 200 "));
  expect_client(&world, PERIGEE_CLOSED);
  assert_int_equal(world.client_event.code, PERIGEE_KICKED);
  request_api(&world, port, "POST /api/reload", answer);
  assert_non_null(strstr(answer, "ReloadFailed"));
  // The commands came from the API.
  assert_false(was_told(&world, PERIGEE_SERVER_RESULT));
  world_deinit(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_control_api_serves_an_embedded_server),
      cmocka_unit_test(a_game_is_asked_after_the_host),
      cmocka_unit_test(a_game_answers_what_the_host_passes_on),
      cmocka_unit_test(a_batch_waits_for_the_verdicts_on_its_rooms),
      cmocka_unit_test(a_game_and_the_host_share_the_meta_of_rooms),
      cmocka_unit_test(a_reload_reports_what_became_of_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
