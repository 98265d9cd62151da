#include "client/fake_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { DEADLINE_MS = 15000, TURN_MS = 2 };

static uint64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

// --- Sockets ---

void fake_open(FakeServer *server) {
  *server = (FakeServer){.fd = socket(AF_INET, SOCK_STREAM, 0)};
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  assert_int_equal(0, bind(server->fd, (struct sockaddr *)&address, sizeof address));
  assert_int_equal(0, listen(server->fd, 8));
  fcntl(server->fd, F_SETFL, O_NONBLOCK);
  getsockname(server->fd, (struct sockaddr *)&address, &size);
  snprintf(server->address, sizeof server->address, "127.0.0.1:%d",
           ntohs(address.sin_port));
}

void fake_close(FakeServer *server) {
  perigee_free(server->client);
  for (int i = 0; i < server->count; i++) {
    if (server->peers[i].fd >= 0) close(server->peers[i].fd);
    buf_deinit(&server->peers[i].in);
  }
  if (server->fd >= 0) close(server->fd);
}

int fake_tear_down(void **state) {
  FakeServer *server = *state;
  fake_close(server);
  memset(server, 0, sizeof *server);
  return 0;
}

void fake_cut(FakePeer *peer) {
  struct linger reset = {.l_onoff = 1};
  setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  close(peer->fd);
  peer->fd = -1;
}

void fake_expect_cut(const PerigeeEvent *event) {
#ifdef _WIN32  // Wine reports an orderly end
  if (event->code == PERIGEE_CONNECTION_CLOSED) return;
#endif
  assert_int_equal(PERIGEE_CONNECTION_RESET, event->code);
}

void fake_send(FakePeer *peer, const void *bytes, size_t size) {
  const uint8_t *at = bytes;
  while (size > 0) {
    ssize_t sent = send(peer->fd, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EAGAIN) continue;
    assert_true(sent > 0);
    at += sent;
    size -= (size_t)sent;
  }
}

static void receive(FakePeer *peer) {
  if (peer->fd < 0 || peer->has_ended) return;
  buf_consume(&peer->in, peer->at);
  peer->at = 0;
  for (;;) {
    ssize_t got = recv(peer->fd, buf_reserve(&peer->in, 4096), 4096, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      peer->has_ended = true;
      return;
    }
    peer->in.size += (size_t)got;
  }
}

// --- Driving the server and the client ---

// Drives the client once. Waits for the descriptors of both the server and the client.
static void turn(FakeServer *server) {
  if (server->client) perigee_poll(server->client, TURN_MS);
  if (server->turn) server->turn();
}

// Reads the next packet of any kind; returns false if none has arrived.
static bool next_packet(FakePeer *peer, Packet *packet) {
  int64_t size =
      packet_read(peer->in.data + peer->at, peer->in.size - peer->at, 1 << 27, packet);
  assert_true(size >= 0);
  peer->at += (size_t)size;
  return size > 0;
}

static uint64_t value_of(const Packet *packet, size_t size) {
  uint64_t value = 0;
  assert_int_equal(size, packet->length);
  for (size_t i = size; i-- > 0;) value = value << 8 | packet->payload[i];
  return value;
}

// Returns whether the packet is an ACK or a ping, which a client sends at any time.
// Answers the ping.
static bool is_background(FakePeer *peer, const Packet *packet) {
  if (packet->channel != CHANNEL_CONTROL) return false;
  if (packet->type == CONTROL_ACK) return true;
  if (packet->type != CONTROL_PING) return false;
  fake_packet(peer, (Packet){.type = CONTROL_PONG}, "q", value_of(packet, 8));
  return true;
}

static bool take(FakePeer *peer, Packet *packet) {
  while (next_packet(peer, packet)) {
    if (!is_background(peer, packet)) return true;
  }
  return false;
}

FakePeer *fake_accept(FakeServer *server) {
  uint64_t deadline = now_ms() + DEADLINE_MS;
  assert_true(server->count < FAKE_PEERS_MAX);
  for (;;) {
    int fd = accept(server->fd, NULL, NULL);
    if (fd >= 0) {
      FakePeer *peer = &server->peers[server->count++];
      *peer = (FakePeer){.fd = fd};
      return peer;
    }
    if (now_ms() > deadline) fail_msg("nobody connects");
    turn(server);
  }
}

Packet fake_expect_any(FakeServer *server, FakePeer *peer) {
  uint64_t deadline = now_ms() + DEADLINE_MS;
  Packet packet;
  while (!take(peer, &packet)) {
    if (peer->has_ended || now_ms() > deadline) fail_msg("no packet comes");
    turn(server);
    receive(peer);
  }
  return packet;
}

