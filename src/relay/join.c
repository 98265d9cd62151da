// Joining and leaving rooms: the checks, the question to the script, and what follows
// from its answer.

#include "base/err.h"
#include "base/mem.h"
#include "relay/internal.h"

static const char TOO_MANY_ROOMS[] = "you are in too many rooms";

Code join_fault(const Peer *peer, const Room *room, const char **why) {
  if (!room || room->state > ROOM_OPEN) {
    *why = "there is no such room";
    return CODE_NO_SUCH_ROOM;
  }
  if (member_find(peer, room->id)) {
    *why = "you are in this room already";
    return CODE_ALREADY_IN_ROOM;
  }
  if (room->kind.capacity > 0 && room->count >= room->kind.capacity) {
    *why = "the room is full";
    return CODE_ROOM_FULL;
  }
  if (peer->room_count >= RELAY_ROOMS_PER_PEER) {
    *why = TOO_MANY_ROOMS;
    return CODE_ROOM_FULL;
  }
  return CODE_CLOSED;
}

// Whether the peer may join; it is told when it may not.
static bool check(Relay *relay, Peer *peer, const Room *room, const Packet *request) {
  const char *why;
  Code code = join_fault(peer, room, &why);
  if (code != CODE_CLOSED) session_error(relay->session, peer, request, code, why);
  return code == CODE_CLOSED;
}

static void admit(Relay *relay, Peer *peer, Room *room, const Packet *request) {
  announce_join(relay, room, peer, request);
  member_add(relay, room, peer);
}

void join_room(Relay *relay, Peer *peer, Room *room, const Packet *request) {
  if (!peer_is_there(peer) || !check(relay, peer, room, request)) return;
  if (!(room->kind.hooks & HOOK_JOIN)) {
    admit(relay, peer, room, request);
    return;
  }
  relay_emit(relay, &(Event){.type = EVENT_JOIN,
                             .flags = request->flags,
                             .ref = request->ref,
                             .peer = peer->id,
                             .room = room->id});
}

// The room to join, made where its kind says so. NULL after an ERROR.
static Room *find_or_create(Relay *relay, Peer *peer, Text name,
                            const Packet *request) {
  uint32_t id = names_find(&relay->room_names, name.bytes, name.size);
  if (id) return slots_find(&relay->rooms, id);
  const RoomKind *kind = kind_find(relay, name);
  if (!kind || !kind->auto_create) {
    session_error(relay->session, peer, request, CODE_NO_SUCH_ROOM,
                  kind ? "there is no such room, and its kind has no auto_create"
                       : "there is no such room, nor a kind of that name to make it");
    return NULL;
  }
  if (peer->room_count >= RELAY_ROOMS_PER_PEER) {
    session_error(relay->session, peer, request, CODE_ROOM_FULL, TOO_MANY_ROOMS);
    return NULL;
  }
  int err;
  Room *room = room_reserve(relay, name, &err);
  if (room)
    room_open(relay, room);
  else
    session_error(relay->session, peer, request, CODE_SERVER_FULL,
                  "there are too many rooms");
  return room;
}

void join_by_name(Relay *relay, Peer *peer, Text name, const Packet *request) {
  if (!peer_is_there(peer)) return;
  if (!text_is_name(name.bytes, name.size)) {
    session_error(relay->session, peer, request, CODE_PROTOCOL,
                  "room names are " TEXT_NAME_RULE);
    return;
  }
  Room *room = find_or_create(relay, peer, name, request);
  if (room) join_room(relay, peer, room, request);
}

// --- Verdicts ---

static Packet request_of(const Event *event) {
  return (Packet){.flags = event->flags, .ref = event->ref};
}

void relay_admit(Relay *relay, const Event *event) {
  Peer *peer = session_find(relay->session, event->peer);
  if (!peer || !peer_is_there(peer)) return;
  Room *room = relay_room(relay, event->room);
  Packet request = request_of(event);
  if (check(relay, peer, room, &request)) admit(relay, peer, room, &request);
}

void relay_refuse(Relay *relay, const Event *event, Code code, const char *reason) {
  Peer *peer = session_find(relay->session, event->peer);
  Packet request = request_of(event);
  if (peer) session_error(relay->session, peer, &request, code, reason ? reason : "");
}

// --- Leaving ---

static void emit_leave(Relay *relay, const Room *room, const Peer *peer, Code code) {
  if (room->kind.hooks & HOOK_LEAVE)
    relay_emit(
        relay,
        &(Event){.type = EVENT_LEAVE, .peer = peer->id, .room = room->id, .a = code});
}

void leave_room(Relay *relay, Peer *peer, Room *room, const Leave *leave) {
  member_remove(relay, room, peer);
  announce_leave(relay, room, peer, leave);
  emit_leave(relay, room, peer, leave->code);
  room_check_empty(relay, room);
}

void leave_all(Relay *relay, Peer *peer, Code code) {
  while (peer->room_count > 0)
    leave_room(relay, peer, slots_find(&relay->rooms, peer->rooms[0].room),
               &(Leave){.code = code});
  mem_free(peer->rooms);
  peer->rooms = NULL;
  peer->room_capacity = 0;
}
