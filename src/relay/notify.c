// Sends JOINED, LEFT, PEER_JOINED, PEER_LEFT, ROOMS, PEER_RENAMED and FAULT. Text peers get lines
// instead (session/text.c).

#include <string.h>

#include "relay/describe.h"
#include "relay/internal.h"
#include "relay/listing.h"
#include "relay/notify.h"
#include "wire/json.h"

enum {
  BATCH_BYTES = 16 << 10,  // approximate bytes of one message that consists of several
                           // packets
  // Bytes of a list in packet form, as a multiple of the bytes that a line needs for
  // it.
  PACKET_PER_LINE = 3,
};

Outgoing notice_of(const Relay *relay, ControlType type) {
  // Gives the notice the usual priority of broadcasts, so that a peer gets both in the
  // order in which they were sent.
  return session_control(type, PRIORITY_NORMAL, &relay->scratch);
}

void notify_peer(Relay *relay, Peer *peer, Outgoing notice, const Packet *request) {
  uint16_t type = notice.packet.type;
  if (type == CONTROL_JOINED || type == CONTROL_LEFT)
    packet_answer(&notice.packet, request);  // not RELIABLE, because a resume lists the
                                             // rooms again
  else
    packet_answer_reliably(&notice.packet, request);
  notice.flags |= OUT_URGENT;
  session_send(relay->session, peer, &notice);
}

static void notify_members(Relay *relay, const Room *room, ControlType type) {
  Outgoing notice = notice_of(relay, type);
  notice.name = room_name(room);
  audience_send(relay, &(Audience){.room = room, .forms = FORMS_ALL}, &notice);
}

static Buf *fresh(Relay *relay) {
  relay->scratch.size = 0;
  return &relay->scratch;
}

static void put_member(Buf *buf, const Peer *peer) {
  buf_u32(buf, peer->id);
  buf_str8(buf, peer->name, peer->name_size);
}

static size_t list_limit(const Relay *relay, const Peer *peer) {
  size_t limit = relay->limits.max_payload;
  return peer_form(peer) == FORM_TEXT ? PACKET_PER_LINE * limit : limit;
}

static void set_u16(uint8_t *at, uint32_t value) {
  at[0] = (uint8_t)value;
  at[1] = (uint8_t)(value >> 8);
}

// --- Joining ---

static void put_peer_joined(Buf *buf, const Room *room, const Peer *peer) {
  buf_u32(buf, room->id);
  put_member(buf, peer);
}

// Reads the next other member of the room as room_next_member does; returns NULL at the end.
static Peer *next_other(const Relay *relay, const Room *room, const Peer *peer,
                        uint32_t *place) {
  uint32_t id;
  do {
    id = room_next_member(room, place);
  } while (id == peer->id);
  return id ? session_find(relay->session, id) : NULL;
}

// Appends JOINED with as many other members as fit into one packet. Returns the place of
// the first member that does not fit, and sets `*more` to the number of members that do
// not fit.
static uint32_t put_joined(Relay *relay, Buf *buf, const Room *room, const Peer *peer,
                           uint32_t *more) {
  buf_u32(buf, room->id);
  buf_str8(buf, room->name, room->name_size);
  buf_u32(buf, peer->id);
  size_t count_at = buf->size, limit = list_limit(relay, peer);
  buf_u16(buf, 0);
  uint32_t n = 0, next = 0, place = 0;
  const Peer *member;
  for (; n < UINT16_MAX && (member = next_other(relay, room, peer, &next));
       place = next) {
    if (buf->size + 5 + member->name_size > limit) break;
    put_member(buf, member);
    n++;
  }
  set_u16(buf->data + count_at, n);
  *more = room->count - relay_is_member(peer, room->id) - n;
  return place;
}

// Sends PEER_JOINED for the members from `place` on. Puts many packets into one
// message, so that a peer that joins a crowded room does not become a SlowConsumer.
static void send_more_members(Relay *relay, const Room *room, Peer *peer,
                              uint32_t place) {
  Buf batch = {0};
  const Peer *member = next_other(relay, room, peer, &place);
  while (member) {
    batch.size = 0;
    for (; member && batch.size < BATCH_BYTES;
         member = next_other(relay, room, peer, &place)) {
      put_peer_joined(fresh(relay), room, member);
      Outgoing notice = notice_of(relay, CONTROL_PEER_JOINED);
      packet_append(&batch, &notice.packet);
    }
    session_send_framed(relay->session, peer, &batch, PRIORITY_NORMAL,
                        OUT_KEEP | OUT_URGENT);
  }
  buf_deinit(&batch);
}

void notify_joined(Relay *relay, const Room *room, Peer *peer, const Packet *request) {
  uint32_t more;
  uint32_t place = put_joined(relay, fresh(relay), room, peer, &more);
  Outgoing notice = notice_of(relay, CONTROL_JOINED);
  notice.more = more;
  notify_peer(relay, peer, notice, request);
  if (more > 0) send_more_members(relay, room, peer, place);
}

void notify_join(Relay *relay, Room *room, Peer *peer, const Packet *request) {
  notify_joined(relay, room, peer, request);
  put_peer_joined(fresh(relay), room, peer);
  notify_members(relay, room, CONTROL_PEER_JOINED);
}

// --- Leaving ---