Packet fake_expect(FakeServer *server, FakePeer *peer, uint16_t channel,
                   uint16_t type) {
  Packet packet = fake_expect_any(server, peer);
  if (packet.channel != channel || packet.type != type)
    fail_msg("packet %d/%d instead of %d/%d", packet.channel, packet.type, channel,
             type);
  return packet;
}

// Answers the client's pings while the test waits.
static void serve(FakeServer *server) {
  turn(server);
  for (int i = 0; i < server->count; i++) {
    FakePeer *peer = &server->peers[i];
    Packet packet;
    receive(peer);
    size_t start = peer->at;
    while (next_packet(peer, &packet)) {
      if (!is_background(peer, &packet)) break;
      start = peer->at;
    }
    peer->at = start;
  }
}

const PerigeeEvent *fake_event(FakeServer *server, PerigeeEventType type) {
  uint64_t deadline = now_ms() + DEADLINE_MS;
  const PerigeeEvent *event;
  while ((event = perigee_next_event(server->client)) == NULL) {
    if (now_ms() > deadline) fail_msg("event %d does not come", type);
    serve(server);
  }
  if (event->type != type)
    fail_msg("event %d instead of %d: %d %s %s", event->type, type, event->code,
             event->name, event->text);
  return event;
}

void fake_expect_silence(FakeServer *server) {
  int ping = perigee_ping(server->client, 0);
  assert_true(ping > 0);
  assert_int_equal(ping, fake_event(server, PERIGEE_PONG)->request);
}

void fake_expect_body(const Packet *packet, uint32_t room, const char *body) {
  if (packet->length != 4 + strlen(body) ||
      memcmp(packet->payload + 4, body, strlen(body)) != 0)
    fail_msg("%.*s instead of %s", (int)packet->length - 4, packet->payload + 4, body);
  assert_int_equal(room, packet->payload[0]);
}

Packet fake_expect_message(FakeServer *server, FakePeer *peer, uint32_t room,
                           const char *body) {
  Packet packet = fake_expect(server, peer, CHANNEL_MESSAGE, 0);
  fake_expect_body(&packet, room, body);
  return packet;
}

// --- Packets ---

Packet fake_control(uint16_t type) { return (Packet){.type = type}; }

Packet fake_answer(uint16_t type, const Packet *request) {
  return (Packet){.channel = request->channel,
                  .type = type,
                  .flags = PACKET_RESPONSE,
                  .ref = request->ref};
}

void fake_packet(FakePeer *peer, Packet header, const char *format, ...) {
  static const char SIZES[] = "bw?d???q";
  Buf payload = {0}, bytes = {0};
  va_list args;
  va_start(args, format);
  for (const char *at = format; *at; at++) {
    const char *size = strchr(SIZES, *at);
    if (size) {
      uint64_t value = va_arg(args, uint64_t);
      buf_append(&payload, &value, (size_t)(size - SIZES) + 1);
    } else if (*at == 'z') {
      static const uint8_t ZEROS[64];
      buf_append(&payload, ZEROS, va_arg(args, size_t));
    } else {
      const char *text = va_arg(args, const char *);
      if (*at == 's') buf_str8(&payload, text, strlen(text));
      if (*at == 'S') buf_str16(&payload, text, strlen(text));
      if (*at == 't') buf_append(&payload, text, strlen(text));
    }
  }
  va_end(args);
  header.payload = payload.data;
  header.length = (uint32_t)payload.size;
  packet_append(&bytes, &header);
  fake_send(peer, bytes.data, bytes.size);
  buf_deinit(&payload);
  buf_deinit(&bytes);
}

FakeHello fake_hello(FakeServer *server, FakePeer *peer) {
  Packet packet = fake_expect(server, peer, CHANNEL_CONTROL, CONTROL_HELLO);
  Hello read;
  FakeHello hello = {0};
  assert_int_equal(0, control_read_hello(&packet, &read));
  hello.version = read.version;
  hello.hash = read.protocol_hash;
  memcpy(hello.name, read.name.bytes, read.name.size);
  memcpy(hello.token, read.token.bytes, read.token.size);
  memcpy(hello.resume, read.resume_token, UUID_SIZE);
  hello.received = read.reliable_received;
  return hello;
}

void fake_welcome_packet(Buf *bytes, const FakeWelcome *welcome) {
  Buf payload = {0};
  uint8_t token[UUID_SIZE], session[UUID_SIZE];
  memset(token, welcome->token, sizeof token);
  memset(session, 1, sizeof session);
  Welcome values = {
      .peer = welcome->id ? welcome->id : SELF,
      .session = session,
      .resume_token = token,
      .server_time_us = 1700000000000000u,
      .max_payload = 65536,
      .ping_interval_ms = 13000,
      .tick_rate = 20,
      .reliable_received = welcome->received,
      .udp_port = welcome->udp_port,
      .udp_key = welcome->udp_key,
  };
  control_welcome(&payload, &values);
  if (welcome->version) payload.data[0] = (uint8_t)welcome->version;
  payload.data[56] = welcome->is_resumed;
  Packet packet = {.type = CONTROL_WELCOME,
                   .payload = payload.data,
                   .length = (uint32_t)payload.size};
  packet_append(bytes, &packet);
  buf_deinit(&payload);
}

