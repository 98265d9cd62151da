// The floor: the plainest fast relay, one thread of epoll with nothing in between. It
// speaks as much of the protocol as the bench needs and checks its input like a real
// server: a broadcast is framed once for its room and turn, and every member gets one
// send per turn. What Perigee costs beyond this is the price of everything else that it
// does.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "wire.h"

enum {
  EVENTS = 512,
  SEATS = 4,              // rooms that one connection may be in
  ROOMS = 8192,           // a power of two: the table of names
  RANGES = 64,            // parts of one gathered write
  FRAME_MAX = 512 << 10,  // a room is flushed early past this
  BACKLOG_MAX = 1 << 20,  // what may wait for a connection that does not read
  READ_SIZE = 256 << 10,
};

typedef struct Conn Conn;
typedef struct Room Room;

typedef struct Seat {
  Room *room;
  uint32_t index;  // among the room's members
} Seat;

struct Conn {
  int fd;  // -1: closed, freed at the end of the turn
  uint32_t id;
  bool greeted, dirty, blocked;
  uint8_t name_size, seat_count;
  char name[WIRE_NAME_MAX];
  Seat seats[SEATS];
  uint64_t sent_turn;  // the last turn in which it broadcast
  Bytes in;            // the beginning of a packet
  Bytes out;           // direct packets, and what the socket did not take
};

typedef struct Member {
  Conn *conn;
  size_t start;  // where in the frame its part begins
} Member;

typedef struct Own {
  const Conn *sender;
  size_t from, to;
} Own;

struct Room {
  uint32_t id;
  uint8_t name_size;
  bool dirty;
  char name[WIRE_NAME_MAX];
  Member *members;
  uint32_t count, capacity;
  Bytes frame;  // this turn's packets
  Bytes own;    // Own: parts of the frame that a member does not get
};

typedef struct Floor {
  int epoll, listener;
  uint32_t next_id, room_count;
  uint64_t turn;
  Room *rooms[ROOMS + 1];   // by id
  uint32_t by_name[ROOMS];  // open addressing; ids
  Bytes dirty_rooms;        // Room *
  Bytes dirty_conns;        // Conn *: with direct output
  Bytes dead;               // Conn *
  uint8_t read[READ_SIZE + WIRE_PACKET_MAX];
} Floor;

static void conn_dirty(Floor *floor, Conn *conn) {
  if (conn->dirty) return;
  conn->dirty = true;
  bytes_put(&floor->dirty_conns, &conn, sizeof conn);
}

static void conn_watch(Floor *floor, Conn *conn, bool blocked) {
  conn->blocked = blocked;
  struct epoll_event event = {.events = blocked ? EPOLLIN | EPOLLOUT : EPOLLIN,
                              .data.ptr = conn};
  epoll_ctl(floor->epoll, EPOLL_CTL_MOD, conn->fd, &event);
}

