// A session that waits for lost peers, and clients that resume it.
#pragma once

#include "resume.h"
#include "session/internal.h"
#include "world.h"

static const Ticket NO_TICKET;

static inline int set_up_resume(void **state) {
  set_up(state);
  World *world = *state;
  world->limits.resume_timeout_ms = 30000;
  limit(world);
  return 0;
}

static inline ConnId enter(World *world, Ticket *ticket) {
  ConnId conn = open_tcp(world);
  say_hello(world->net, conn, "ann");
  *ticket = read_welcome(world->net, conn);
  return conn;
}

// Resumes, and takes the packets up to those that are sent again.
static inline ConnId come_back(World *world, Ticket *ticket, uint32_t received) {
  ConnId conn = open_tcp(world);
  Ticket old = *ticket;
  say_resume(world->net, conn, ticket, received);
  *ticket = read_welcome(world->net, conn);
  assert_true(ticket->is_resumed);
  assert_int_equal(ticket->peer, old.peer);
  assert_memory_equal(ticket->session, old.session, UUID_SIZE);
  assert_memory_not_equal(ticket->token, old.token, UUID_SIZE);
  expect_ack(world->net, conn, ticket->received);
  return conn;
}

// Expects that the token resumes no session, so that a new session begins.
static inline void expect_stranger(World *world, const Ticket *ticket) {
  ConnId conn = open_tcp(world);
  Buf hello = hello_of("eve", "");
  memcpy(hello.data + 2 + 8 + 4 + 2, ticket->token, UUID_SIZE);
  say(world->net, conn, control(CONTROL_HELLO), &hello);
  Ticket got = read_welcome(world->net, conn);
  assert_false(got.is_resumed);
  assert_int_not_equal(got.peer, ticket->peer);
  Buf nothing = empty();
  say(world->net, conn, control(CONTROL_BYE), &nothing);
}

static inline void send_reliable(World *world, uint32_t peer, const char *text) {
  Packet packet = {.channel = 5,
                   .priority = PRIORITY_HIGH,
                   .flags = PACKET_RELIABLE,
                   .payload = (const uint8_t *)text,
                   .length = (uint32_t)strlen(text)};
  Outgoing outgoing = {.packet = packet, .key = 7};
  session_send(world->session, session_find(world->session, peer), &outgoing);
}

static inline void expect_reliable(World *world, ConnId conn, const char *text) {
  const Sent *sent = expect_packet(world->net, conn, 5, 0);
  assert_int_equal(sent->packet.flags, PACKET_RELIABLE);
  assert_int_equal(sent->packet.priority, PRIORITY_HIGH);
  assert_int_equal(sent->priority, PRIORITY_NORMAL);
  assert_int_equal(sent->key, 0);
  assert_true(sent->flags & OUT_KEEP);
  expect_data(sent, NULL, 0, text);
}

static inline void say_reliable(World *world, ConnId conn) {
  Buf nothing = empty();
  Packet packet = {.channel = 5, .flags = PACKET_RELIABLE};
  say(world->net, conn, packet, &nothing);
}

static inline SessionStats stats(World *world) { return session_stats(world->session); }

#define RESUME(name) cmocka_unit_test_setup_teardown(name, set_up_resume, tear_down)
