// Sockets of the load generator: connects, joins, reads and checks input, and reads the
// server's memory from /proc.
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
  EVENTS = 512,
  READ_SIZE = 512 << 10,
  RECORD_SIZE = 16 << 10,
  CONNECT_BATCH = 100,  // connections that wait for their WELCOME at a time
};

static const uint64_t PATIENCE_NS = 10000000000u;

uint64_t server_rss_kb(const Load *load) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/%d/status", load->pid);
  FILE *status = fopen(path, "r");
  if (!status) fail("no server with pid %d", load->pid);
  unsigned long long kb = 0;
  while (fgets(line, sizeof line, status))
    if (sscanf(line, "VmRSS: %llu", &kb) == 1) break;
  fclose(status);
  return kb;
}

void client_watch(Load *load, Client *client) {
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
  if (epoll_ctl(load->epoll, EPOLL_CTL_ADD, client->fd, &event)) fail("epoll_ctl");
}

void client_ignore(Load *load, Client *client) {
  if (epoll_ctl(load->epoll, EPOLL_CTL_DEL, client->fd, NULL)) fail("epoll_ctl");
}

static void write_bytes(const Client *client, const Bytes *bytes) {
  if (client->secure) bytes = secure_encrypt(client->secure, bytes);
  for (size_t done = 0; done < bytes->size;) {
    ssize_t sent =
        send(client->fd, bytes->data + done, bytes->size - done, MSG_NOSIGNAL);
    if (sent >= 0) {
      done += (size_t)sent;
    } else if (errno == EAGAIN) {
      struct pollfd wait = {.fd = client->fd, .events = POLLOUT};
      poll(&wait, 1, 1000);
    } else {
      fail("client %u cannot write: %s", client->index, strerror(errno));
    }
  }
}

void client_write(const Load *load, const Client *client, const Bytes *bytes) {
  static Bytes message;
  if (!load->ws) {
    write_bytes(client, bytes);
    return;
  }
  message.size = 0;
  ws_put_message(&message, bytes->data, bytes->size);
  write_bytes(client, &message);
}

static void client_write_once(const Load *load, const Client *client, Bytes *bytes) {
  bytes_packet_end(bytes, 0);
  client_write(load, client, bytes);
  bytes_deinit(bytes);
}

void client_open(Load *load, Client *client) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_port = htons(load->port),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  int one = 1;
  client->fd = socket(AF_INET, SOCK_STREAM, 0);
  if (client->fd < 0) fail("socket: %s", strerror(errno));
  if (connect(client->fd, (struct sockaddr *)&address, sizeof address))
    fail("connect: %s", strerror(errno));
  setsockopt(client->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  if (load->tls && !(client->secure = secure_open(client->fd)))
    fail("client %u gets no TLS", client->index);
  client_watch(load, client);
  if (load->ws) {
    const Bytes request = {(uint8_t *)WS_REQUEST, sizeof WS_REQUEST - 1, 0};
    client->is_asking = true;
    write_bytes(client, &request);
  }

  char name[16];
  int size = snprintf(name, sizeof name, "load-%u", client->index);
  Bytes hello = {0};
  bytes_packet(&hello, WIRE_HELLO, 0, 0);
  bytes_u16(&hello, 1);
  bytes_zeros(&hello, 8);
  bytes_str8(&hello, name, (size_t)size);
  bytes_zeros(&hello, 2 + 16 + 4);
  client_write_once(load, client, &hello);
}

