// A server inside this program: settings, handlers and their verdicts, and how it runs, with real
// clients.
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
  World world = {.verdict = PERIGEE_ACCEPT, .accept = PERIGEE_ACCEPT};
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

static void the_host_gets_join_options(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  create_room(&world, "duel");
  expect_client(&world, PERIGEE_CONNECTED);
  world.verdict = PERIGEE_LATER;
  perigee_join_with(world.client, "duel", "{\"role\":\"spectator\"}", 0);
  const Told *told = expect_told(&world, PERIGEE_SERVER_JOIN);
  assert_string_equal(told->data, "{\"role\":\"spectator\"}");
  uint64_t token = told->event.token;
  perigee_server_verdict(world.server, token, PERIGEE_ACCEPT, NULL);
  expect_client(&world, PERIGEE_JOINED);
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
  // The event has a verdict already.
  perigee_server_verdict(world.server, token, PERIGEE_ACCEPT, NULL);
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

static void a_host_closes_connections_before_their_first_byte(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  expect_client(&world, PERIGEE_CONNECTED);
  const Told *told = expect_told(&world, PERIGEE_SERVER_ACCEPT);
  assert_true(told->event.port > 0);
  assert_int_equal(told->event.token, 0);
  world.accept = PERIGEE_REJECT;
  int from = world.count;
  PerigeeClient *banned =
      new_client(perigee_server_port(world.server), "eve", "secret");
  expect_after(&world, from, PERIGEE_SERVER_ACCEPT);
  for (uint64_t until = deadline();
       perigee_state(banned) != PERIGEE_STATE_CLOSED && now_ms() < until; turn(&world))
    perigee_poll(banned, 0);
  assert_int_equal(perigee_state(banned), PERIGEE_STATE_CLOSED);
  perigee_free(banned);
  for (int i = from; i < world.count; i++)
    assert_int_equal(world.told[i].event.type, PERIGEE_SERVER_ACCEPT);
  world_deinit(&world);
}

static void a_host_answers_with_faults(void **state) {
  (void)state;
  World world;
  world_init(&world, NULL);
  expect_client(&world, PERIGEE_CONNECTED);
  int from = world.count;
  assert_true(perigee_ask(world.client, 0, "buy", "7", 5000) > 0);
  uint64_t token = expect_after(&world, from, PERIGEE_SERVER_MESSAGE)->event.token;
  assert_int_equal(perigee_server_fault(world.server, token, "", NULL),
                   PERIGEE_SERVER_INVALID);
  assert_int_equal(perigee_server_fault(world.server, token, "Poor", "{"),
                   PERIGEE_SERVER_INVALID);
  assert_int_equal(perigee_server_fault(world.server, token, "Poor", "{\"need\":3}"),
                   0);
  expect_client(&world, PERIGEE_FAILED);
  assert_int_equal(world.client_event.code, PERIGEE_FAULT);
  assert_string_equal(world.client_text, "Poor: {\"need\":3}");
  world.verdict = PERIGEE_LATER;
  create_room(&world, "duel");
  perigee_join(world.client, "duel", 0);
  token = expect_told(&world, PERIGEE_SERVER_JOIN)->event.token;
  assert_int_equal(perigee_server_fault(world.server, token, "Banned", NULL), 0);
  expect_client(&world, PERIGEE_FAILED);
  assert_string_equal(world.client_text, "Banned");
  world_deinit(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(settings_are_checked_as_flags_are),
      cmocka_unit_test(a_start_that_fails_says_why),
      cmocka_unit_test(the_host_hears_of_peers_and_judges_them),
      cmocka_unit_test(handlers_of_ends_need_no_others),
      cmocka_unit_test(a_rejected_peer_does_not_come_in),
      cmocka_unit_test(the_host_gets_join_options),
      cmocka_unit_test(a_rejected_join_fails),
      cmocka_unit_test(a_verdict_may_come_later),
      cmocka_unit_test(no_verdict_in_time_is_a_refusal),
      cmocka_unit_test(questions_are_answered),
      cmocka_unit_test(no_answer_in_time_is_an_error),
      cmocka_unit_test(a_host_closes_connections_before_their_first_byte),
      cmocka_unit_test(a_host_answers_with_faults),
      cmocka_unit_test(a_handler_cannot_run_the_server),
      cmocka_unit_test(a_stopped_server_says_so),
      cmocka_unit_test(it_runs_on_a_loop_of_the_host),
      cmocka_unit_test(two_servers_live_beside_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
