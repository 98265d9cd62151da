// Helpers for the tests of the library: a server that the test polls, clients of
// libperigee that talk to it, and a record of all its events.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/mem.h"
#include "perigee.h"
#include "perigee_server.h"

enum { TOLD_MAX = 256, TEXT_SIZE = 64, DEADLINE_S = 10 };

/// A call of a handler, or an event of the inbox.
typedef struct Told {
  perigee_server_event event;  // event; its texts are no longer valid
  char peer_name[TEXT_SIZE], room_name[TEXT_SIZE], name[TEXT_SIZE], data[TEXT_SIZE];
  char text[TEXT_SIZE], auth[TEXT_SIZE];
} Told;

typedef struct World {
  perigee_server *server;
  PerigeeClient *client;
  PerigeeEvent client_event;  // last event for which a test waited
  char client_data[TEXT_SIZE], client_text[TEXT_SIZE];
  Told told[TOLD_MAX];
  int count;
  int verdict;  // result of on_connect, on_join and on_broadcast
  int accept;   // result of on_accept
} World;

static inline void copy_text(char out[TEXT_SIZE], perigee_server_text text) {
  snprintf(out, TEXT_SIZE, "%.*s", (int)text.size, text.bytes ? text.bytes : "");
}

static inline void assert_terminated(perigee_server_text text) {
  if (text.bytes != NULL) assert_int_equal(text.bytes[text.size], '\0');
}

static inline void note(World *world, const perigee_server_event *event) {
  if (event->type == PERIGEE_SERVER_LOG) return;
  assert_true(world->count < TOLD_MAX);
  Told *told = &world->told[world->count++];
  told->event = *event;
  assert_terminated(event->peer_name);
  assert_terminated(event->room_name);
  assert_terminated(event->name);
  assert_terminated(event->text);
  assert_terminated(event->auth);
  copy_text(told->peer_name, event->peer_name);
  copy_text(told->room_name, event->room_name);
  copy_text(told->name, event->name);
  copy_text(told->data, event->data);
  copy_text(told->text, event->text);
  copy_text(told->auth, event->auth);
}

static inline int on_ask(perigee_server *server, const perigee_server_event *event,
                         void *data) {
  World *world = data;
  (void)server;
  note(world, event);
  return world->verdict;
}

static inline int on_accept(perigee_server *server, const perigee_server_event *event,
                            void *data) {
  World *world = data;
  (void)server;
  note(world, event);
  return world->accept;
}

static inline void on_tell(perigee_server *server, const perigee_server_event *event,
                           void *data) {
  (void)server;
  note(data, event);
}

static inline perigee_server_handlers all_handlers(void) {
  return (perigee_server_handlers){.size = sizeof(perigee_server_handlers),
                                   .on_accept = on_accept,
                                   .on_connect = on_ask,
                                   .on_disconnect = on_tell,
                                   .on_join = on_ask,
                                   .on_leave = on_tell,
                                   .on_broadcast = on_ask,
                                   .on_message = on_tell,
                                   .on_packet = on_tell,
                                   .on_room_create = on_tell,
                                   .on_room_delete = on_tell,
                                   .on_log = on_tell,
                                   .on_stopped = on_tell,
                                   .on_result = on_tell};
}

/// Returns the settings of a server on this machine alone. `pairs` has further keys and
/// values, with NULL at the end.
static inline perigee_server_config *settings(const char *const *pairs) {
  static const char *const OWN[] = {"host", "127.0.0.1", "port",  "0", "udp_ports",
                                    "0",    "admin",     "false", NULL};
  perigee_server_config *config = perigee_server_config_new();
  for (int i = 0; OWN[i] != NULL; i += 2)
    assert_int_equal(perigee_server_config_set(config, OWN[i], OWN[i + 1]), 0);
  for (int i = 0; pairs != NULL && pairs[i] != NULL; i += 2)
    if (perigee_server_config_set(config, pairs[i], pairs[i + 1]) != 0)
      fail_msg("%s", perigee_server_config_error(config));
  return config;
}

static inline perigee_server *start(const char *const *pairs,
                                    const perigee_server_handlers *handlers,
                                    void *data) {
  char error[1024];
  perigee_server_config *config = settings(pairs);
  perigee_server *server =
      perigee_server_start(config, handlers, data, error, sizeof error);
  perigee_server_config_free(config);
  if (server == NULL) fail_msg("%s", error);
  return server;
}