// Closes with a reset, so that no port stays in TIME_WAIT. The server must have closed
// the connection before.
void client_close(Client *client) {
  const struct linger reset = {.l_onoff = 1, .l_linger = 0};
  setsockopt(client->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  close(client->fd);
  secure_close(client->secure);
  bytes_deinit(&client->in);
  client->secure = NULL;
  client->fd = -1;
  client->room = 0;
  memset(client->expected, 0, sizeof client->expected);
}

void client_join(const Load *load, Client *client, uint32_t room_number) {
  char room[24];
  int size = snprintf(room, sizeof room, "bench:%u", room_number);
  Bytes join = {0};
  bytes_packet(&join, WIRE_JOIN, WIRE_REQUEST, 1);
  bytes_str8(&join, room, (size_t)size);
  client_write_once(load, client, &join);
}

void client_send(const Load *load, Client *client, enum WireType type,
                 const uint32_t *room) {
  Bytes packet = {0};
  bytes_packet(&packet, (uint16_t)type, 0, 0);
  if (room) bytes_u32(&packet, *room);
  client_write_once(load, client, &packet);
}

void broadcast_put(Bytes *bytes, const Load *load, const Client *client,
                   uint32_t number, uint64_t stamp) {
  size_t start = bytes_packet(bytes, WIRE_BROADCAST, 0, 0);
  bytes_u32(bytes, client->room);
  bytes_u32(bytes, number);
  bytes_u64(bytes, stamp);
  bytes_zeros(bytes, load->payload - 12);
  bytes_packet_end(bytes, start);
}

static void on_relayed(Load *load, Client *client, const WireHeader *header,
                       const uint8_t *payload) {
  uint32_t number = wire_u32(payload + 8);
  if (number >> PUBLISHER_SHIFT >= PUBLISHERS_MAX)
    fail("client %u got broadcast %u", client->index, number);
  if (header->length != 8 + load->payload || wire_u32(payload) != client->room)
    fail("client %u got a broadcast that nobody sent", client->index);
  uint32_t *expected = &client->expected[number >> PUBLISHER_SHIFT];
  number &= (1u << PUBLISHER_SHIFT) - 1;
  if (number != *expected && !load->lossy)
    fail("client %u got broadcast %u instead of %u", client->index, number, *expected);
  *expected = number + 1;
  load->deliveries++;
}

static void on_packet(Load *load, Client *client, const WireHeader *header,
                      const uint8_t *payload) {
  Bytes pong = {0};
  switch (header->channel ? 0 : header->type) {
    case WIRE_RELAYED:
      on_relayed(load, client, header, payload);
      break;
    case WIRE_PING:
      bytes_packet(&pong, WIRE_PONG, 0, 0);
      bytes_put(&pong, payload, header->length);
      client_write_once(load, client, &pong);
      load->pings++;
      break;
    case WIRE_WELCOME:
      client->id = wire_u32(payload + 2);
      load->welcomed++;
      break;
    case WIRE_JOINED:
      client->room = wire_u32(payload);
      load->joined++;
      break;
    case WIRE_LEFT:
    case WIRE_PEER_JOINED:
    case WIRE_PEER_LEFT:
      break;
    default:
      fail("client %u got packet %u of channel %u, code %u", client->index,
           header->type, header->channel, wire_u16(payload));
  }
  if (load->on_packet) load->on_packet(load, client, header->type, payload);
}

static void on_end(Load *load, Client *client) {
  if (!load->finishing) fail("the server closed client %u", client->index);
  client_close(client);
  load->closed++;
  if (load->on_close) load->on_close(load, client);
}

static ssize_t client_receive(const Client *client, uint8_t *to) {
  static uint8_t encrypted[READ_SIZE];
  if (!client->secure) return recv(client->fd, to, READ_SIZE, MSG_DONTWAIT);
  ssize_t got = recv(client->fd, encrypted, READ_SIZE, MSG_DONTWAIT);
  if (got <= 0) return got;
  ssize_t plain = secure_decrypt(client->secure, encrypted, (size_t)got, to);
  if (plain > 0) return plain;
  errno = EAGAIN;
  return plain == 0 ? -1 : 0;
}

// Reads the whole packets; returns the end of the last one.
static const uint8_t *read_packets(Load *load, Client *client, const uint8_t *at,
                                   const uint8_t *end) {
  while (end - at >= WIRE_HEADER) {
    WireHeader header;
    memcpy(&header, at, WIRE_HEADER);
    if ((size_t)(end - at) - WIRE_HEADER < header.length) break;
    on_packet(load, client, &header, at + WIRE_HEADER);
    at += WIRE_HEADER + header.length;
  }
  return at;
}

// Reads WebSocket messages, each of which must contain whole packets. Returns the end of
// the last whole message.
static const uint8_t *read_messages(Load *load, Client *client, const uint8_t *at,
                                    const uint8_t *end) {
  if (client->is_asking) {
    const uint8_t *found = memmem(at, (size_t)(end - at), "\r\n\r\n", 4);
    if (!found) return at;
    if (memcmp(at, WS_ANSWER, 12)) fail("client %u gets no WebSocket", client->index);
    client->is_asking = false;
    at = found + 4;
  }
  uint64_t length;
  size_t header;
  while ((header = ws_read_header(at, (size_t)(end - at), &length)) > 0) {
    if (at[0] != WS_BINARY && at[0] != WS_CLOSE)
      fail("client %u got a frame that is no message", client->index);
    if ((size_t)(end - at) - header < length) break;
    const uint8_t *data = at + header, *behind = data + length;
    if (at[0] == WS_BINARY && read_packets(load, client, data, behind) != behind)
      fail("client %u got a packet that is not whole in its message", client->index);
    at = behind;
  }
  return at;
}

static void client_read(Load *load, Client *client) {
  static uint8_t buffer[READ_SIZE + RECORD_SIZE + 2 * WS_MESSAGE_MAX];
  size_t size = client->in.size;
  if (size) memcpy(buffer, client->in.data, size);
  ssize_t got = client_receive(client, buffer + size);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    on_end(load, client);
    return;
  }
  const uint8_t *at = buffer, *end = buffer + size + got;
  at = load->ws ? read_messages(load, client, at, end)
                : read_packets(load, client, at, end);
  client->in.size = 0;
  bytes_put(&client->in, at, (size_t)(end - at));
}

