// A server inside this program: settings, handlers and their verdicts, commands, snapshots,
// with real clients.
#include <poll.h>
#include <signal.h>

#include "library_world.h"

// --- Settings and starts ---

static void settings_are_checked_as_flags_are(void **state) {
  (void)state;
  perigee_server_config *config = perigee_server_config_new();
  assert_int_equal(perigee_server_config_set(config, "max_clients", "9"), 0);
  assert_int_equal(perigee_server_config_set(config, "max_clinets", "9"),
                   PERIGEE_SERVER_INVALID);
  assert_non_null(strstr(perigee_server_config_error(config), "max_clients"));
  assert_int_equal(perigee_server_config_set(config, "port", "x"),
                   PERIGEE_SERVER_INVALID);
  assert_int_equal(perigee_server_config_set(config, "thread", "maybe"),
                   PERIGEE_SERVER_INVALID);
  perigee_server_config_free(config);
  assert_int_equal(mem_live(), 0);
}

static void a_start_that_fails_says_why(void **state) {
  (void)state;
  char port[8], error[256];
  perigee_server *first = start(NULL, NULL, NULL);
  snprintf(port, sizeof port, "%u", perigee_server_port(first));
  perigee_server_config *config = settings((const char *[]){"port", port, NULL});
  assert_null(perigee_server_start(config, NULL, NULL, error, sizeof error));
  assert_non_null(strstr(error, "in use"));
  perigee_server_config_set(config, "game", "/nowhere/at/all");
  assert_null(perigee_server_start(config, NULL, NULL, error, sizeof error));
  assert_non_null(strstr(error, "/nowhere/at/all"));
  perigee_server_config_set(config, "thread", "true");
  perigee_server_handlers handlers = all_handlers();
  assert_null(perigee_server_start(config, &handlers, NULL, error, sizeof error));
  assert_non_null(strstr(error, "handlers"));
  handlers.size = 0;
  perigee_server_config_set(config, "thread", "false");
  assert_null(perigee_server_start(config, &handlers, NULL, error, sizeof error));
  assert_non_null(strstr(error, "sizeof handlers"));
  perigee_server_config_free(config);
  perigee_server_free(first);
  assert_int_equal(mem_live(), 0);
}

// --- Handlers ---

static void the_host_hears_of_peers_and_judges_them(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  create_room(&world, "duel");
  uint32_t room = join(&world, "duel");
  const Told *told = expect_told(&world, PERIGEE_SERVER_CONNECT);
  assert_string_equal(told->peer_name, "ada");
  assert_string_equal(told->auth, "secret");
  assert_true(told->event.token != 0);
  assert_string_equal(expect_told(&world, PERIGEE_SERVER_JOIN)->room_name, "duel");
  perigee_relay(world.client, room, "hello", 5, 0);
  assert_string_equal(expect_told(&world, PERIGEE_SERVER_BROADCAST)->data, "hello");
  perigee_send(world.client, room, "move", "{\"x\":1}", 0);
  told = expect_told(&world, PERIGEE_SERVER_MESSAGE);
  assert_string_equal(told->name, "move");
  assert_string_equal(told->data, "{\"x\":1}");
  assert_int_equal(told->event.token, 0);
  perigee_send_packet(world.client, 10, 3, "abc", 3, 0);
  told = expect_told(&world, PERIGEE_SERVER_PACKET);
  assert_int_equal(told->event.channel, 10);
  assert_int_equal(told->event.number, 3);
  perigee_leave(world.client, room);
  expect_told(&world, PERIGEE_SERVER_LEAVE);
  perigee_close(world.client);
  expect_told(&world, PERIGEE_SERVER_DISCONNECT);
  world_deinit(&world);
}

static void handlers_of_ends_need_no_others(void **state) {
  (void)state;
  World world = {.verdict = PERIGEE_ACCEPT};
  perigee_server_handlers handlers = {.size = sizeof handlers,
                                      .on_disconnect = on_tell,
                                      .on_room_delete = on_tell,
                                      .on_result = on_tell};
  world.server = start(NULL, &handlers, &world);
  world.client = new_client(perigee_server_port(world.server), "ada", "");
  expect_client(&world, PERIGEE_CONNECTED);
  uint32_t room = create_room(&world, "duel");
  assert_int_equal(perigee_server_room_delete(world.server, NULL, room), 0);
  assert_string_equal(expect_told(&world, PERIGEE_SERVER_ROOM_DELETE)->room_name,
                      "duel");
  assert_int_equal(perigee_server_kick(world.server, NULL, 1, "away"), 0);
  assert_string_equal(expect_told(&world, PERIGEE_SERVER_DISCONNECT)->peer_name, "ada");
  world_deinit(&world);
}

static void a_rejected_peer_does_not_come_in(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  world.verdict = PERIGEE_REJECT;
  expect_client(&world, PERIGEE_CLOSED);
  assert_int_equal(world.client_event.code, PERIGEE_REJECTED);
  world_deinit(&world);
}

