// A Net whose clients are blocking sockets of this process. The test runs each
// iteration of the loop.
#pragma once

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "net/conn.h"
#include "net/loopback.h"

enum { CONNS_MAX = 64, LINE_SIZE = 16 };

typedef struct World {
  Net *net;
  uint16_t port;
  ConnId ids[CONNS_MAX];
  int sockets[CONNS_MAX];
  uint32_t count, closed, turns_left;
  Code last_close, last_fault;
  uint64_t dropped, drop_calls;
  uint32_t last_tag, lines, packets;
  uint32_t answer_bytes;  // size of the answer to each packet
  bool is_refusing;       // whether it closes new connections
  int visitors;  // number of unidentified connections that have entered and not left
  const char
      *refusal;  // reason to refuse an unidentified connection; NULL: it is accepted
  char last_line[64];
} World;

static inline const char *on_enter(void *data, const char *address) {
  World *world = data;
  assert_string_equal(address, "127.0.0.1");
  world->visitors++;
  return world->refusal;
}

static inline void on_leave(void *data, const char *address) {
  World *world = data;
  assert_string_equal(address, "127.0.0.1");
  world->visitors--;
}

static inline void *on_open(void *data, ConnId conn, const ConnInfo *info) {
  World *world = data;
  assert_string_equal(info->address, "127.0.0.1");
  if (world->is_refusing) {
    net_close(world->net, conn);
    return NULL;
  }
  world->ids[world->count++] = conn;
  return world;
}

static inline void on_packet(void *data, void *conn_data, const Packet *packet) {
  (void)conn_data;
  (void)packet;
  World *world = data;
  world->packets++;
  if (world->answer_bytes == 0) return;
  void *answer = mem_zalloc(world->answer_bytes);
  net_write(
      world->net, world->ids[0],
      &(Out){.parts = {answer}, .sizes = {world->answer_bytes}, .flags = OUT_KEEP});
  mem_free(answer);
}

static inline void on_line(void *data, void *conn_data, const char *text, size_t size) {
  (void)conn_data;
  World *world = data;
  world->lines++;
  snprintf(world->last_line, sizeof world->last_line, "%.*s", (int)size, text);
}

static inline void on_fault(void *data, void *conn_data, Code code, const char *text) {
  (void)conn_data;
  (void)text;
  World *world = data;
  world->last_fault = code;
  net_close(world->net, world->ids[0]);
}

static inline void on_drops(void *data, void *conn_data, uint32_t tag, uint32_t dropped,
                            uint32_t queued) {
  (void)conn_data;
  (void)queued;
  World *world = data;
  world->dropped += dropped;
  world->drop_calls++;
  world->last_tag = tag;
}

static inline void on_close(void *data, void *conn_data, Code code) {
  (void)conn_data;
  World *world = data;
  world->closed++;
  world->last_close = code;
}

static inline bool on_iteration(void *data, uint64_t now_us) {
  (void)data;
  (void)now_us;
  return false;
}

static inline void turn(World *world) {
  uv_run(&net_loop(world->net)->uv, UV_RUN_NOWAIT);
}

static inline void world_open(World *world, NetLimits limits, Framing framing) {
  static const NetEvents events = {.enter = on_enter,
                                   .leave = on_leave,
                                   .open = on_open,
                                   .packet = on_packet,
                                   .line = on_line,
                                   .fault = on_fault,
                                   .drops = on_drops,
                                   .close = on_close,
                                   .iteration = on_iteration};
  *world = (World){0};
  world->net = net_new(&limits, &events, world);
  assert_int_equal(net_listen(world->net, "127.0.0.1", &world->port, framing), 0);
}

static inline void world_close(World *world) {
  for (uint32_t i = 0; i < world->count; i++)
    if (world->sockets[i] >= 0) close(world->sockets[i]);
  net_free(world->net);
  assert_int_equal(mem_live(), 0);
}

static inline uint32_t join(World *world) {
  uint32_t index = world->count;
  int fd = connect_to(world->port);
  while (world->count == index) turn(world);
  world->sockets[index] = fd;
  return index;
}

// Runs the loop until bytes arrive. Returns the result of recv, and appends a NUL to
// the bytes.
static inline ssize_t hear(World *world, int fd, char *bytes, size_t size) {
  for (int i = 0; i < 2000; i++) {
    turn(world);
    ssize_t got = recv(fd, bytes, size - 1, MSG_DONTWAIT);
    if (got >= 0) bytes[got] = '\0';
    if (got >= 0 || errno != EAGAIN) return got;
    poll(NULL, 0, 1);
  }
  fail_msg("nothing comes");
  return -1;
}

static inline void expect_silence(World *world, int fd) {
  char byte;
  for (int i = 0; i < 10; i++) turn(world);
  assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
}

// Makes `ms` pass on the Net's clock.
static inline void run_timers(World *world, uint64_t ms) {
  timers_run(net_timers(world->net), net_now_ms(world->net) + ms);
  turn(world);
}

static inline Out out_of(const char *text, Priority priority) {
  return (Out){.parts = {text, "\n"},
               .sizes = {(uint32_t)strlen(text), 1},
               .priority = (uint8_t)priority};
}

// Reads available bytes until `wanted` has arrived, and runs the loop meanwhile.
static inline void expect(World *world, uint32_t index, const char *wanted) {
  char got[4096] = {0};
  size_t size = 0;
  for (int i = 0; i < 1000 && size < strlen(wanted); i++) {
    turn(world);
    ssize_t n =
        recv(world->sockets[index], got + size, strlen(wanted) - size, MSG_DONTWAIT);
    if (n > 0) size += (size_t)n;
    if (n < 0) poll(NULL, 0, 1);
  }
  assert_string_equal(got, wanted);
}

static const NetLimits DEFAULTS = {
    .max_payload = 4096, .channel_capacity = 1024, .overflow = DROP_NEWEST};
