// Handles the server's packets about rooms and their members.
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

static bool is_text(Text text) { return text_is_utf8(text.bytes, text.size); }

static bool malformed(PerigeeClient *client) {
  return take_malformed(client, "a packet about rooms that cannot be read");
}

static void push_named(PerigeeClient *client, const PerigeeEvent *event,
                       const char *name, size_t size) {
  events_add(&client->events, event, &(EventParts){.name = {name, size}});
}

static void push_peer(PerigeeClient *client, PerigeeEventType type, const Room *room,
                      uint32_t peer, const char *name, size_t size) {
  PerigeeEvent event = {.type = type, .room = room->number, .peer = peer};
  push_named(client, &event, name, size);
}

static void remove_member(PerigeeClient *client, Room *room, const Member *member) {
  push_peer(client, PERIGEE_PEER_LEFT, room, member->peer, member->name,
            strlen(member->name));
  room_remove_member(&client->rooms, room, member);
}

static bool is_called(const char *known, Text name) {
  return strlen(known) == name.size && memcmp(known, name.bytes, name.size) == 0;
}

static void push_renamed(PerigeeClient *client, uint32_t room, uint32_t peer, Text name,
                         const char *before) {
  PerigeeEvent event = {.type = PERIGEE_PEER_RENAMED, .room = room, .peer = peer};
  EventParts parts = {.name = {name.bytes, name.size}, .text = text_of(before)};
  events_add(&client->events, &event, &parts);
}

static void rename_member(PerigeeClient *client, Room *room, const Member *member,
                          Text name) {
  if (is_called(member->name, name)) return;
  push_renamed(client, room->number, member->peer, name, member->name);
  room_add_member(&client->rooms, room, member->peer, name);
}

static void add_member(PerigeeClient *client, Room *room, uint32_t peer, Text name) {
  const Member *known = room_find_member(room, peer);
  if (known)
    rename_member(client, room, known, name);
  else if (room_add_member(&client->rooms, room, peer, name))
    push_peer(client, PERIGEE_PEER_JOINED, room, peer, name.bytes, name.size);
}

// --- JOINED ---

typedef struct Joined {
  uint32_t id;
  Text name;
  uint32_t self;
  uint16_t count;
  Reader peers;
} Joined;

static bool read_joined(const Packet *packet, Joined *joined) {
  Reader reader = reader_of(packet->payload, packet->length);
  joined->id = reader_u32(&reader);
  joined->name = reader_str8(&reader);
  joined->self = reader_u32(&reader);
  joined->count = reader_u16(&reader);
  joined->peers = reader;
  bool are_names = is_text(joined->name);
  for (uint16_t i = 0; i < joined->count && !reader.failed; i++) {
    reader_u32(&reader);
    Text name = reader_str8(&reader);
    are_names = are_names && !reader.failed && is_text(name);
  }
  return !reader.failed && are_names;
}

// Marks the members that are still in the room. In a new session, they must also have
// the same name, because a restarted server may have given their ids to other peers.
static void mark_members(Room *room, const Joined *joined, bool is_resumed) {
  for (uint32_t i = 0; i < room->member_count; i++) room->members[i].is_listed = false;
  Reader reader = joined->peers;
  for (uint16_t i = 0; i < joined->count; i++) {
    Member *member = room_find_member(room, reader_u32(&reader));
    Text name = reader_str8(&reader);
    if (member) member->is_listed = is_resumed || is_called(member->name, name);
  }
}

// Replaces the list of members. Unless the room is new, reports the changes.
static void set_members(PerigeeClient *client, Room *room, const Joined *joined,
                        bool is_new, bool is_resumed) {
  mark_members(room, joined, is_resumed);
  for (uint32_t i = room->member_count; i-- > 0;) {
    if (!room->members[i].is_listed) remove_member(client, room, &room->members[i]);
  }
  Reader reader = joined->peers;
  for (uint16_t i = 0; i < joined->count; i++) {
    uint32_t peer = reader_u32(&reader);
    Text name = reader_str8(&reader);
    if (is_new)
      room_add_member(&client->rooms, room, peer, name);
    else
      add_member(client, room, peer, name);
  }
}