void load_poll(Load *load, int timeout_ms) {
  struct epoll_event events[EVENTS];
  int count = epoll_wait(load->epoll, events, EVENTS, load->spin ? 0 : timeout_ms);
  for (int i = 0; i < count; i++) client_read(load, events[i].data.ptr);
}

void load_await(Load *load, const uint64_t *counter, uint64_t goal, const char *what) {
  uint64_t deadline = clock_ns() + PATIENCE_NS;
  for (uint32_t turn = 1; *counter < goal; turn++) {
    load_poll(load, 100);
    if (turn % 64 == 0 && clock_ns() > deadline)
      fail("only %llu of %llu %s", (unsigned long long)*counter,
           (unsigned long long)goal, what);
  }
}

void load_connect(Load *load, uint32_t count) {
  load->clients = calloc(count, sizeof *load->clients);
  if (!load->clients) abort();
  for (load->count = 0; load->count < count; load->count++) {
    Client *client = &load->clients[load->count];
    client->index = load->count;
    client_open(load, client);
    if (load->count % CONNECT_BATCH == 0)
      load_await(load, &load->welcomed, load->count, "clients were welcomed");
  }
  load_await(load, &load->welcomed, count, "clients were welcomed");
}

void load_join(Load *load) {
  for (uint32_t i = 0; i < load->count; i++) {
    client_join(load, &load->clients[i], 1 + i / load->members);
    if (i % CONNECT_BATCH == 0) load_await(load, &load->joined, i, "clients joined");
  }
  load_await(load, &load->joined, load->count, "clients joined");
}

void client_burst(Load *load, uint32_t publisher, uint32_t number) {
  Bytes burst = {0};
  for (uint32_t i = 0; i < load->burst; i++)
    broadcast_put(&burst, load, &load->clients[publisher],
                  publisher << PUBLISHER_SHIFT | (number + i), 0);
  client_write(load, &load->clients[publisher], &burst);
  bytes_deinit(&burst);
}

void load_burst(Load *load, uint32_t *number) {
  uint64_t goal = load->deliveries + (uint64_t)load->burst * (load->members - 1);
  client_burst(load, 0, *number);
  *number += load->burst;
  load_await(load, &load->deliveries, goal, "deliveries");
}

void load_finish(Load *load) {
  load->finishing = true;
  uint64_t open = 0;
  for (uint32_t i = 0; i < load->count; i++) {
    if (load->clients[i].fd < 0) continue;
    open++;
    client_send(load, &load->clients[i], WIRE_BYE, NULL);
  }
  load_await(load, &load->closed, load->closed + open, "clients were closed");
  free(load->clients);
}

static int compare(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

uint32_t percentile(uint32_t *values, size_t count, double share) {
  if (!count) return 0;
  qsort(values, count, sizeof *values, compare);
  size_t at = (size_t)((double)count * share);
  return values[at < count ? at : count - 1];
}