static inline PerigeeClient *new_client(uint16_t port, const char *name,
                                        const char *token) {
  char address[32];
  PerigeeOptions options;
  perigee_options_init(&options);
  options.name = name;
  options.token = token;
  options.reconnect = 0;
  snprintf(address, sizeof address, "127.0.0.1:%u", port);
  PerigeeClient *client = perigee_connect(address, &options, NULL);
  assert_non_null(client);
  return client;
}

/// Starts a server with all handlers, in poll mode, and a client that begins to connect.
static inline void world_init(World *world, const char *const *pairs) {
  perigee_server_handlers handlers = all_handlers();
  *world = (World){.verdict = PERIGEE_ACCEPT, .accept = PERIGEE_ACCEPT};
  world->server = start(pairs, &handlers, world);
  world->client = new_client(perigee_server_port(world->server), "ada", "secret");
}

static inline void world_deinit(World *world) {
  perigee_free(world->client);
  perigee_server_free(world->server);
  assert_int_equal(mem_live(), 0);
}

static inline uint64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static inline uint64_t deadline(void) {
  const char *seconds = getenv("PERIGEE_TEST_DEADLINE");
  return now_ms() + 1000 * (seconds ? strtoull(seconds, NULL, 10) : DEADLINE_S);
}

static inline void turn(World *world) {
  perigee_server_poll(world->server, 1);
  perigee_poll(world->client, 0);
}

/// Polls until the client has an event of that type.
static inline void expect_client(World *world, PerigeeEventType type) {
  for (uint64_t until = deadline(); now_ms() < until; turn(world)) {
    for (const PerigeeEvent *event; (event = perigee_next_event(world->client));) {
      if (event->type != type) continue;
      world->client_event = *event;
      snprintf(world->client_data, TEXT_SIZE, "%.*s", (int)event->size,
               (const char *)event->data);
      snprintf(world->client_text, TEXT_SIZE, "%s", event->text);
      return;
    }
  }
  fail_msg("the client has had no event %d", (int)type);
}

/// Polls until the host has got an event of that type after its first `from` ones.
static inline const Told *expect_after(World *world, int from, int type) {
  for (uint64_t until = deadline(); now_ms() < until; turn(world))
    for (int i = from; i < world->count; i++)
      if (world->told[i].event.type == type) return &world->told[i];
  fail_msg("the host was not told %d", type);
  return NULL;
}

static inline const Told *expect_told(World *world, int type) {
  return expect_after(world, 0, type);
}

static inline bool was_told(const World *world, int type) {
  for (int i = 0; i < world->count; i++)
    if (world->told[i].event.type == type) return true;
  return false;
}

/// Creates a room, and polls until it exists.
static inline uint32_t create_room(World *world, const char *name) {
  int from = world->count;
  int request = perigee_server_room_create(world->server, NULL, name, strlen(name));
  assert_true(request > 0);
  const Told *told = expect_after(world, from, PERIGEE_SERVER_RESULT);
  assert_int_equal(told->event.request, request);
  assert_int_equal(told->event.code, PERIGEE_SERVER_OK);
  assert_string_equal(told->room_name, name);
  return told->event.room;
}

/// Makes the client join a room; returns the number by which the client knows the room.
static inline uint32_t join(World *world, const char *name) {
  expect_client(world, PERIGEE_CONNECTED);
  assert_true(perigee_join(world->client, name, 0) > 0);
  expect_client(world, PERIGEE_JOINED);
  return world->client_event.room;
}

/// Sets a value of a room's meta; returns the code of the result.
static inline int set_meta(World *world, uint32_t room, const char *key,
                           const char *value) {
  int from = world->count;
  perigee_server_batch *batch = perigee_server_begin(world->server);
  assert_int_equal(perigee_server_room_meta(world->server, batch, room, key, value), 0);
  perigee_server_commit(batch);
  return expect_after(world, from, PERIGEE_SERVER_RESULT)->event.code;
}

/// Returns whether a snapshot has the room.
static inline bool has_room(const World *world, const char *name) {
  perigee_server_snapshot *seen = perigee_server_take_snapshot(world->server);
  bool has = false;
  for (size_t i = 0; i < seen->room_count; i++)
    has |= strcmp(seen->rooms[i].name.bytes, name) == 0;
  perigee_server_snapshot_free(seen);
  return has;
}