static void a_rejected_join_fails(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  expect_client(&world, PERIGEE_CONNECTED);
  world.verdict = PERIGEE_REJECT;
  perigee_join(world.client, "lobby", 0);
  expect_client(&world, PERIGEE_FAILED);
  assert_int_equal(world.client_event.code, PERIGEE_REJECTED);
  world_deinit(&world);
}

// --- Answers that come later ---

static void a_verdict_may_come_later(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  world.verdict = PERIGEE_LATER;
  uint64_t token = expect_told(&world, PERIGEE_SERVER_CONNECT)->event.token;
  assert_int_equal(perigee_server_verdict(world.server, token, PERIGEE_ACCEPT, NULL),
                   0);
  expect_client(&world, PERIGEE_CONNECTED);
  perigee_join(world.client, "lobby", 0);
  token = expect_told(&world, PERIGEE_SERVER_JOIN)->event.token;
  perigee_server_verdict(world.server, token, PERIGEE_REJECT, "not today");
  expect_client(&world, PERIGEE_FAILED);
  assert_string_equal(world.client_text, "not today");
  perigee_server_verdict(world.server, token, PERIGEE_ACCEPT, NULL);  // it is over
  turn(&world);
  world_deinit(&world);
}

static void no_verdict_in_time_is_a_refusal(void **state) {
  (void)state;
  World world;
  world_init(&world, (const char *[]){"verdict_timeout", "0.05", NULL});
  world.verdict = PERIGEE_LATER;
  expect_client(&world, PERIGEE_CLOSED);
  assert_int_equal(world.client_event.code, PERIGEE_INTERNAL);
  world_deinit(&world);
}

static void questions_are_answered(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  expect_client(&world, PERIGEE_CONNECTED);
  perigee_ask(world.client, 0, "time", NULL, 0);
  const Told *told = expect_told(&world, PERIGEE_SERVER_MESSAGE);
  assert_true(told->event.token != 0);
  assert_int_equal(perigee_server_answer(world.server, told->event.token, "12", 2), 0);
  expect_client(&world, PERIGEE_ANSWER);
  assert_string_equal(world.client_data, "12");
  perigee_ask_packet(world.client, 10, 1, "?", 1, 0);
  told = expect_told(&world, PERIGEE_SERVER_PACKET);
  perigee_server_answer(world.server, told->event.token, "!", 1);
  expect_client(&world, PERIGEE_ANSWER);
  assert_string_equal(world.client_data, "!");
  world_deinit(&world);
}

static void no_answer_in_time_is_an_error(void **state) {
  (void)state;
  World world;
  world_init(&world, (const char *[]){"verdict_timeout", "0.05", NULL});
  expect_client(&world, PERIGEE_CONNECTED);
  perigee_ask(world.client, 0, "time", NULL, 0);
  expect_client(&world, PERIGEE_FAILED);
  assert_int_equal(world.client_event.code, PERIGEE_INTERNAL);
  world_deinit(&world);
}

// --- Commands ---

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
  assert_int_equal(seen->room_count, 3);  // and the lobby
  perigee_server_snapshot_free(seen);
  world_deinit(&world);
}

// Peers that have gone are left out; of a message that is too much for the queue nothing is
// sent.
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

static int set_meta(World *world, uint32_t room, const char *key, const char *value) {
  int from = world->count;
  perigee_server_batch *batch = perigee_server_begin(world->server);
  assert_int_equal(perigee_server_room_meta(world->server, batch, room, key, value), 0);
  perigee_server_commit(batch);
  return expect_after(world, from, PERIGEE_SERVER_RESULT)->event.code;
}