void fake_welcome(FakePeer *peer, const FakeWelcome *welcome) {
  Buf bytes = {0};
  fake_welcome_packet(&bytes, welcome);
  fake_send(peer, bytes.data, bytes.size);
  buf_deinit(&bytes);
}

FakePeer *fake_connect(FakeServer *server, const PerigeeOptions *options,
                       uint8_t token) {
  fake_open(server);
  server->client = perigee_connect(server->address, options, NULL);
  assert_non_null(server->client);
  FakePeer *peer = fake_accept(server);
  fake_hello(server, peer);
  fake_welcome(peer, &(FakeWelcome){.token = token});
  fake_event(server, PERIGEE_CONNECTED);
  return peer;
}

// Members are letters, and each letter stands for a peer: b is 9 "bob", c is 10 "cleo",
// d is 11, e is 12.
void fake_joined(FakePeer *peer, uint32_t id, const char *name, uint32_t self,
                 const char *members, uint8_t flags, uint16_t ref) {
  static const char *const NAMES[] = {"bob", "cleo", "dora", "emil"};
  Buf bytes = {0};
  buf_u32(&bytes, id);
  buf_str8(&bytes, name, strlen(name));
  buf_u32(&bytes, self);
  buf_u16(&bytes, (uint16_t)strlen(members));
  for (; *members; members++) {
    buf_u32(&bytes, (uint32_t)(BOB + *members - 'b'));
    buf_str8(&bytes, NAMES[*members - 'b'], strlen(NAMES[*members - 'b']));
  }
  Packet header = {.type = CONTROL_JOINED,
                   .flags = flags,
                   .ref = ref,
                   .payload = bytes.data,
                   .length = (uint32_t)bytes.size};
  Buf packet = {0};
  packet_append(&packet, &header);
  fake_send(peer, packet.data, packet.size);
  buf_deinit(&packet);
  buf_deinit(&bytes);
}

void fake_let_in(FakeServer *server, FakePeer *peer, uint32_t id, const char *name,
                 const char *members) {
  Packet join = fake_expect(server, peer, CHANNEL_CONTROL, CONTROL_JOIN);
  assert_int_equal(PACKET_REQUEST | PACKET_RELIABLE, join.flags);
  assert_int_equal(strlen(name), join.payload[0]);
  assert_memory_equal(name, join.payload + 1, strlen(name));
  fake_joined(peer, id, name, perigee_peer_id(server->client), members, PACKET_RESPONSE,
              join.ref);
}

FakePeer *fake_connect_in_room(FakeServer *server, const PerigeeOptions *options,
                               uint8_t token, uint32_t *room) {
  FakePeer *peer = fake_connect(server, options, token);
  int request = perigee_join(server->client, "arena", 0);
  assert_true(request > 0);
  fake_let_in(server, peer, ROOM, "arena", "bc");
  const PerigeeEvent *event = fake_event(server, PERIGEE_JOINED);
  assert_int_equal(request, event->request);
  *room = event->room;
  return peer;
}

// --- Connections one after the other ---

PerigeeOptions fake_options(void) {
  PerigeeOptions options;
  perigee_options_init(&options);
  options.reconnect_first_ms = 1;
  options.reconnect_max_ms = 10;
  return options;
}

FakePeer *fake_return(FakeServer *server, FakePeer *peer, FakeHello *hello) {
  fake_cut(peer);
  fake_expect_cut(fake_event(server, PERIGEE_DISCONNECTED));
  assert_int_equal(PERIGEE_STATE_RECONNECTING, perigee_state(server->client));
  const PerigeeEvent *event = fake_event(server, PERIGEE_RECONNECTING);
  assert_int_equal(1, event->count);
  assert_true(event->time_us >= 500 && event->time_us <= 1000);
  FakePeer *again = fake_accept(server);
  FakeHello said = fake_hello(server, again);
  if (hello) *hello = said;
  return again;
}

FakePeer *fake_resume(FakeServer *server, FakePeer *peer, uint8_t token,
                      uint32_t received) {
  FakePeer *again = fake_return(server, peer, NULL);
  fake_welcome(again,
               &(FakeWelcome){.token = token, .is_resumed = 1, .received = received});
  return again;
}