static void enter(PerigeeClient *client, Room *known, Request *request,
                  const Joined *joined) {
  Room *room = known;
  if (!room && request) room = rooms_find(&client->rooms, request->room);
  bool is_new = room == NULL;
  if (is_new) room = rooms_add(&client->rooms, joined->name.bytes, joined->name.size);
  room->id = joined->id;
  room->is_joined = true;
  room->is_unconfirmed = false;
  set_members(client, room, joined, is_new, known != NULL);
  PerigeeEvent event = {.type = PERIGEE_JOINED, .room = room->number};
  if (request) {
    room->is_requested = true;
    mem_free(room->options);
    room->options = request->options;
    request->options = NULL;
    event.request = request->number;
    request_free(request);
  }
  if (request || !known) push_named(client, &event, room->name, strlen(room->name));
  if (!known && room->match) match_enter(room->match);
}

static bool take_crowd(PerigeeClient *client) {
  return take_malformed(client, "more rooms and members than a client can hold");
}

bool take_joined(PerigeeClient *client, const Packet *packet) {
  Joined joined;
  if (!read_joined(packet, &joined)) return malformed(client);
  if (joined.self != client->session.peer)
    return take_malformed(client, "a room joined by another");
  bool is_answer = packet->flags & PACKET_RESPONSE;
  Room *known = rooms_find_id(&client->rooms, joined.id);
  Request *request = request_answered(client, packet, REQUEST_JOIN);
  // If the answer was lost with a connection, the JOINED after a resume replaces it.
  if (!known && !request)
    request = request_find_join(client, joined.name.bytes, joined.name.size);
  // Ignores an answer that is older than the JOINED after a resume.
  if (known && is_answer && !request) return true;
  if ((!known && rooms_are_full(&client->rooms)) ||
      !rooms_take_members(&client->rooms, joined.count))
    return take_crowd(client);
  enter(client, known, request, &joined);
  return true;
}

// --- LEFT ---

void room_leave(PerigeeClient *client, Room *room, int code, uint32_t request) {
  if (room->match) match_lose(room->match, code);
  PerigeeEvent event = {
      .type = PERIGEE_LEFT, .room = room->number, .code = code, .request = request};
  push_named(client, &event, room->name, strlen(room->name));
  rooms_remove(&client->rooms, room);
}

// Ends a waiting LEAVE and returns its number; 0: none waits.
static uint32_t answer_leave(Request *request) {
  if (!request) return 0;
  uint32_t number = request->number;
  request_free(request);
  return number;
}

bool take_left(PerigeeClient *client, const Packet *packet) {
  Reader reader = reader_of(packet->payload, packet->length);
  uint32_t id = reader_u32(&reader);
  uint16_t code = reader_u16(&reader);
  if (reader.failed) return malformed(client);
  Room *room = rooms_find_id(&client->rooms, id);
  Request *request = request_answered(client, packet, REQUEST_LEAVE);
  if (!room && request) room = rooms_find(&client->rooms, request->room);
  uint32_t number = answer_leave(request);
  if (room) room_leave(client, room, code, number);
  return true;
}

void rooms_confirmed(PerigeeClient *client) {
  Rooms *rooms = &client->rooms;
  for (uint32_t i = rooms->count; i-- > 0;) {
    Room *room = rooms->list[i];
    if (!room->is_joined || !room->is_unconfirmed) continue;
    // The server does not repeat the answer to LEAVE.
    uint32_t asked = answer_leave(request_find_leave(client, room->number));
    room_leave(client, room, asked ? PERIGEE_CONNECTION_CLOSED : PERIGEE_NOT_IN_ROOM,
               asked);
  }
}

// --- Members and broadcasts ---

bool take_peer_joined(PerigeeClient *client, const Packet *packet) {
  Reader reader = reader_of(packet->payload, packet->length);
  Room *room = rooms_find_id(&client->rooms, reader_u32(&reader));
  uint32_t peer = reader_u32(&reader);
  Text name = reader_str8(&reader);
  if (reader.failed || !is_text(name)) return malformed(client);
  if (!room) return true;
  if (!rooms_take_members(&client->rooms, 1)) return take_crowd(client);
  add_member(client, room, peer, name);
  return true;
}

// Handles a new name of a room's member. Room 0 means that the client itself has a new
// name; lists of members do not include it.
bool take_peer_renamed(PerigeeClient *client, const Packet *packet) {
  Reader reader = reader_of(packet->payload, packet->length);
  uint32_t id = reader_u32(&reader), peer = reader_u32(&reader);
  Text name = reader_str8(&reader);
  if (reader.failed || !is_text(name)) return malformed(client);
  Session *session = &client->session;
  if (id == 0 && peer == session->peer && !is_called(session->name, name)) {
    push_renamed(client, 0, peer, name, session->name);
    session_set_name(session, name.bytes, name.size);
  }
  Room *room = id ? rooms_find_id(&client->rooms, id) : NULL;
  const Member *member = room ? room_find_member(room, peer) : NULL;
  if (member) rename_member(client, room, member, name);
  return true;
}

