// The loop of the floor: accepting, reading, PINGs, and the end of each iteration.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "floor.h"
#include "program.h"

static bool header_ok(const WireHeader *header) {
  const uint8_t both = WIRE_REQUEST | WIRE_RESPONSE;
  return header->priority <= 3 && header->flags <= 7 &&
         (header->flags & both) != both && header->length <= WIRE_PAYLOAD_MAX;
}

// Handles the whole packets; returns the end of the last one, or NULL if the connection
// must end.
static uint8_t *read_packets(Floor *floor, Conn *conn, uint8_t *at, uint8_t *end) {
  while (end - at >= WIRE_HEADER) {
    WireHeader header;
    memcpy(&header, at, WIRE_HEADER);
    bool good = header_ok(&header);
    if (good && (size_t)(end - at) - WIRE_HEADER < header.length) break;
    if (!good || !packet_handle(floor, conn, &header, at + WIRE_HEADER)) return NULL;
    at += WIRE_HEADER + header.length;
  }
  return at;
}

static void unmask(uint8_t *data, size_t size, const uint8_t mask[WS_MASK]) {
  uint64_t word, key = 0;
  memcpy(&key, mask, WS_MASK);
  key |= key << 32;
  size_t i = 0;
  for (; i + sizeof word <= size; i += sizeof word) {
    memcpy(&word, data + i, sizeof word);
    word ^= key;
    memcpy(data + i, &word, sizeof word);
  }
  for (; i < size; i++) data[i] ^= mask[i % WS_MASK];
}

// Handles the whole WebSocket messages, each of which must contain whole packets.
// Returns the end of the last one, or NULL if the connection must end.
static uint8_t *read_messages(Floor *floor, Conn *conn, uint8_t *at, uint8_t *end) {
  uint64_t length;
  size_t header;
  while ((header = ws_read_header(at, (size_t)(end - at), &length)) > 0) {
    bool good = at[0] == WS_BINARY && at[1] & 128 && length <= WS_MESSAGE_MAX - 64;
    if (!good) return NULL;
    if ((size_t)(end - at) - header < length) break;
    uint8_t *data = at + header;
    at = data + length;
    unmask(data, length, data - WS_MASK);
    if (read_packets(floor, conn, data, at) != at) return NULL;
  }
  return at;
}

static uint8_t *begin_ws(Floor *floor, Conn *conn, uint8_t *at, uint8_t *end) {
  uint8_t *found = memmem(at, (size_t)(end - at), "\r\n\r\n", 4);
  if (!found) return end;
  conn->is_ws = true;
  bytes_put(&conn->rest, WS_ANSWER, sizeof WS_ANSWER - 1);
  conn_dirty(floor, conn);
  return found + 4;
}

static void conn_read(Floor *floor, Conn *conn) {
  size_t size = conn->in.size;
  if (size) memcpy(floor->read, conn->in.data, size);
  ssize_t got = recv(conn->fd, floor->read + size, READ_SIZE, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    conn_close(floor, conn);
    return;
  }
  uint8_t *at = floor->read, *end = at + size + got;
  if (!conn->greeted && !conn->is_ws && *at == 'G') at = begin_ws(floor, conn, at, end);
  at = conn->is_ws ? read_messages(floor, conn, at, end)
                   : read_packets(floor, conn, at, end);
  if (!at) {
    conn_close(floor, conn);
    return;
  }
  conn->in.size = 0;
  if (at < end) bytes_put(&conn->in, at, (size_t)(end - at));
}

static uint64_t now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void ring_add(Floor *floor, Conn *conn, uint64_t ping_at_ms) {
  conn->ping_at_ms = ping_at_ms;
  conn->next = &floor->ring;
  conn->previous = floor->ring.previous;
  conn->previous->next = floor->ring.previous = conn;
}

