// Output: rooms, and one send for each member and iteration.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "floor.h"

void conn_dirty(Floor *floor, Conn *conn) {
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

// Writes the ranges at once, and keeps the bytes that the socket does not accept.
static void send_ranges(Floor *floor, Conn *conn, struct iovec *ranges, int count) {
  struct msghdr message = {.msg_iov = ranges, .msg_iovlen = (size_t)count};
  ssize_t sent = count == 1 ? send(conn->fd, ranges->iov_base, ranges->iov_len,
                                   MSG_DONTWAIT | MSG_NOSIGNAL)
                            : sendmsg(conn->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  size_t skip = sent > 0 ? (size_t)sent : 0, whole = 0;
  for (int i = 0; i < count; i++) whole += ranges[i].iov_len;
  if (skip == whole) return;
  Bytes rest = {0};
  for (int i = 0; i < count; i++) {
    if (skip < ranges[i].iov_len)
      bytes_put(&rest, (uint8_t *)ranges[i].iov_base + skip, ranges[i].iov_len - skip);
    skip -= skip < ranges[i].iov_len ? skip : ranges[i].iov_len;
  }
  bytes_deinit(&conn->rest);
  conn->rest = rest;
  if (!conn->blocked) conn_watch(floor, conn, true);
}

// Writes the output for this connection alone, then the ranges. `ranges` begins with
// two unused places: one for that output and one for the header of a WebSocket message.
// A WebSocket gets all of it as one message.
static void conn_write(Floor *floor, Conn *conn, struct iovec *ranges, int count) {
  uint8_t header[WS_HEADER_MAX];
  struct iovec *first = ranges + 2;
  if (conn->out.size) *--first = (struct iovec){conn->out.data, conn->out.size};
  count += (int)(ranges + 2 - first);
  if (conn->is_ws) {
    size_t size = 0;
    for (int i = 0; i < count; i++) size += first[i].iov_len;
    *--first = (struct iovec){header, ws_put_header(header, size)};
    count++;
  }
  send_ranges(floor, conn, first, count);
  conn->out.size = 0;
}

void conn_flush(Floor *floor, Conn *conn) {
  if (conn->fd < 0) return;
  if (conn->rest.size) {
    Bytes rest = conn->rest;
    conn->rest = (Bytes){0};
    struct iovec range = {rest.data, rest.size};
    send_ranges(floor, conn, &range, 1);
    bytes_deinit(&rest);
    if (conn->rest.size) return;
  }
  if (conn->blocked) conn_watch(floor, conn, false);
  struct iovec ranges[2];
  if (conn->out.size) conn_write(floor, conn, ranges, 0);
}

// Finds the parts of the room's frame for this member; returns -1 if they are too many.
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
  struct iovec ranges[RANGES + 2];
  Conn *conn = member->conn;
  int count = member_ranges(floor, room, member, ranges + 2);
  member->start = 0;
  if (count <= 0) return;
  if (!conn->blocked && !conn->rest.size) {
    conn_write(floor, conn, ranges, count);
    return;
  }
  for (int i = 2; i < count + 2 && conn->out.size < BACKLOG_MAX; i++)
    bytes_put(&conn->out, ranges[i].iov_base, ranges[i].iov_len);
}

void room_flush(Floor *floor, Room *room) {
  for (uint32_t i = 0; i < room->count; i++)
    member_flush(floor, room, &room->members[i]);
  room->frame.size = room->own.size = 0;
}

size_t room_packet(Floor *floor, Room *room, uint16_t type) {
  if (!room->dirty) {
    room->dirty = true;
    bytes_put(&floor->dirty_rooms, &room, sizeof room);
  }
  return bytes_packet(&room->frame, type, 0, 0);
}

void room_packet_end(Floor *floor, Room *room, size_t start, Conn *except) {
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

Room *room_by_name(Floor *floor, const uint8_t *name, uint8_t size) {
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

int conn_seat(const Conn *conn, uint32_t room_id) {
  for (int i = 0; i < conn->seat_count; i++)
    if (conn->seats[i].room->id == room_id) return i;
  return -1;
}

void room_join(Conn *conn, Room *room) {
  if (room->count == room->capacity) {
    room->capacity = room->capacity ? room->capacity * 2 : 8;
    room->members = realloc(room->members, room->capacity * sizeof *room->members);
    if (!room->members) abort();
  }
  conn->seats[conn->seat_count++] = (Seat){room, room->count};
  room->members[room->count++] = (Member){conn, room->frame.size};
}

// Removes the connection from a room. It gets earlier broadcasts, but no later ones.
void room_leave(Floor *floor, Conn *conn, int seat) {
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

void conn_close(Floor *floor, Conn *conn) {
  if (conn->fd < 0) return;
  while (conn->seat_count) room_leave(floor, conn, 0);
  conn->out.size = conn->rest.size = 0;
  conn->previous->next = conn->next;
  conn->next->previous = conn->previous;
  close(conn->fd);
  conn->fd = -1;
  bytes_put(&floor->dead, &conn, sizeof conn);
}