bool take_peer_left(PerigeeClient *client, const Packet *packet) {
  Reader reader = reader_of(packet->payload, packet->length);
  Room *room = rooms_find_id(&client->rooms, reader_u32(&reader));
  uint32_t peer = reader_u32(&reader);
  if (reader.failed) return malformed(client);
  const Member *member = room ? room_find_member(room, peer) : NULL;
  if (member) remove_member(client, room, member);
  return true;
}

bool take_relayed(PerigeeClient *client, const Packet *packet) {
  Reader reader = reader_of(packet->payload, packet->length);
  uint32_t id = reader_u32(&reader);  // 0: a relay to this client without a room
  Room *room = rooms_find_id(&client->rooms, id);
  uint32_t peer = reader_u32(&reader);
  size_t size = reader_left(&reader);
  const uint8_t *data = reader_bytes(&reader, size);
  if (reader.failed) return malformed(client);
  if (!room && id != 0) return true;
  const Member *member = room ? room_find_member(room, peer) : NULL;
  PerigeeEvent event = {
      .type = PERIGEE_RELAY, .room = room ? room->number : 0, .peer = peer};
  EventParts parts = {.name = text_of(member ? member->name : ""),
                      .data = {data, size}};
  events_add(&client->events, &event, &parts);
  return true;
}

// --- ROOMS ---

static char *copy_name(Text name) {
  char *copy = mem_zalloc(name.size + 1);
  if (name.size > 0) memcpy(copy, name.bytes, name.size);
  return copy;
}

bool take_rooms(PerigeeClient *client, const Packet *packet) {
  Reader reader = reader_of(packet->payload, packet->length);
  uint16_t count = reader_u16(&reader);
  PerigeeRoomInfo *rooms = mem_alloc((count + 1u) * sizeof *rooms);
  uint32_t read = 0;
  bool is_good = true;
  for (; read < count && !reader.failed; read++) {
    reader_u32(&reader);
    Text name = reader_str8(&reader);
    is_good = is_good && is_text(name);
    rooms[read].name = copy_name(name);
    rooms[read].members = reader_u32(&reader);
  }
  is_good = is_good && !reader.failed;
  Request *request = is_good ? request_answered(client, packet, REQUEST_LIST) : NULL;
  if (request) {
    PerigeeEvent event = {.type = PERIGEE_ROOMS, .request = request->number};
    events_add_rooms(&client->events, &event, rooms, count);
    request_free(request);
  }
  for (uint32_t i = 0; i < read; i++) mem_free((char *)rooms[i].name);
  mem_free(rooms);
  return is_good || malformed(client);
}

// Checks only that the text is UTF-8, because the program parses the JSON.
bool take_rooms_found(PerigeeClient *client, const Packet *packet) {
  if (!text_is_utf8((const char *)packet->payload, packet->length))
    return malformed(client);
  Request *request = request_answered(client, packet, REQUEST_QUERY);
  if (!request) return true;
  PerigeeEvent event = {.type = PERIGEE_ROOMS_FOUND, .request = request->number};
  EventParts parts = {.data = {packet->payload, packet->length}};
  events_add(&client->events, &event, &parts);
  request_free(request);
  return true;
}

// --- Queries ---

static const Room *joined_room(const PerigeeClient *client, uint32_t number) {
  const Room *room = rooms_find(&client->rooms, number);
  return room && room->is_joined ? room : NULL;
}

uint32_t perigee_find_room(const PerigeeClient *client, const char *name) {
  if (!name) return 0;
  const Room *room = rooms_find_name(&client->rooms, name, strlen(name));
  return room && room->is_joined ? room->number : 0;
}

const char *perigee_room_name(const PerigeeClient *client, uint32_t number) {
  const Room *room = joined_room(client, number);
  return room ? room->name : NULL;
}

uint32_t perigee_member_count(const PerigeeClient *client, uint32_t number) {
  const Room *room = joined_room(client, number);
  return room ? room->member_count : 0;
}

uint32_t perigee_member(const PerigeeClient *client, uint32_t number, uint32_t index) {
  const Room *room = joined_room(client, number);
  return room && index < room->member_count ? room->members[index].peer : 0;
}

const char *perigee_member_name(const PerigeeClient *client, uint32_t number,
                                uint32_t peer) {
  const Room *room = joined_room(client, number);
  const Member *member = room ? room_find_member(room, peer) : NULL;
  return member ? member->name : NULL;
}