// Writes the ranges at once; what the socket does not take becomes the connection's
// backlog.
static void conn_write(Floor *floor, Conn *conn, struct iovec *ranges, int count) {
  struct msghdr message = {.msg_iov = ranges, .msg_iovlen = (size_t)count};
  ssize_t sent = count == 1 ? send(conn->fd, ranges->iov_base, ranges->iov_len,
                                   MSG_DONTWAIT | MSG_NOSIGNAL)
                            : sendmsg(conn->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  size_t skip = sent > 0 ? (size_t)sent : 0, whole = 0;
  for (int i = 0; i < count; i++) whole += ranges[i].iov_len;
  if (skip == whole) {
    conn->out.size = 0;
    return;
  }
  Bytes rest = {0};
  for (int i = 0; i < count; i++) {
    if (skip < ranges[i].iov_len)
      bytes_put(&rest, (uint8_t *)ranges[i].iov_base + skip, ranges[i].iov_len - skip);
    skip -= skip < ranges[i].iov_len ? skip : ranges[i].iov_len;
  }
  bytes_deinit(&conn->out);
  conn->out = rest;
  if (!conn->blocked) conn_watch(floor, conn, true);
}

static void conn_flush(Floor *floor, Conn *conn) {
  if (!conn->out.size || conn->fd < 0) return;
  struct iovec range = {conn->out.data, conn->out.size};
  conn_write(floor, conn, &range, 1);
  if (conn->blocked && !conn->out.size) conn_watch(floor, conn, false);
}

// The parts of the room's frame that are for this member; -1 when there are too many.
static int member_ranges(const Floor *floor, const Room *room, const Member *member,
                         struct iovec *ranges) {
  size_t from = member->start;
  int count = 0;
  if (member->conn->sent_turn == floor->turn) {
    const Own *own = (const Own *)room->own.data;
    const Own *end = own + room->own.size / sizeof *own;
    for (; own < end; own++) {
      if (own->sender != member->conn || own->to <= from) continue;
      if (count == RANGES) return -1;
      if (own->from > from)
        ranges[count++] = (struct iovec){room->frame.data + from, own->from - from};
      from = own->to;
    }
  }
  if (count == RANGES) return -1;
  if (from < room->frame.size)
    ranges[count++] = (struct iovec){room->frame.data + from, room->frame.size - from};
  return count;
}

static void member_flush(Floor *floor, Room *room, Member *member) {
  struct iovec ranges[RANGES + 1];
  Conn *conn = member->conn;
  int count = member_ranges(floor, room, member, ranges + 1);
  member->start = 0;
  if (count <= 0) return;
  if (conn->blocked) {
    for (int i = 1; i <= count && conn->out.size < BACKLOG_MAX; i++)
      bytes_put(&conn->out, ranges[i].iov_base, ranges[i].iov_len);
  } else if (conn->out.size) {
    ranges[0] = (struct iovec){conn->out.data, conn->out.size};
    conn_write(floor, conn, ranges, count + 1);
  } else {
    conn_write(floor, conn, ranges + 1, count);
  }
}

static void room_flush(Floor *floor, Room *room) {
  for (uint32_t i = 0; i < room->count; i++)
    member_flush(floor, room, &room->members[i]);
  room->frame.size = room->own.size = 0;
}

// Begins a packet to all members but `except`.
static size_t room_packet(Floor *floor, Room *room, uint16_t type) {
  if (!room->dirty) {
    room->dirty = true;
    bytes_put(&floor->dirty_rooms, &room, sizeof room);
  }
  return bytes_packet(&room->frame, type, 0, 0);
}

static void room_packet_end(Floor *floor, Room *room, size_t start, Conn *except) {
  bytes_packet_end(&room->frame, start);
  Own *last = room->own.size ? (Own *)(room->own.data + room->own.size) - 1 : NULL;
  except->sent_turn = floor->turn;
  if (last && last->sender == except && last->to == start)
    last->to = room->frame.size;
  else
    *(Own *)bytes_add(&room->own, sizeof *last) =
        (Own){except, start, room->frame.size};
  if (room->frame.size > FRAME_MAX) room_flush(floor, room);
}

static Room *room_by_name(Floor *floor, const uint8_t *name, uint8_t size) {
  uint32_t hash = 2166136261u;
  for (uint8_t i = 0; i < size; i++) hash = (hash ^ name[i]) * 16777619u;
  uint32_t slot = hash & (ROOMS - 1);
  for (; floor->by_name[slot]; slot = (slot + 1) & (ROOMS - 1)) {
    Room *room = floor->rooms[floor->by_name[slot]];
    if (room->name_size == size && !memcmp(room->name, name, size)) return room;
  }
  if (floor->room_count == ROOMS / 2) return NULL;
  Room *room = calloc(1, sizeof *room);
  if (!room) abort();
  room->id = ++floor->room_count;
  room->name_size = size;
  memcpy(room->name, name, size);
  floor->rooms[room->id] = room;
  floor->by_name[slot] = room->id;
  return room;
}

static int conn_seat(const Conn *conn, uint32_t room_id) {
  for (int i = 0; i < conn->seat_count; i++)
    if (conn->seats[i].room->id == room_id) return i;
  return -1;
}

// Takes the connection out of a room: it gets what was broadcast before, then is told
// of no more.
static void room_leave(Floor *floor, Conn *conn, int seat) {
  Room *room = conn->seats[seat].room;
  Member *member = &room->members[conn->seats[seat].index];
  struct iovec ranges[RANGES];
  int count = member_ranges(floor, room, member, ranges);
  for (int i = 0; i < count; i++)
    bytes_put(&conn->out, ranges[i].iov_base, ranges[i].iov_len);

  Member *last = &room->members[--room->count];
  if (last != member) {
    *member = *last;
    for (int i = 0; i < last->conn->seat_count; i++)
      if (last->conn->seats[i].room == room)
        last->conn->seats[i].index = (uint32_t)(member - room->members);
  }
  conn->seats[seat] = conn->seats[--conn->seat_count];
  size_t start = room_packet(floor, room, WIRE_PEER_LEFT);
  bytes_u32(&room->frame, room->id);
  bytes_u32(&room->frame, conn->id);
  room_packet_end(floor, room, start, conn);
}

static void conn_close(Floor *floor, Conn *conn) {
  if (conn->fd < 0) return;
  while (conn->seat_count) room_leave(floor, conn, 0);
  conn->out.size = 0;
  close(conn->fd);
  conn->fd = -1;
  bytes_put(&floor->dead, &conn, sizeof conn);
}

static bool name_ok(const uint8_t *name, size_t size) {
  if (!size || size > WIRE_NAME_MAX) return false;
  for (size_t i = 0; i < size; i++)
    if (name[i] < 0x20 || name[i] >= 0x7f) return false;  // the bench's names are ASCII
  return true;
}

// Answers go out as a RESPONSE where the packet asked for one.
static size_t answer(Floor *floor, Conn *conn, const WireHeader *header,
                     uint16_t type) {
  bool asked = header->flags & WIRE_REQUEST;
  conn_dirty(floor, conn);
  return bytes_packet(&conn->out, type, asked ? WIRE_RESPONSE : 0, header->ref);
}

static bool refuse(Floor *floor, Conn *conn, const WireHeader *header, uint16_t code) {
  size_t start = answer(floor, conn, header, WIRE_ERROR);
  bytes_u16(&conn->out, code);
  bytes_u16(&conn->out, 0);
  bytes_packet_end(&conn->out, start);
  return true;
}

static bool on_hello(Floor *floor, Conn *conn, const WireHeader *header,
                     const uint8_t *payload) {
  if (header->type != WIRE_HELLO || header->length < 33) return false;
  uint8_t name_size = payload[10];
  if (wire_u16(payload) != 1 || header->length < 33u + name_size) return false;
  if (!name_ok(payload + 11, name_size)) return false;
  if (header->length != 33u + name_size + wire_u16(payload + 11 + name_size))
    return false;
  conn->greeted = true;
  conn->name_size = name_size;
  memcpy(conn->name, payload + 11, name_size);

  size_t start = answer(floor, conn, header, WIRE_WELCOME);
  bytes_u16(&conn->out, 1);
  bytes_u32(&conn->out, conn->id);
  bytes_zeros(&conn->out, 40);
  bytes_u32(&conn->out, WIRE_PAYLOAD_MAX);
  bytes_zeros(&conn->out, 4 + 2 + 1 + 4 + 2 + 32);
  bytes_packet_end(&conn->out, start);
  return true;
}

static void tell_joined(Floor *floor, Conn *conn, Room *room,
                        const WireHeader *header) {
  size_t start = answer(floor, conn, header, WIRE_JOINED);
  bytes_u32(&conn->out, room->id);
  bytes_str8(&conn->out, room->name, room->name_size);
  bytes_u32(&conn->out, conn->id);
  bytes_u16(&conn->out, (uint16_t)room->count);
  for (uint32_t i = 0; i < room->count; i++) {
    bytes_u32(&conn->out, room->members[i].conn->id);
    bytes_str8(&conn->out, room->members[i].conn->name,
               room->members[i].conn->name_size);
  }
  bytes_packet_end(&conn->out, start);

  start = room_packet(floor, room, WIRE_PEER_JOINED);
  bytes_u32(&room->frame, room->id);
  bytes_u32(&room->frame, conn->id);
  bytes_str8(&room->frame, conn->name, conn->name_size);
  room_packet_end(floor, room, start, conn);
}

static bool on_join(Floor *floor, Conn *conn, const WireHeader *header,
                    const uint8_t *payload) {
  if (header->length < 1 || header->length != 1u + payload[0]) return false;
  if (!name_ok(payload + 1, payload[0])) return refuse(floor, conn, header, 5);
  Room *room = room_by_name(floor, payload + 1, payload[0]);
  if (!room || conn->seat_count == SEATS) return refuse(floor, conn, header, 8);
  if (conn_seat(conn, room->id) >= 0) return refuse(floor, conn, header, 13);
  tell_joined(floor, conn, room, header);
  if (room->count == room->capacity) {
    room->capacity = room->capacity ? room->capacity * 2 : 8;
    room->members = realloc(room->members, room->capacity * sizeof *room->members);
    if (!room->members) abort();
  }
  conn->seats[conn->seat_count++] = (Seat){room, room->count};
  room->members[room->count++] = (Member){conn, room->frame.size};
  return true;
}

static bool on_leave(Floor *floor, Conn *conn, const WireHeader *header,
                     const uint8_t *payload) {
  if (header->length != 4) return false;
  uint32_t id = wire_u32(payload);
  if (!id || id > floor->room_count) return refuse(floor, conn, header, 11);
  int seat = conn_seat(conn, id);
  if (seat < 0) return refuse(floor, conn, header, 12);
  room_leave(floor, conn, seat);
  size_t start = answer(floor, conn, header, WIRE_LEFT);
  bytes_u32(&conn->out, id);
  bytes_u16(&conn->out, 0);
  bytes_packet_end(&conn->out, start);
  return true;
}

static bool on_broadcast(Floor *floor, Conn *conn, const WireHeader *header,
                         const uint8_t *payload) {
  if (header->length < 4) return false;
  uint32_t id = wire_u32(payload);
  if (!id || id > floor->room_count) return refuse(floor, conn, header, 11);
  int seat = conn_seat(conn, id);
  if (seat < 0) return refuse(floor, conn, header, 12);
  Room *room = conn->seats[seat].room;
  size_t start = room_packet(floor, room, WIRE_RELAYED);
  uint8_t *at = bytes_add(&room->frame, header->length + 4);
  room->frame.data[start + 4] = header->priority;
  memcpy(at, &id, 4);
  memcpy(at + 4, &conn->id, 4);
  memcpy(at + 8, payload + 4, header->length - 4);
  room_packet_end(floor, room, start, conn);
  return true;
}

// Returns false when the connection has to end.
static bool on_packet(Floor *floor, Conn *conn, const WireHeader *header,
                      const uint8_t *payload) {
  if (!conn->greeted) return on_hello(floor, conn, header, payload);
  if (header->channel) return refuse(floor, conn, header, 14);
  switch (header->type) {
    case WIRE_BROADCAST:
      return on_broadcast(floor, conn, header, payload);
    case WIRE_JOIN:
      return on_join(floor, conn, header, payload);
    case WIRE_LEAVE:
      return on_leave(floor, conn, header, payload);
    case WIRE_PONG:
      return header->length == 8;
    case WIRE_BYE:
      conn_flush(floor, conn);
      return false;
    case WIRE_HELLO:
      return false;
    default:
      return refuse(floor, conn, header, 18);
  }
}

static bool header_ok(const WireHeader *header) {
  const uint8_t both = WIRE_REQUEST | WIRE_RESPONSE;
  return header->priority <= 3 && header->flags <= 7 &&
         (header->flags & both) != both && header->length <= WIRE_PAYLOAD_MAX;
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
  size += (size_t)got;
  const uint8_t *at = floor->read, *end = at + size;
  while (end - at >= WIRE_HEADER) {
    WireHeader header;
    memcpy(&header, at, WIRE_HEADER);
    bool good = header_ok(&header);
    if (good && (size_t)(end - at) - WIRE_HEADER < header.length) break;
    if (!good || !on_packet(floor, conn, &header, at + WIRE_HEADER)) {
      conn_close(floor, conn);
      return;
    }
    at += WIRE_HEADER + header.length;
  }
  conn->in.size = 0;
  if (at < end) bytes_put(&conn->in, at, (size_t)(end - at));
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
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = conn};
    epoll_ctl(floor->epoll, EPOLL_CTL_ADD, fd, &event);
  }
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
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  Floor *floor = calloc(1, sizeof *floor);
  if (!floor || floor_listen(floor)) {
    perror("floor");
    return 1;
  }
  for (;;) {
    struct epoll_event events[EVENTS];
    int count = epoll_wait(floor->epoll, events, EVENTS, -1);
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
    end_turn(floor);
  }
}