static void meta_has_a_limit(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  uint32_t room = create_room(&world, "duel");
  char *value = mem_zalloc((64 << 10) + 1);
  memset(value, 'x', 64 << 10);
  assert_int_equal(set_meta(&world, room, "a", value), PERIGEE_SERVER_LIMIT);
  value[(64 << 10) - 3] = '\0';  // quotes and the key count, too
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

// --- Running ---

static int poll_again(perigee_server *server, const perigee_server_event *event,
                      void *data) {
  (void)event;
  int *codes = data;
  codes[0] = perigee_server_run(server);
  codes[1] = perigee_server_poll(server, -1);
  return PERIGEE_ACCEPT;
}

static void a_handler_cannot_run_the_server(void **state) {
  (void)state;
  int codes[2] = {0, 0};
  World world = {0};
  perigee_server_handlers handlers = {.size = sizeof handlers,
                                      .on_connect = poll_again};
  world.server = start(NULL, &handlers, codes);
  world.client = new_client(perigee_server_port(world.server), "ada", NULL);
  expect_client(&world, PERIGEE_CONNECTED);
  assert_int_equal(codes[0], PERIGEE_SERVER_INVALID);
  assert_int_equal(codes[1], PERIGEE_SERVER_INVALID);
  world_deinit(&world);
}

static void a_stopped_server_says_so(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  expect_client(&world, PERIGEE_CONNECTED);
  perigee_server_stop(world.server, "the night falls");
  perigee_server_stop(world.server, "a second one");
  uint64_t until = deadline();
  while (perigee_server_poll(world.server, 1) > 0 && now_ms() < until)
    perigee_poll(world.client, 0);
  assert_int_equal(world.told[world.count - 1].event.type, PERIGEE_SERVER_STOPPED);
  assert_string_equal(world.told[world.count - 1].text, "the night falls");
  assert_int_equal(perigee_server_kick(world.server, NULL, 1, NULL),
                   PERIGEE_SERVER_OVER);
  world_deinit(&world);
}

static volatile sig_atomic_t signals;
static void on_usr1(int number) {
  (void)number;
  signals++;
}

static void it_runs_on_a_loop_of_the_host(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  struct sigaction before, own = {.sa_handler = on_usr1}, pipe;
  sigaction(SIGUSR1, &own, &before);
  bool is_in = false;
  for (uint64_t until = deadline(); !is_in && now_ms() < until;) {
    int timeout_ms = perigee_server_timeout_ms(world.server);
    struct pollfd fd = {.fd = perigee_server_fd(world.server), .events = POLLIN};
    poll(&fd, 1, timeout_ms < 0 || timeout_ms > 5 ? 5 : timeout_ms);
    perigee_server_poll(world.server, 0);
    perigee_poll(world.client, 0);
    const PerigeeEvent *event;
    while ((event = perigee_next_event(world.client)))
      is_in |= event->type == PERIGEE_CONNECTED;
  }
  assert_true(is_in);
  sigaction(SIGPIPE, NULL, &pipe);
  assert_true(pipe.sa_handler == SIG_DFL);
  sigaction(SIGUSR1, &before, NULL);
  world_deinit(&world);
}

static void two_servers_live_beside_each_other(void **state) {
  (void)state;
  World one, other;
  world_init(&one, NULL);
  world_init(&other, NULL);
  assert_int_not_equal(perigee_server_port(one.server),
                       perigee_server_port(other.server));
  create_room(&one, "duel");
  join(&one, "duel");
  expect_client(&other, PERIGEE_CONNECTED);
  assert_false(was_told(&other, PERIGEE_SERVER_JOIN));
  perigee_free(one.client);
  perigee_server_free(one.server);
  create_room(&other, "duel");
  world_deinit(&other);
}

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

static bool has_room(const World *world, const char *name) {
  perigee_server_snapshot *seen = perigee_server_take_snapshot(world->server);
  bool has = false;
  for (size_t i = 0; i < seen->room_count; i++)
    has |= strcmp(seen->rooms[i].name.bytes, name) == 0;
  perigee_server_snapshot_free(seen);
  return has;
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
                PERIGEE_MESSAGE);  // the first, of the batch that was carried out
  turn(&world);
  assert_null(perigee_next_event(world.client));
  world_deinit_game(&world, &game);
}

// The meta of a room is one, whoever sets it.
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(settings_are_checked_as_flags_are),
      cmocka_unit_test(a_start_that_fails_says_why),
      cmocka_unit_test(the_host_hears_of_peers_and_judges_them),
      cmocka_unit_test(handlers_of_ends_need_no_others),
      cmocka_unit_test(a_rejected_peer_does_not_come_in),
      cmocka_unit_test(a_rejected_join_fails),
      cmocka_unit_test(a_verdict_may_come_later),
      cmocka_unit_test(no_verdict_in_time_is_a_refusal),
      cmocka_unit_test(questions_are_answered),
      cmocka_unit_test(no_answer_in_time_is_an_error),
      cmocka_unit_test(commands_reach_clients),
      cmocka_unit_test(a_batch_is_all_or_nothing),
      cmocka_unit_test(a_message_reaches_all_of_several_peers_or_none),
      cmocka_unit_test(calls_that_cannot_succeed_fail_at_once),
      cmocka_unit_test(a_snapshot_has_rooms_members_and_meta),
      cmocka_unit_test(meta_has_a_limit),
      cmocka_unit_test(a_handler_cannot_run_the_server),
      cmocka_unit_test(a_stopped_server_says_so),
      cmocka_unit_test(it_runs_on_a_loop_of_the_host),
      cmocka_unit_test(two_servers_live_beside_each_other),
      cmocka_unit_test(a_game_is_asked_after_the_host),
      cmocka_unit_test(a_game_answers_what_the_host_passes_on),
      cmocka_unit_test(a_batch_waits_for_the_verdicts_on_its_rooms),
      cmocka_unit_test(a_game_and_the_host_share_the_meta_of_rooms),
      cmocka_unit_test(a_reload_reports_what_became_of_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
