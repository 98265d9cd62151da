// A server with a thread of its own, commands from four threads, and many starts and stops.
#include <dirent.h>
#include <pthread.h>

#include "library_world.h"

enum { THREADS = 4, ROOMS = 50, STARTS = 40 };

// Waits for an event of that type and records it; skips others.
static void expect_event(World *world, int type) {
  for (uint64_t until = deadline(); now_ms() < until;) {
    perigee_server_event *event;
    if (perigee_server_wait(world->server, &event, 100) != 1) continue;
    bool is_it = event->type == type;
    if (is_it) {
      world->count = 0;
      note(world, event);
    }
    perigee_server_event_free(event);
    if (is_it) return;
  }
  fail_msg("no event %d", type);
}

static void turn_client(World *world, PerigeeEventType type) {
  for (uint64_t until = deadline(); now_ms() < until; perigee_poll(world->client, 10))
    for (const PerigeeEvent *event; (event = perigee_next_event(world->client));)
      if (event->type == type) return;
  fail_msg("the client has had no event %d", (int)type);
}

static void events_come_to_the_host(void **state) {
  (void)state;
  World world = {0};
  world.server = start((const char *[]){"thread", "true", NULL}, NULL, NULL);
  world.client = new_client(perigee_server_port(world.server), "ada", NULL);
  perigee_poll(world.client, 100);
  expect_event(&world, PERIGEE_SERVER_CONNECT);
  assert_string_equal(world.told[0].peer_name, "ada");
  perigee_server_verdict(world.server, world.told[0].event.token, PERIGEE_ACCEPT, NULL);
  turn_client(&world, PERIGEE_CONNECTED);
  int request = perigee_server_room_create(world.server, NULL, "duel", 4);
  expect_event(&world, PERIGEE_SERVER_RESULT);
  assert_int_equal(world.told[0].event.request, request);
  perigee_join(world.client, "duel", 0);
  perigee_poll(world.client, 0);
  expect_event(&world, PERIGEE_SERVER_JOIN);
  perigee_server_verdict(world.server, world.told[0].event.token, PERIGEE_ACCEPT, NULL);
  turn_client(&world, PERIGEE_JOINED);
  perigee_server_snapshot *seen = perigee_server_take_snapshot(world.server);
  assert_int_equal(seen->room_count, 2);
  perigee_server_snapshot_free(seen);
  assert_int_equal(perigee_server_run(world.server), PERIGEE_SERVER_HAS_THREAD);
  assert_int_equal(perigee_server_poll(world.server, -1), PERIGEE_SERVER_HAS_THREAD);
  perigee_server_stop(world.server, "enough");
  expect_event(&world, PERIGEE_SERVER_STOPPED);
  perigee_server_event *event;
  assert_int_equal(perigee_server_wait(world.server, &event, -1), PERIGEE_SERVER_OVER);
  perigee_free(world.client);
  perigee_server_free(world.server);
  assert_int_equal(mem_live(), 0);
}

// A host that takes no events slows its clients down. No queue grows without end, and
// no event is lost.
static void a_host_that_does_not_read_is_not_flooded(void **state) {
  (void)state;
  enum { MESSAGES = 20000 };
  World world = {0};
  char number[16];
  world.server = start((const char *[]){"thread", "true", "rate_limit", "0",
                                        "verdict_timeout", "60", NULL},
                       NULL, NULL);
  world.client = new_client(perigee_server_port(world.server), "ada", NULL);
  perigee_poll(world.client, 100);
  expect_event(&world, PERIGEE_SERVER_CONNECT);
  perigee_server_verdict(world.server, world.told[0].event.token, PERIGEE_ACCEPT, NULL);
  turn_client(&world, PERIGEE_CONNECTED);
  int sent = 0, got = 0;
  for (int i = 0; i < 200; i++) {
    while (sent < MESSAGES) {
      snprintf(number, sizeof number, "%d", sent);
      if (perigee_send(world.client, 0, "count", number, 0) != 0) break;
      sent++;
    }
    perigee_poll(world.client, 1);
  }
  perigee_server_snapshot *seen = perigee_server_take_snapshot(world.server);
  assert_true(seen->messages_in <
              MESSAGES);  // the rest waits in the client and in the network
  perigee_server_snapshot_free(seen);
  for (uint64_t until = deadline(); got < MESSAGES && now_ms() < until;) {
    perigee_server_event *event;
    if (sent < MESSAGES) {
      snprintf(number, sizeof number, "%d", sent);
      if (perigee_send(world.client, 0, "count", number, 0) == 0) sent++;
    }
    perigee_poll(world.client, 0);
    while (perigee_server_next(world.server, &event) == 1) {
      if (event->type == PERIGEE_SERVER_MESSAGE)
        assert_int_equal(atoi(event->data.bytes), got++);
      perigee_server_event_free(event);
    }
  }
  assert_int_equal(got, MESSAGES);
  perigee_free(world.client);
  perigee_server_free(world.server);
  assert_int_equal(mem_live(), 0);
}

// --- Four threads ---

typedef struct Worker {
  pthread_t thread;
  perigee_server *server;
  int index;
} Worker;

static void *give_commands(void *data) {
  const Worker *worker = data;
  perigee_server_target all = {.kind = PERIGEE_SERVER_TO_ALL};
  for (int i = 0; i < ROOMS; i++) {
    char name[32];
    int size = snprintf(name, sizeof name, "room %d.%d", worker->index, i);
    perigee_server_batch *batch = perigee_server_begin(worker->server);
    perigee_server_room_create(worker->server, batch, name, (size_t)size);
    perigee_server_send(worker->server, batch, &all, "news", "1", 0);
    assert_true(perigee_server_commit(batch) > 0);
    if (i % 10 == 0)
      perigee_server_snapshot_free(perigee_server_take_snapshot(worker->server));
  }
  return NULL;
}

