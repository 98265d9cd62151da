// Counts writes, on all kinds of connections. A flush is one write for each member,
// with the priorities in their order. A critical message waits for one write at most,
// even behind many messages of low priority.
#define _GNU_SOURCE  // memmem
#include <fcntl.h>
#include <openssl/ssl.h>
#include <signal.h>

#include "net/protocol/protocols.h"
#include "net/tls.h"
#include "socket_world.h"
#include "wire/websocket.h"

enum { MEMBERS = 8, FLOOD = 4000 };

typedef enum Kind { LINES, WEB, TLS, WEB_TLS } Kind;

static const char *const KIND_NAMES[] = {"lines", "WebSocket", "TLS",
                                         "WebSocket in TLS"};

// Counts the writes to the connections' transports, which are real.
typedef struct Watch {
  TransportKind kind;  // transport that counts writes
  const TransportKind *real;
  uint32_t tries[CONNS_MAX];   // number of writes of each connection
  uint32_t chunks;             // number of pieces that wait for room
  uint32_t bytes_of_critical;  // bytes of critical messages among the written bytes
  uint32_t
      chunks_before;  // number of pieces between `armed` and the first critical message
  bool is_armed;
} Watch;

static Watch watch;
static World *watched;

// Counts the writes to the sockets, below TLS.
static struct {
  TransportKind kind;
  const TransportKind *real;
  uint32_t tries;
} wire;

static uint32_t index_of(const Conn *conn) {
  for (uint32_t i = 0; i < watched->count; i++)
    if (watched->ids[i] == conn->self.id) return i;
  return CONNS_MAX - 1;
}

// Returns the first character of the next line, which is its priority; 0: no next line.
static char first_of_next(const uint8_t *line, const uint8_t *end) {
  const uint8_t *next = memchr(line, '\n', (size_t)(end - line));
  return next && next + 1 < end ? (char)next[1] : 0;
}

static void check_order(const uint8_t *bytes, size_t size, char *last) {
  const uint8_t *line = bytes, *end = bytes + size;
  while (line < end) {
    assert_true(line[0] >= *last);
    *last = (char)line[0];
    if (!first_of_next(line, end)) return;
    line = (const uint8_t *)memchr(line, '\n', (size_t)(end - line)) + 1;
  }
}

static int count_try(Transport *transport, const uv_buf_t *bufs, unsigned count) {
  const Conn *conn = transport->user_data;
  char last = '0';
  watch.tries[index_of(conn)]++;
  if (!watch.is_armed)
    for (unsigned i = (conn->protocol == &WEBSOCKET); i < count; i++)
      check_order((const uint8_t *)bufs[i].base, bufs[i].len, &last);
  return watch.real->try_write(transport, bufs, count);
}

static int count_write(Transport *transport, uint8_t *bytes, size_t size) {
  const Conn *conn = transport->user_data;
  watch.chunks++;
  if (watch.is_armed && !watch.bytes_of_critical) {
    const uint8_t *found = memmem(bytes, size, "critical", 8);
    if (found) {
      watch.bytes_of_critical = 8;
      // The critical message comes before all waiting messages.
      assert_in_range(found - bytes, 0,
                      conn->protocol == &WEBSOCKET ? WS_HEADER_MAX : 0);
    } else {
      watch.chunks_before++;
    }
  }
  return watch.real->write(transport, bytes, size);
}

static void watch_all(World *world) {
  watch = (Watch){0};
  watched = world;
  watch.real = conn_find(world->net, world->ids[0])->transport->kind;
  watch.kind = *watch.real;
  watch.kind.try_write = count_try;
  watch.kind.write = count_write;
  for (uint32_t i = 0; i < world->count; i++)
    conn_find(world->net, world->ids[i])->transport->kind = &watch.kind;
}

static void unwatch_all(World *world) {
  for (uint32_t i = 0; i < world->count; i++) {
    Conn *conn = conn_find(world->net, world->ids[i]);
    if (conn) conn->transport->kind = watch.real;
  }
}

// --- Clients ---

static int count_below(Transport *transport, const uv_buf_t *bufs, unsigned count) {
  wire.tries++;
  return wire.real->try_write(transport, bufs, count);
}

static Conn *newest(World *world) {
  uint32_t cursor = 0;
  Conn *found = NULL, *conn;
  while ((conn = slots_next(&world->net->conns, &cursor)))
    if (!found || !conn->is_known) found = conn;
  return found;
}