void notify_leave(Relay *relay, Room *room, Peer *peer, const Leave *leave) {
  Buf *buf = fresh(relay);
  buf_u32(buf, room->id);
  buf_u16(buf, (uint16_t)leave->code);
  Outgoing notice = notice_of(relay, CONTROL_LEFT);
  notice.name = room_name(room);
  notice.detail = text_from(leave->reason);
  if (peer->state == PEER_CONNECTED) notify_peer(relay, peer, notice, leave->request);
  buf = fresh(relay);
  buf_u32(buf, room->id);
  buf_u32(buf, peer->id);
  notify_members(relay, room, CONTROL_PEER_LEFT);
}

// --- Faults ---

void notify_fault(Relay *relay, Peer *peer, const Fault *fault, const Packet *request) {
  if (peer->is_bot) {
    session_log_refusal(peer, fault->code.bytes, fault->json);
    return;
  }
  control_fault(fresh(relay), fault);
  notify_peer(relay, peer, notice_of(relay, CONTROL_FAULT), request);
}

// --- Lists and names ---

static void put_room(Buf *buf, const Room *room) {
  buf_u32(buf, room->id);
  buf_str8(buf, room->name, room->name_size);
  buf_u32(buf, room->count);
}

// Sends ROOMS with relay->scratch, whose first two bytes are the number of rooms.
static void send_rooms(Relay *relay, Peer *peer, uint32_t n, bool has_more,
                       const Packet *request) {
  set_u16(relay->scratch.data, n);
  Outgoing notice = notice_of(relay, CONTROL_ROOMS);
  notice.more = has_more;
  notify_peer(relay, peer, notice, request);
}

void notify_rooms(Relay *relay, Peer *peer, const Packet *request) {
  Buf *buf = fresh(relay);
  uint32_t n = 0;
  bool is_full = false;
  size_t limit = list_limit(relay, peer);
  Room *room;
  buf_u16(buf, 0);
  for (uint32_t cursor = 0; (room = relay_next_room(relay, &cursor));) {
    if (!room->is_listed) continue;
    is_full = n == UINT16_MAX || buf->size + 9 + room->name_size > limit;
    if (is_full) break;
    put_room(buf, room);
    n++;
  }
  send_rooms(relay, peer, n, is_full, request);
}

static void notify_query_line(Relay *relay, Peer *peer, RoomQuery *query,
                              const Packet *request) {
  Buf *buf = fresh(relay);
  uint32_t n = 0;
  const Room *room;
  buf_u16(buf, 0);
  for (; (room = query_next(relay, query)); n++) put_room(buf, room);
  send_rooms(relay, peer, n, query->at.size > 0, request);
}

// Appends the rooms that fit. A room that alone is larger than an answer is left out.
static void put_listed(const Relay *relay, Buf *buf, RoomQuery *query, size_t limit) {
  Buf last = {0};
  const Room *room;
  for (size_t n = 0; (room = query_next(relay, query));) {
    size_t size = buf->size;
    if (n > 0) buf_u8(buf, ',');
    describe_listed(buf, room);
    if (buf->size > limit) {
      buf->size = size;
      if (n == 0) continue;
      query->at.size = 0;
      buf_append(&query->at, last.data, last.size);
      break;
    }
    n++;
    last.size = 0;
    buf_append(&last, query->at.data, query->at.size);
  }
  buf_deinit(&last);
}

void notify_query(Relay *relay, Peer *peer, Text json, const Packet *request) {
  RoomQuery query;
  const char *wrong = query_read(&query, json);
  uint32_t limit = relay->limits.max_payload;
  if (wrong) {
    session_error(relay->session, peer, request, CODE_PROTOCOL, wrong);
  } else if (peer_form(peer) == FORM_TEXT) {
    notify_query_line(relay, peer, &query, request);
  } else {
    Buf *buf = fresh(relay);
    buf_printf(buf, "{\"rooms\":[");
    put_listed(relay, buf, &query,
               limit < QUERY_ANSWER_BYTES ? limit : QUERY_ANSWER_BYTES);
    buf_printf(buf, "],\"next\":");
    if (query.at.size > 0)
      json_put_text(buf, (Text){(const char *)query.at.data, (uint32_t)query.at.size});
    else
      buf_printf(buf, "null");
    buf_u8(buf, '}');
    notify_peer(relay, peer, notice_of(relay, CONTROL_ROOMS_META), request);
  }
  session_charge(relay->session, peer, query.work / QUERY_WORK_OF_PACKET);
  query_deinit(&query);
}

// Notifies the members of a room that a peer has a new name. A text peer gets one line
// about its own new name, not one for each room.
static void notify_room_name(Relay *relay, const Room *room, const Peer *peer,
                             Text name) {
  control_peer_renamed(fresh(relay), room->id, peer->id, name);
  Outgoing notice = notice_of(relay, CONTROL_PEER_RENAMED);
  Audience audience = {.room = room, .forms = FORMS_ALL & ~(1u << FORM_TEXT)};
  audience_send(relay, &audience, &notice);
  audience = (Audience){
      .room = room, .forms = 1u << FORM_TEXT, .except = &peer->conn, .except_count = 1};
  audience_send(relay, &audience, &notice);
}

void notify_name(Relay *relay, Peer *peer, Text name) {
  for (uint32_t i = 0; i < peer->relay.room_count; i++)
    notify_room_name(relay, relay_room(relay, peer->relay.rooms[i].room), peer, name);
  control_peer_renamed(fresh(relay), 0, peer->id, name);
  if (peer->state == PEER_CONNECTED)
    notify_peer(relay, peer, notice_of(relay, CONTROL_PEER_RENAMED), NULL);
}