static void start_workers(Worker workers[THREADS], perigee_server *server) {
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (Worker){.server = server, .index = i};
    assert_int_equal(
        pthread_create(&workers[i].thread, NULL, give_commands, &workers[i]), 0);
  }
}

static void count_rooms(perigee_server *server) {
  perigee_server_snapshot *seen = perigee_server_take_snapshot(server);
  assert_int_equal(seen->room_count, THREADS * ROOMS + 1);
  perigee_server_snapshot_free(seen);
}

static void commands_come_from_four_threads(void **state) {
  (void)state;
  Worker workers[THREADS];
  perigee_server *server = start((const char *[]){"thread", "true", NULL}, NULL, NULL);
  start_workers(workers, server);
  for (int results = 0; results < THREADS * ROOMS;) {
    perigee_server_event *event;
    assert_int_equal(perigee_server_wait(server, &event, 10000), 1);
    results += event->type == PERIGEE_SERVER_RESULT;
    if (event->type == PERIGEE_SERVER_RESULT) assert_int_equal(event->code, 0);
    perigee_server_event_free(event);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
  count_rooms(server);
  perigee_server_free(server);
  assert_int_equal(mem_live(), 0);
}

static int results;
static void on_result(perigee_server *server, const perigee_server_event *event,
                      void *data) {
  (void)data;
  assert_int_equal(event->code, 0);
  if (++results == THREADS * ROOMS) perigee_server_stop(server, "all is done");
}

static void commands_come_while_another_thread_runs_it(void **state) {
  (void)state;
  Worker workers[THREADS];
  perigee_server_handlers handlers = {.size = sizeof handlers, .on_result = on_result};
  perigee_server *server = start(NULL, &handlers, NULL);
  start_workers(workers, server);
  perigee_server_run(server);
  for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
  assert_int_equal(results, THREADS * ROOMS);
  count_rooms(server);
  perigee_server_free(server);
  assert_int_equal(mem_live(), 0);
}

// --- With games ---

static void write_game(const char *folder, const char *text) {
  char path[64];
  snprintf(path, sizeof path, "%s/game.lua", folder);
  FILE *file = fopen(path, "w");
  fputs(text, file);
  fclose(file);
}

// An endless handler is stopped in every thread and server.
static void each_thread_has_its_own_game(void **state) {
  (void)state;
  enum { GAMES = 3 };
  char folder[] = "/tmp/perigee-library-XXXXXX", command[80];
  World worlds[GAMES] = {0};
  assert_non_null(mkdtemp(folder));
  write_game(folder,
             "return { on_message = {\n"
             "  spin = function() while true do end end,\n"
             "  ping = function(peer) peer:send('pong', 1) end } }\n");
  for (int i = 0; i < GAMES; i++) {
    worlds[i].server = start((const char *[]){"thread", "true", "game", folder, "watch",
                                              "false", "verdict_timeout", "60", NULL},
                             NULL, NULL);
    worlds[i].client = new_client(perigee_server_port(worlds[i].server), "ada", NULL);
    perigee_poll(worlds[i].client, 100);
    expect_event(&worlds[i], PERIGEE_SERVER_CONNECT);
    perigee_server_verdict(worlds[i].server, worlds[i].told[0].event.token,
                           PERIGEE_ACCEPT, NULL);
    turn_client(&worlds[i], PERIGEE_CONNECTED);
  }
  for (int i = 0; i < GAMES; i++) {
    perigee_send(worlds[i].client, 0, "spin", NULL, 0);
    perigee_send(worlds[i].client, 0, "ping", NULL, 0);
    perigee_poll(worlds[i].client, 0);
  }
  for (int i = 0; i < GAMES; i++) turn_client(&worlds[i], PERIGEE_MESSAGE);
  for (int i = 0; i < GAMES; i++) {
    perigee_free(worlds[i].client);
    perigee_server_free(worlds[i].server);
  }
  snprintf(command, sizeof command, "rm -r %s", folder);
  assert_int_equal(system(command), 0);
  assert_int_equal(mem_live(), 0);
}

// --- Many of them ---

static int count_descriptors(void) {
  int count = 0;
  DIR *folder = opendir("/proc/self/fd");
  while (readdir(folder) != NULL) count++;
  closedir(folder);
  return count;
}

// `scripts/soak starts` makes this test start and stop 10,000 servers.
static void starts_and_stops_leave_nothing(void **state) {
  (void)state;
  const char *wanted = getenv("PERIGEE_TEST_STARTS");
  int starts = wanted ? atoi(wanted) : STARTS;
  perigee_server_handlers handlers = all_handlers();
  World world = {0};
  perigee_server_free(start(NULL, &handlers, &world));
  int before = count_descriptors();
  for (int i = 0; i < starts; i++) {
    const char *thread = i % 2 ? "true" : "false";
    perigee_server *server = start((const char *[]){"thread", thread, NULL},
                                   i % 2 ? NULL : &handlers, &world);
    world.count = 0;
    perigee_server_stop(server, "again");
    if (i % 4 == 0) perigee_server_run(server);
    perigee_server_free(server);
  }
  assert_int_equal(count_descriptors(), before);
  assert_int_equal(mem_live(), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(events_come_to_the_host),
      cmocka_unit_test(a_host_that_does_not_read_is_not_flooded),
      cmocka_unit_test(commands_come_from_four_threads),
      cmocka_unit_test(commands_come_while_another_thread_runs_it),
      cmocka_unit_test(each_thread_has_its_own_game),
      cmocka_unit_test(starts_and_stops_leave_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