static void watch_below(Conn *conn) {
  wire.real = conn->transport->kind;
  wire.kind = *wire.real;
  wire.kind.try_write = count_below;
  conn->transport->kind = &wire.kind;
}

static SSL *begin_tls(World *world, int fd) {
  static SSL_CTX *context;
  if (!context) context = SSL_CTX_new(TLS_client_method());
  SSL *ssl = SSL_new(context);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  SSL_set_fd(ssl, fd);
  SSL_set_connect_state(ssl);
  while (SSL_do_handshake(ssl) != 1) turn(world);
  return ssl;
}

static void say(World *world, int fd, SSL *ssl, const void *bytes, size_t size) {
  if (ssl)
    assert_int_equal(SSL_write(ssl, bytes, (int)size), size);
  else
    assert_int_equal(send(fd, bytes, size, 0), size);
  for (int i = 0; i < 20; i++) turn(world);
}

// Sends a first packet, which identifies the connection.
static void introduce(World *world, int fd, SSL *ssl, Kind kind) {
  static const char UPGRADE[] =
      "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: "
      "Upgrade\r\n"
      "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
      "dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  // The mask is zero.
  uint8_t frame[6 + PACKET_HEADER_SIZE] = {0x82, 0x80 | PACKET_HEADER_SIZE};
  packet_write_header(frame + 6, &(Packet){.priority = PRIORITY_NORMAL});
  bool is_web = kind == WEB || kind == WEB_TLS;
  if (is_web) say(world, fd, ssl, UPGRADE, sizeof UPGRADE - 1);
  if (is_web)
    say(world, fd, ssl, frame, sizeof frame);
  else
    say(world, fd, ssl, frame + 6, PACKET_HEADER_SIZE);
}

static void drain_one(World *world, uint32_t index) {
  static char bytes[1 << 16];
  while (recv(world->sockets[index], bytes, sizeof bytes, MSG_DONTWAIT) > 0) continue;
}

static uint32_t join_as(World *world, Kind kind) {
  if (kind == LINES) return join(world);
  uint32_t index = world->count;
  int visitors = world->visitors;
  int fd = connect_to(world->port);
  while (world->visitors == visitors) turn(world);
  watch_below(newest(world));
  SSL *ssl = kind == WEB ? NULL : begin_tls(world, fd);
  introduce(world, fd, ssl, kind);
  while (world->count == index) turn(world);
  SSL_free(ssl);  // from here on, bytes are counted and not read
  world->sockets[index] = fd;
  drain_one(world, index);
  return index;
}

static void open_as(World *world, NetLimits limits, Kind kind) {
  char fingerprint[TLS_FINGERPRINT_SIZE];
  world_open(world, limits, kind == LINES ? FRAMING_LINES : FRAMING_SNIFF);
  if (kind == TLS || kind == WEB_TLS) assert_true(net_tls_dev(world->net, fingerprint));
}

static uint32_t choose(uint32_t *random, uint32_t below) {
  *random = *random * 1664525 + 1013904223;
  return (*random >> 8) % below;
}

static Out line_of(uint32_t *random, char text[16]) {
  uint32_t priority = choose(random, PRIORITY_COUNT);
  int size = snprintf(text, 16, "%u\n", (unsigned)priority);
  return (Out){
      .parts = {text}, .sizes = {(uint32_t)size}, .priority = (uint8_t)priority};
}

static void drain_all(World *world) {
  for (uint32_t i = 0; i < world->count; i++) drain_one(world, i);
}

// Writes a random message to one connection or to one of three groups, with or without
// an exception.
static void send_mix(World *world, const GroupId *groups, uint32_t *random) {
  char text[16];
  Out out = line_of(random, text);
  uint32_t what = choose(random, 4);
  if (what < 3) {
    ConnId except = world->ids[choose(random, MEMBERS)];
    net_group_write(world->net, groups[what], &out, &except, choose(random, 2));
  } else {
    net_write(world->net, world->ids[choose(random, MEMBERS)], &out);
  }
}

static void run_flushes(World *world, const GroupId *groups, uint32_t seed, Kind kind) {
  for (int frame = 0; frame < 20; frame++) {
    watch_all(world);
    wire.tries = 0;
    uint32_t messages = 1 + choose(&seed, 800), writes = 0;
    for (uint32_t i = 0; i < messages; i++) send_mix(world, groups, &seed);
    turn(world);
    for (int i = 0; i < MEMBERS; i++) {
      assert_in_range(watch.tries[i], messages > 100, 1);
      writes += watch.tries[i];
    }
    assert_int_equal(watch.chunks, 0);
    if (kind != LINES) assert_int_equal(wire.tries, writes);
    unwatch_all(world);
    drain_all(world);
  }
}

