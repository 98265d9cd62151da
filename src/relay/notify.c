// What peers are told of rooms: JOINED and LEFT, PEER_JOINED and PEER_LEFT, ROOMS, and
// the lines that stand for them.

#include <string.h>

#include "relay/internal.h"
#include "wire/line.h"

enum { BATCH_BYTES = 16 << 10 };  // of packets sent as one message, about

// Control packets keep their place among the room's broadcasts.
static Packet packet_of(ControlType type, const Buf *payload) {
  return (Packet){
      .channel = CHANNEL_CONTROL,
      .type = type,
      .priority = PRIORITY_NORMAL,
      .length = (uint32_t)payload->size,
      .payload = payload->data,
  };
}

void notify_peer(Relay *relay, Peer *peer, ControlType type, const Packet *request) {
  Packet packet = packet_of(type, &relay->scratch);
  if (type == CONTROL_JOINED || type == CONTROL_LEFT)
    packet_answer(&packet, request);  // the rooms told of on a resume stand for these
  else
    packet_answer_reliably(&packet, request);
  session_send(relay->session, peer, &packet, NULL, 0, 0, OUT_KEEP | OUT_URGENT);
}

static void tell_line(Relay *relay, Peer *peer) {
  session_send_line(relay->session, peer, (const char *)relay->scratch.data,
                    relay->scratch.size, PRIORITY_NORMAL, 0, OUT_KEEP | OUT_URGENT);
}

static Buf *fresh(Relay *relay) {
  relay->scratch.size = 0;
  return &relay->scratch;
}

static void put_member(Buf *buf, const Peer *peer) {
  buf_u32(buf, peer->id);
  buf_str8(buf, peer->name, peer->name_size);
}

static void put_name(Buf *buf, Text name) {
  line_append_name(buf, name.bytes, name.size);
}

// Notifies the text members of the room of what the peer has done.
static void tell_of_peer(Relay *relay, const Room *room, const Peer *peer,
                         const char *what) {
  if (room->lines == 0) return;
  Buf *buf = fresh(relay);
  buf_printf(buf, "* ");
  put_name(buf, peer_name(peer));
  buf_printf(buf, " %s %s", what, room->name);
  room_tell_line(relay, room, buf);
}

// --- Joining ---

static void put_peer_joined(Buf *buf, const Room *room, const Peer *peer) {
  buf_u32(buf, room->id);
  put_member(buf, peer);
}

static Peer *member_at(const Relay *relay, const Room *room, uint32_t place) {
  return session_find(relay->session, room->members[place]);
}

// As many other members as fit into one packet; returns how many places of the room
// those take up.
static uint32_t put_joined(Relay *relay, Buf *buf, const Room *room, const Peer *peer) {
  buf_u32(buf, room->id);
  buf_str8(buf, room->name, room->name_size);
  buf_u32(buf, peer->id);
  size_t count_at = buf->size;
  buf_u16(buf, 0);
  uint32_t n = 0, place = 0;
  for (; place < room->count && n < UINT16_MAX; place++) {
    const Peer *member = member_at(relay, room, place);
    if (member == peer) continue;
    if (buf->size + 5 + member->name_size > relay->limits.max_payload) break;
    put_member(buf, member);
    n++;
  }
  buf->data[count_at] = (uint8_t)n;
  buf->data[count_at + 1] = (uint8_t)(n >> 8);
  return place;
}

// PEER_JOINED for the members from `place` on: many in one message, so that a crowded
// room does not make whoever joins it a SlowConsumer.
static void send_more_members(Relay *relay, const Room *room, Peer *peer,
                              uint32_t place) {
  Buf payload = {0};
  while (place < room->count) {
    Buf *batch = fresh(relay);
    for (; place < room->count && batch->size < BATCH_BYTES; place++) {
      const Peer *member = member_at(relay, room, place);
      if (member == peer) continue;
      payload.size = 0;
      put_peer_joined(&payload, room, member);
      Packet packet = packet_of(CONTROL_PEER_JOINED, &payload);
      packet_append(batch, &packet);
    }
    session_send_framed(relay->session, peer, batch, PRIORITY_NORMAL,
                        OUT_KEEP | OUT_URGENT);
  }
  buf_deinit(&payload);
}

static void send_joined(Relay *relay, const Room *room, Peer *peer,
                        const Packet *request) {
  uint32_t told = put_joined(relay, fresh(relay), room, peer);
  notify_peer(relay, peer, CONTROL_JOINED, request);
  send_more_members(relay, room, peer, told);
}

static void send_joined_line(Relay *relay, const Room *room, Peer *peer) {
  Buf *buf = fresh(relay);
  buf_printf(buf, "* joined %s", room->name);
  if (room->count == 0) buf_printf(buf, ", nobody else is here");
  for (uint32_t i = 0; i < room->count; i++) {
    if (buf->size > relay->limits.max_payload) {
      buf_printf(buf, " and %u more", room->count - i);
      break;
    }
    buf_printf(buf, i == 0 ? ": " : ", ");
    put_name(buf, peer_name(member_at(relay, room, i)));
  }
  tell_line(relay, peer);
}

void notify_resumed(Relay *relay, const Room *room, Peer *peer) {
  send_joined(relay, room, peer, NULL);
}