static void on_accept(Floor *floor) {
  for (;;) {
    int fd = accept4(floor->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    Conn *conn = calloc(1, sizeof *conn);
    if (!conn) abort();
    conn->fd = fd;
    conn->id = ++floor->next_id;
    ring_add(floor, conn, now_ms() + PING_INTERVAL_MS);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = conn};
    epoll_ctl(floor->epoll, EPOLL_CTL_ADD, fd, &event);
  }
}

// Sends due PINGs, and closes connections that have not answered the last one.
static void ping_due(Floor *floor, uint64_t now) {
  while (floor->ring.next != &floor->ring && floor->ring.next->ping_at_ms <= now) {
    Conn *conn = floor->ring.next;
    if (conn->pinged || !conn->greeted) {
      conn_close(floor, conn);
      continue;
    }
    conn->previous->next = conn->next;
    conn->next->previous = conn->previous;
    ring_add(floor, conn, now + PING_INTERVAL_MS);
    conn->pinged = true;
    conn_dirty(floor, conn);
    size_t start = bytes_packet(&conn->out, WIRE_PING, 0, 0);
    bytes_u64(&conn->out, now);
    bytes_packet_end(&conn->out, start);
  }
}

static int next_ping_ms(const Floor *floor, uint64_t now) {
  if (floor->ring.next == &floor->ring) return -1;
  uint64_t at = floor->ring.next->ping_at_ms;
  return at > now ? (int)(at - now) : 0;
}

static void end_turn(Floor *floor) {
  Room **rooms = (Room **)floor->dirty_rooms.data;
  for (size_t i = 0; i < floor->dirty_rooms.size / sizeof *rooms; i++) {
    room_flush(floor, rooms[i]);
    rooms[i]->dirty = false;
  }
  Conn **conns = (Conn **)floor->dirty_conns.data;
  for (size_t i = 0; i < floor->dirty_conns.size / sizeof *conns; i++) {
    if (!conns[i]->blocked) conn_flush(floor, conns[i]);
    conns[i]->dirty = false;
  }
  Conn **dead = (Conn **)floor->dead.data;
  for (size_t i = 0; i < floor->dead.size / sizeof *dead; i++) {
    bytes_deinit(&dead[i]->in);
    bytes_deinit(&dead[i]->out);
    bytes_deinit(&dead[i]->rest);
    free(dead[i]);
  }
  floor->dirty_rooms.size = floor->dirty_conns.size = floor->dead.size = 0;
}

static int floor_listen(Floor *floor) {
  struct sockaddr_in address = {.sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t size = sizeof address;
  floor->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (bind(floor->listener, (struct sockaddr *)&address, size)) return -1;
  if (listen(floor->listener, 4096)) return -1;
  getsockname(floor->listener, (struct sockaddr *)&address, &size);
  printf("floor: serving on 127.0.0.1:%u\nfloor: ready\n", ntohs(address.sin_port));
  fflush(stdout);
  struct epoll_event event = {.events = EPOLLIN};
  floor->epoll = epoll_create1(0);
  return epoll_ctl(floor->epoll, EPOLL_CTL_ADD, floor->listener, &event);
}

int main(void) {
  raise_open_files();
  Floor *floor = calloc(1, sizeof *floor);
  if (!floor || floor_listen(floor)) {
    perror("floor");
    return 1;
  }
  floor->ring.next = floor->ring.previous = &floor->ring;
  for (uint64_t now = now_ms();; now = now_ms()) {
    struct epoll_event events[EVENTS];
    int count = epoll_wait(floor->epoll, events, EVENTS, next_ping_ms(floor, now));
    floor->turn++;
    for (int i = 0; i < count; i++) {
      Conn *conn = events[i].data.ptr;
      if (!conn) {
        on_accept(floor);
        continue;
      }
      if (conn->fd >= 0 && events[i].events & EPOLLOUT) conn_flush(floor, conn);
      if (conn->fd >= 0 && events[i].events & ~(uint32_t)EPOLLOUT)
        conn_read(floor, conn);
    }
    ping_due(floor, now);
    end_turn(floor);
  }
}