static void flush_is_one_write(Kind kind, uint32_t seeds) {
  print_message("%s\n", KIND_NAMES[kind]);
  for (uint32_t seed = 1; seed <= seeds; seed++) {
    World world;
    GroupId groups[3];
    open_as(&world, DEFAULTS, kind);
    for (int i = 0; i < MEMBERS; i++) join_as(&world, kind);
    for (int i = 0; i < 3; i++) {
      groups[i] = net_group_open(world.net, (uint32_t)i + 1);
      for (int j = 0; j < MEMBERS; j++)
        net_group_join(world.net, groups[i], world.ids[j]);
    }
    run_flushes(&world, groups, seed, kind);
    world_close(&world);
  }
}

static void a_flush_is_one_write_for_each_member(void **state) {
  (void)state;
  flush_is_one_write(LINES, 30);
  flush_is_one_write(WEB, 10);
  flush_is_one_write(TLS, 5);
  flush_is_one_write(WEB_TLS, 5);
}

// Iterations in which nothing is due write nothing: several iterations share one flush.
static void iterations_between_flushes_share_a_write(void **state) {
  (void)state;
  World world;
  NetLimits limits = DEFAULTS;
  limits.batch_hz = 20;
  world_open(&world, limits, FRAMING_LINES);
  uint32_t index = join(&world);
  Out first = out_of("2", PRIORITY_NORMAL);
  net_write(world.net, world.ids[index], &first);
  expect(&world, index, "2\n");  // a flush has just happened
  watch_all(&world);
  uint64_t start_us = net_clock_us(world.net);
  uint32_t turns = 0;
  while (net_clock_us(world.net) - start_us < 200000) {
    Out out = out_of("2", PRIORITY_NORMAL);
    net_write(world.net, world.ids[index], &out);
    turn(&world);
    turns++;
    poll(NULL, 0, 1);
  }
  assert_in_range(watch.tries[index], 1, 5);
  assert_true(turns > 5 * watch.tries[index] || turns < 20);
  unwatch_all(&world);
  world_close(&world);
}

// Sends low messages until the socket is full and `waiting` of them are kept.
static void flood(World *world, uint32_t index, uint32_t waiting) {
  static const char bytes[4000] = {'3'};
  for (;;) {
    const Backlog *backlog = conn_find(world->net, world->ids[index])->out.backlog;
    if (backlog && backlog->droppable >= waiting) return;
    net_write(
        world->net, world->ids[index],
        &(Out){.parts = {bytes}, .sizes = {sizeof bytes}, .priority = PRIORITY_LOW});
    turn(world);
  }
}

static void flood_delays_by_one_write(Kind kind) {
  World world;
  NetLimits limits = DEFAULTS;
  limits.channel_capacity = FLOOD;
  print_message("%s\n", KIND_NAMES[kind]);
  open_as(&world, limits, kind);
  uint32_t index = join_as(&world, kind);
  watch_all(&world);
  watch.is_armed = true;
  flood(&world, index, FLOOD / 8);
  // From here on, `chunks_before` counts the pieces that are written before the message.
  watch.chunks_before = 0;
  Out out = out_of("critical", PRIORITY_CRITICAL);
  net_write(world.net, world.ids[index], &out);
  turn(&world);
  for (int i = 0; i < 10000 && !watch.bytes_of_critical; i++) {
    drain_all(&world);
    turn(&world);
  }
  assert_int_equal(watch.bytes_of_critical, 8);
  // Only the piece whose write had already begun comes before it.
  assert_int_equal(watch.chunks_before, 0);
  unwatch_all(&world);
  struct linger now = {1, 0};
  setsockopt(world.sockets[index], SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(world.sockets[index]);
  world.sockets[index] = -1;
  while (world.net->totals->backlog_bytes > 0) turn(&world);
  world_close(&world);
}

static void a_flood_delays_a_critical_message_by_one_write(void **state) {
  (void)state;
  for (Kind kind = LINES; kind <= WEB_TLS; kind++) flood_delays_by_one_write(kind);
}

int main(void) {
  signal(SIGPIPE, SIG_IGN);  // perigee ignores it, too
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_flush_is_one_write_for_each_member),
      cmocka_unit_test(iterations_between_flushes_share_a_write),
      cmocka_unit_test(a_flood_delays_a_critical_message_by_one_write),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