void notify_join(Relay *relay, Room *room, Peer *peer, const Packet *request) {
  if (peer->framing == FRAMING_PACKETS)
    send_joined(relay, room, peer, request);
  else
    send_joined_line(relay, room, peer);
  Buf *buf = fresh(relay);
  put_peer_joined(buf, room, peer);
  room_tell_packet(relay, room, CONTROL_PEER_JOINED, buf);
  tell_of_peer(relay, room, peer, "joined");
}

// --- Leaving ---

// " (Kicked: the reason)", for those who did not ask to leave.
static void put_cause(Buf *buf, const Leave *leave) {
  if (leave->code == CODE_CLOSED) return;
  buf_printf(buf, " (%s", code_name(leave->code));
  if (leave->reason && leave->reason[0] != '\0') {
    buf_printf(buf, ": ");
    line_append_safe(buf, leave->reason, strlen(leave->reason));
  }
  buf_u8(buf, ')');
}

static void send_left(Relay *relay, const Room *room, Peer *peer, const Leave *leave) {
  Buf *buf = fresh(relay);
  if (peer->framing == FRAMING_PACKETS) {
    buf_u32(buf, room->id);
    buf_u16(buf, (uint16_t)leave->code);
    notify_peer(relay, peer, CONTROL_LEFT, leave->request);
  } else {
    buf_printf(buf, "* left %s", room->name);
    put_cause(buf, leave);
    tell_line(relay, peer);
  }
}

void notify_leave(Relay *relay, Room *room, Peer *peer, const Leave *leave) {
  if (peer->state == PEER_CONNECTED) send_left(relay, room, peer, leave);
  Buf *buf = fresh(relay);
  buf_u32(buf, room->id);
  buf_u32(buf, peer->id);
  room_tell_packet(relay, room, CONTROL_PEER_LEFT, buf);
  tell_of_peer(relay, room, peer, "left");
}

// --- Lists and names ---

static void send_rooms(Relay *relay, Peer *peer, const Packet *request) {
  Buf *buf = fresh(relay);
  uint32_t n = 0;
  Room *room;
  buf_u16(buf, 0);
  for (uint32_t cursor = 0; (room = relay_next_room(relay, &cursor));) {
    if (room->state != ROOM_OPEN) continue;
    if (n == UINT16_MAX || buf->size + 9 + room->name_size > relay->limits.max_payload)
      break;
    buf_u32(buf, room->id);
    buf_str8(buf, room->name, room->name_size);
    buf_u32(buf, room->count);
    n++;
  }
  buf->data[0] = (uint8_t)n;
  buf->data[1] = (uint8_t)(n >> 8);
  notify_peer(relay, peer, CONTROL_ROOMS, request);
}

static void send_rooms_line(Relay *relay, Peer *peer) {
  Buf *buf = fresh(relay);
  uint32_t n = 0;
  Room *room;
  for (uint32_t cursor = 0; (room = relay_next_room(relay, &cursor));) {
    if (room->state != ROOM_OPEN) continue;
    if (buf->size > relay->limits.max_payload) {
      buf_printf(buf, ", ...");
      break;
    }
    buf_printf(buf, "%s%s (%u)", n++ == 0 ? "* rooms: " : ", ", room->name,
               room->count);
  }
  if (n == 0) buf_printf(buf, "* no rooms");
  tell_line(relay, peer);
}

void notify_rooms(Relay *relay, Peer *peer, const Packet *request) {
  if (peer->framing == FRAMING_PACKETS)
    send_rooms(relay, peer, request);
  else
    send_rooms_line(relay, peer);
}

static void put_renamed(Buf *buf, const Peer *peer, Text old_name) {
  buf_printf(buf, "* ");
  put_name(buf, old_name);
  buf_printf(buf, " is now ");
  put_name(buf, peer_name(peer));
}

static void tell_room_name(Relay *relay, const Room *room, const Peer *peer,
                           Text old_name) {
  Buf *buf = fresh(relay);
  control_peer_renamed(buf, room->id, peer->id, peer_name(peer));
  room_tell_packet(relay, room, CONTROL_PEER_RENAMED, buf);
  if (room->lines == 0) return;
  buf = fresh(relay);
  put_renamed(buf, peer, old_name);
  Audience others = {.lines = room->lines, .except = &peer->conn, .except_count = 1};
  audience_line(relay, &others, buf, PRIORITY_NORMAL, 0, OUT_KEEP);
}

void notify_name(Relay *relay, Peer *peer, Text old_name) {
  for (uint32_t i = 0; i < peer->room_count; i++)
    tell_room_name(relay, slots_find(&relay->rooms, peer->rooms[i].room), peer,
                   old_name);
  if (peer->state != PEER_CONNECTED) return;
  Buf *buf = fresh(relay);
  if (peer->framing == FRAMING_PACKETS) {
    control_peer_renamed(buf, 0, peer->id, peer_name(peer));
    notify_peer(relay, peer, CONTROL_PEER_RENAMED, NULL);
  } else {
    buf_printf(buf, "* you are now ");
    put_name(buf, peer_name(peer));
    tell_line(relay, peer);
  }
}
