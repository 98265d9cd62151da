// Input: checks and answers each packet according to docs/protocol.md.
#include "floor.h"

static bool name_ok(const uint8_t *name, size_t size) {
  if (!size || size > WIRE_NAME_MAX) return false;
  for (size_t i = 0; i < size; i++)
    if (name[i] < 0x20 || name[i] >= 0x7f) return false;  // the bench's names are ASCII
  return true;
}

// Sends an answer, as a RESPONSE if the packet was a REQUEST.
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
  room_join(conn, room);
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

bool packet_handle(Floor *floor, Conn *conn, const WireHeader *header,
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
      conn->pinged = false;
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
