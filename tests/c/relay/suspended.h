// Players of a server that keeps sessions without a connection.
#pragma once

#include "resume.h"
#include "world.h"

static inline int set_up_resumable(void **state) {
  set_up(state);
  World *world = *state;
  world->session_limits.resume_timeout_ms = 30000;
  session_set_limits(world->session, &world->session_limits);
  return 0;
}

typedef struct Player {
  Client client;
  Ticket ticket;
} Player;

static inline Player play(World *world, const char *name) {
  Player player;
  player.client.conn = fake_open(world->net, FRAMING_PACKETS, "192.0.2.1");
  say_hello(world->net, player.client.conn, name);
  player.ticket = read_welcome(world->net, player.client.conn);
  player.client.id = player.ticket.peer;
  return player;
}

/// Connects a client up to its WELCOME.
static inline void come_back(World *world, Player *player, uint32_t received) {
  player->client.conn = fake_open(world->net, FRAMING_PACKETS, "192.0.2.1");
  say_resume(world->net, player->client.conn, &player->ticket, received);
  player->ticket = read_welcome(world->net, player->client.conn);
  assert_true(player->ticket.is_resumed);
}

#define RESUMABLE(name) \
  cmocka_unit_test_setup_teardown(name, set_up_resumable, tear_down)
