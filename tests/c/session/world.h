// A session over a fake net. The test is its upper layer: it stores reports, and
// answers on request.
#pragma once

#include "expect.h"
#include "session/session.h"

typedef enum Answer { ACCEPT_AT_ONCE, REJECT_AT_ONCE, ANSWER_LATER } Answer;

typedef struct World {
  Net *net;
  Session *session;
  SessionLimits limits;
  Answer answer;
  uint32_t connects, disconnects, packets, lines, drops;
  uint32_t peer;  // peer of the last call
  uint32_t suspends, resumes;
  Resumption resumption;  // last resumption
  Code reason;            // reason of the last disconnect or suspend
  Packet packet;          // last packet; its payload is no longer valid
  char line[256];         // last line, or the JSON of the last SIGN_IN
  uint32_t sign_ins;
  uint32_t dropped_tag;  // tag of the last dropped messages
  size_t live;           // allocations before the world was made
} World;

static inline void on_connect(void *data, Peer *peer) {
  World *world = data;
  world->connects++;
  world->peer = peer->id;
  assert_int_equal(peer->state, PEER_CONNECTING);
  if (world->answer == ACCEPT_AT_ONCE)
    assert_true(session_accept(world->session, peer->id, (Text){0}));
  else if (world->answer == REJECT_AT_ONCE)
    session_reject(world->session, peer->id, CODE_REJECTED, "banned");
}

static inline void on_packet(void *data, Peer *peer, const Packet *packet) {
  World *world = data;
  world->packets++;
  world->peer = peer->id;
  world->packet = *packet;
}

static inline void on_line(void *data, Peer *peer, const char *text, size_t size) {
  World *world = data;
  world->lines++;
  world->peer = peer->id;
  snprintf(world->line, sizeof world->line, "%.*s", (int)size, text);
}

static inline void on_sign_in(void *data, Peer *peer, const Packet *request,
                              Text json) {
  World *world = data;
  (void)request;
  world->sign_ins++;
  world->peer = peer->id;
  snprintf(world->line, sizeof world->line, "%.*s", (int)json.size, json.bytes);
}

static inline void on_drops(void *data, Peer *peer, uint32_t tag, uint32_t dropped,
                            uint32_t queued) {
  World *world = data;
  world->drops += dropped;
  world->peer = peer->id;
  world->dropped_tag = tag;
  (void)queued;
}

static inline void on_disconnect(void *data, Peer *peer, Code reason) {
  World *world = data;
  world->disconnects++;
  world->peer = peer->id;
  world->reason = reason;
  assert_int_equal(peer->state, PEER_CLOSED);
  session_forget(world->session, peer);
}

static inline void on_suspend(void *data, Peer *peer, Code reason) {
  World *world = data;
  world->suspends++;
  world->peer = peer->id;
  world->reason = reason;
  assert_int_equal(peer->state, PEER_SUSPENDED);
}

static inline void on_resume(void *data, Peer *peer, const Resumption *resumption) {
  World *world = data;
  world->resumes++;
  world->peer = peer->id;
  world->resumption = *resumption;
  assert_int_equal(peer->state, PEER_CONNECTED);
}

static inline int set_up(void **state) {
  log_set_level(LOG_OFF);
  size_t live = mem_live();
  World *world = mem_zalloc(sizeof *world);
  world->live = live;
  world->limits = (SessionLimits){
      .max_clients = 8,
      .max_payload = 65536,
      .idle_timeout_ms = 31000,
      .ping_interval_ms = 13000,
      .handshake_timeout_ms = 5000,
      .tick_rate = 20,
  };
  SessionEvents events = {.connect = on_connect,
                          .packet = on_packet,
                          .line = on_line,
                          .drops = on_drops,
                          .disconnect = on_disconnect,
                          .sign_in = on_sign_in,
                          .suspend = on_suspend,
                          .resume = on_resume};
  NetEvents net_events = session_net_events();
  world->session = session_new(&world->limits, &events, world);
  world->net = net_new(&(NetLimits){0}, &net_events, world->session);
  session_attach(world->session, world->net);
  *state = world;
  return 0;
}

static inline int tear_down(void **state) {
  World *world = *state;
  size_t live = world->live;
  session_free(world->session);
  assert_int_equal(world->net ? timers_next_ms(net_timers(world->net)) : 0, UINT64_MAX);
  net_free(world->net);
  mem_free(world);
  assert_int_equal(mem_live(), live);
  return 0;
}

/// Applies the limits.
static inline void limit(World *world) {
  session_set_limits(world->session, &world->limits);
}

static inline ConnId open_tcp(World *world) {
  return fake_open(world->net, FRAMING_PACKETS, "192.0.2.1");
}

static inline ConnId open_text(World *world) {
  return fake_open(world->net, FRAMING_LINES, "192.0.2.1");
}

/// Returns a connected binary peer.
static inline ConnId join_tcp(World *world, const char *name) {
  ConnId conn = open_tcp(world);
  say_hello(world->net, conn, name);
  expect_control(world->net, conn, CONTROL_WELCOME);
  return conn;
}

static inline Peer *peer_of(World *world) {
  return session_find(world->session, world->peer);
}
