// A Net whose connections other threads serve. Clients are sockets of this process, and
// the test runs each iteration of the main thread's loop.
#pragma once

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/io_threads.h"
#include "net/io_threads/internal.h"
#include "net/loopback.h"

enum { THREADS = 2, CONNS_MAX = 16, TRIES = 5000 };

typedef struct Peer {
  struct World *world;
  ConnId id;
  uint32_t lines, next, closed, faults, drops;
  uint32_t hold_at, close_at,
      answer_at;  // numbers of received lines that cause the action; 0: never
} Peer;

typedef struct World {
  Net *net;
  uint16_t port;
  Peer peers[CONNS_MAX];
  int sockets[CONNS_MAX];
  uint32_t count;
  int visitors;
} World;

static inline const char *on_enter(void *data, const char *address) {
  (void)address;
  ((World *)data)->visitors++;
  return NULL;
}

static inline void on_leave(void *data, const char *address) {
  assert_string_equal(address, "127.0.0.1");
  ((World *)data)->visitors--;
}

static inline void *on_open(void *data, ConnId conn, const ConnInfo *info) {
  World *world = data;
  assert_string_equal(info->address, "127.0.0.1");
  assert_true(info->since_ms <= net_now_ms(world->net));
  Peer *peer = &world->peers[world->count++];
  peer->world = world;
  peer->id = conn;
  return peer;
}

static inline void on_line(void *data, void *conn_data, const char *text, size_t size) {
  const World *world = data;
  Peer *peer = conn_data;
  assert_int_equal(peer->closed, 0);
  peer->lines++;
  char copy[16];
  snprintf(copy, sizeof copy, "%.*s", (int)size, text);
  uint32_t number;
  if (sscanf(copy, "%u", &number) == 1) assert_int_equal(number, peer->next++);
  if (peer->lines == peer->answer_at)
    net_write(world->net, peer->id, &(Out){.parts = {"answer\n"}, .sizes = {7}});
  if (peer->lines == peer->hold_at) net_throttle(world->net, peer->id);
  if (peer->lines == peer->close_at) net_close(world->net, peer->id);
}

static inline void on_packet(void *data, void *conn_data, const Packet *packet) {
  const World *world = data;
  Peer *peer = conn_data;
  uint8_t header[PACKET_HEADER_SIZE];
  packet_write_header(header, packet);
  peer->lines++;
  net_write(world->net, peer->id,
            &(Out){.parts = {header, packet->payload},
                   .sizes = {sizeof header, packet->length},
                   .priority = packet->priority});
}

static inline void on_fault(void *data, void *conn_data, Code code, const char *text) {
  const World *world = data;
  Peer *peer = conn_data;
  assert_int_equal(code, CODE_PAYLOAD_TOO_LARGE);
  assert_non_null(strstr(text, "max_payload"));
  peer->faults++;
  net_close(world->net, peer->id);
}

static inline void on_drops(void *data, void *conn_data, uint32_t tag, uint32_t dropped,
                            uint32_t queued) {
  (void)data, (void)tag, (void)queued;
  ((Peer *)conn_data)->drops += dropped;
}

static inline void on_close(void *data, void *conn_data, Code code) {
  (void)data, (void)code;
  ((Peer *)conn_data)->closed++;
}

static inline bool on_iteration(void *data, uint64_t now_us) {
  (void)data, (void)now_us;
  return false;
}

static const NetEvents EVENTS = {.enter = on_enter,
                                 .leave = on_leave,
                                 .open = on_open,
                                 .line = on_line,
                                 .packet = on_packet,
                                 .fault = on_fault,
                                 .drops = on_drops,
                                 .close = on_close,
                                 .iteration = on_iteration};

static inline void open_world(World *world, Framing framing) {
  NetLimits limits = {.max_payload = 4096, .channel_capacity = 64};
  *world = (World){0};
  world->net = net_new(&limits, &EVENTS, world);
  assert_int_equal(net_serve(world->net, THREADS), 0);
  assert_int_equal(net_listen(world->net, "127.0.0.1", &world->port, framing), 0);
}

static inline void close_world(World *world) {
  for (uint32_t i = 0; i < world->count; i++) close(world->sockets[i]);
  net_free(world->net);
  assert_int_equal(mem_live(), 0);
}

// Runs one iteration, and gives the other threads a moment.
static inline void turn(World *world) {
  uv_run(&net_loop(world->net)->uv, UV_RUN_NOWAIT);
  poll(NULL, 0, 1);
}

static inline void turn_until_lines(World *world, const Peer *peer, uint32_t lines) {
  for (int i = 0; i < TRIES && peer->lines < lines; i++) turn(world);
  assert_int_equal(peer->lines, lines);
}

static inline Peer *join(World *world) {
  uint32_t index = world->count;
  int fd = connect_to(world->port);
  for (int i = 0; i < TRIES && world->count == index; i++) turn(world);
  assert_int_equal(world->count, index + 1);
  world->sockets[index] = fd;
  return &world->peers[index];
}

static inline int socket_of(const World *world, const Peer *peer) {
  return world->sockets[peer - world->peers];
}

static inline void say(const World *world, const Peer *peer, const char *text) {
  ssize_t size = (ssize_t)strlen(text);
  assert_int_equal(send(socket_of(world, peer), text, (size_t)size, 0), size);
}

// Sends `count` numbers from `first` on, each in a line.
static inline void count_off(const World *world, const Peer *peer, uint32_t first,
                             uint32_t count) {
  char lines[8192];
  size_t size = 0;
  for (uint32_t i = first; i < first + count; i++)
    size += (size_t)snprintf(lines + size, sizeof lines - size, "%u\n", i);
  say(world, peer, lines);
}

static inline void write_line(World *world, const Peer *peer, const char *text) {
  net_write(world->net, peer->id,
            &(Out){.parts = {text}, .sizes = {(uint32_t)strlen(text)}});
}

static inline void expect(World *world, const Peer *peer, const char *wanted) {
  char got[4096] = {0};
  size_t size = 0;
  for (int i = 0; i < TRIES && size < strlen(wanted); i++) {
    turn(world);
    ssize_t n =
        recv(socket_of(world, peer), got + size, strlen(wanted) - size, MSG_DONTWAIT);
    if (n > 0) size += (size_t)n;
  }
  assert_string_equal(got, wanted);
}

static inline void expect_end(World *world, const Peer *peer) {
  char byte;
  ssize_t got = -1;
  for (int i = 0; i < TRIES && got < 0; i++) {
    turn(world);
    got = recv(socket_of(world, peer), &byte, 1, MSG_DONTWAIT);
    if (got < 0 && errno != EAGAIN) return;
  }
  assert_int_equal(got, 0);
}

static inline IoThread *thread_of(const World *world, const Peer *peer) {
  return ((Proxy *)endpoint_find(world->net, peer->id))->thread;
}
