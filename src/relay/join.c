// Joins and leaves. Checks a join, asks on_join for the verdict, and applies the
// verdict.

#include "base/err.h"
#include "base/mem.h"
#include "relay/internal.h"
#include "relay/notify.h"
#include "wire/json.h"

static const char TOO_MANY_ROOMS[] = "you are in too many rooms";

Code join_fault(const Peer *peer, const Room *room, const char **why) {
  if (room && room->state == ROOM_FAILED) {
    *why = RELAY_FAILED_TEXT;
    return CODE_INTERNAL;
  }
  if (!room || room->state > ROOM_OPEN) {
    *why = "there is no such room";
    return CODE_NO_SUCH_ROOM;
  }
  if (member_find(peer, room->id)) {
    *why = "you are in this room already";
    return CODE_ALREADY_IN_ROOM;
  }
  if (room->kind.loses_lost && peer->state == PEER_SUSPENDED) {
    *why = "the connection of the peer is lost";
    return CODE_RESET;
  }
  if (!room_has_place(room, peer->is_bot)) {
    *why = "the room is full";
    return CODE_ROOM_FULL;
  }
  if (peer->relay.room_count >= RELAY_ROOMS_PER_PEER) {
    *why = TOO_MANY_ROOMS;
    return CODE_ROOM_FULL;
  }
  return CODE_CLOSED;
}

static void refuse(Relay *relay, Peer *peer, const Event *join, Code code,
                   const char *why) {
  Packet request = {.flags = join->flags, .ref = join->ref};
  session_error(relay->session, peer, &request, code, why);
  script_join_end(relay, join->a, code, why);
}

// Returns whether the peer may join; sends it an ERROR if not.
static bool check(Relay *relay, Peer *peer, const Room *room, const Event *join) {
  const char *why;
  Fault fault;
  Code code = join_fault(peer, room, &why);
  if (code == CODE_CLOSED) return true;
  if (room && room_get_fault(room, &fault)) {
    Packet request = {.flags = join->flags, .ref = join->ref};
    notify_fault(relay, peer, &fault, &request);
    script_join_end(relay, join->a, CODE_REJECTED, fault.code.bytes);
  } else {
    refuse(relay, peer, join, code, why);
  }
  return false;
}

// --- Locks and passwords ---

// Returns the password in the options of a join. If the options contain several
// passwords, the last one counts, as in Lua.
static Secret read_password(Text options) {
  Buf password = {0}, name = {0};
  Text key, value;
  for (uint32_t at = 0; options.size > 0 && json_next(options, &at, &key, &value);) {
    name.size = 0;
    json_read_text(key, &name);
    if (!text_equals((Text){(char *)name.data, (uint32_t)name.size},
                     text_from("password")))
      continue;
    password.size = 0;
    json_read_text(value, &password);
  }
  Secret secret = secret_of(password.data, password.size);
  buf_deinit(&name);
  buf_deinit(&password);
  return secret;
}

// Returns why a client with these options may not enter a room with these settings. A
// client with a wrong password learns nothing else about the room. Joins by the script
// need no password and ignore the lock.
static Code entry_fault(const RoomKind *kind, Text options, const char **why) {
  if (kind->has_password) {
    Secret password = read_password(options);
    *why = "the room needs its password";
    if (!secret_equals(&password, &kind->password)) return CODE_UNAUTHORIZED;
  }
  *why = "the room is locked";
  return kind->is_locked ? CODE_REJECTED : CODE_CLOSED;
}

static bool is_by_client(const Event *join) { return join->a == 0; }

// Returns whether the peer of a JOIN may enter the room (may be NULL). If not, sends an
// ERROR.
static bool may_enter(Relay *relay, Peer *peer, const Room *room, const Event *join) {
  const char *why;
  if (!room || room->state > ROOM_OPEN || !is_by_client(join)) return true;
  Code code = member_find(peer, room->id) ? CODE_CLOSED
                                          : entry_fault(&room->kind, join->data, &why);
  if (code != CODE_CLOSED) refuse(relay, peer, join, code, why);
  return code == CODE_CLOSED;
}

// --- Checks of a join ---

// Returns the peer that wants to join, or NULL when its session is over.
static Peer *find_peer(Relay *relay, const Event *join) {
  Peer *peer = session_find(relay->session, join->peer);
  return peer && peer_has_session(peer) ? peer : NULL;
}

// Subtracts a join from its room's judged_joins, because its on_join has ended.
static Room *end_judged(Relay *relay, const Event *join) {
  Room *room = relay_room(relay, join->room);
  if (room && room->judged_joins > 0) room->judged_joins--;
  return room;
}

// Deletes a room that auto_create made, if all joins to it have failed.
static void delete_unused(Relay *relay, Room *room) {
  if (room && room->is_for_join && room->state == ROOM_OPEN &&
      room->judged_joins + room->queued_joins == 0)
    room_delete(relay, room);
}

// Makes the newest bot with BOT_FILLS leave a full room, so that a player can join.
static void make_place(Relay *relay, Room *room, const Peer *peer) {
  if (peer->is_bot || room_has_place(room, true)) return;
  Peer *last = room->last_bot;
  while (last && !(last->relay.bot & BOT_FILLS)) last = last->relay.previous_bot;
  if (last) leave_room(relay, last, room, &(Leave){.code = CODE_REPLACED});
}

void relay_admit(Relay *relay, const Event *join) {
  Peer *peer = find_peer(relay, join);
  Room *room = end_judged(relay, join);
  if (!peer || !check(relay, peer, room, join)) return;
  Packet request = {.flags = join->flags, .ref = join->ref};
  if (is_by_client(join) && room->kind.is_locked) {  // the room was locked meanwhile
    refuse(relay, peer, join, CODE_REJECTED, "the room is locked");
    return;
  }
  make_place(relay, room, peer);
  relay_keep_member(relay, room, peer);
  notify_join(relay, room, peer, &request);
  member_add(relay, room, peer);
  script_join_end(relay, join->a, CODE_CLOSED, NULL);
}

void relay_refuse(Relay *relay, const Event *join, Code code, const char *reason) {
  Peer *peer = session_find(relay->session, join->peer);
  Room *room = end_judged(relay, join);
  if (peer) refuse(relay, peer, join, code, reason ? reason : "");
  delete_unused(relay, room);
}

void join_end_refused(Relay *relay, const Event *join, const char *why) {
  Room *room = end_judged(relay, join);
  script_join_end(relay, join->a, CODE_REJECTED, why);
  delete_unused(relay, room);
}

// Returns whether on_join decides.
static bool has_on_join(const Room *room) {
  return room->state == ROOM_OPEN && room->kind.hooks & HOOK_JOIN;
}

void join_room(Relay *relay, const Event *join) {
  Peer *peer = find_peer(relay, join);
  Room *room = relay_room(relay, join->room);
  if (!peer || !may_enter(relay, peer, room, join) || !check(relay, peer, room, join))
    return;
  if (room->state == ROOM_OPEN && !has_on_join(room)) {
    relay_admit(relay, join);
  } else {
    room->queued_joins++;
    batch_await(relay, join);
  }
}

static void wait_for_room(Relay *relay, Room *room, const Event *join) {
  Peer *peer = find_peer(relay, join);
  if (!peer) return;
  if (peer->relay.waiting_joins + join_weight(join) > RELAY_ROOMS_PER_PEER) {
    refuse(relay, peer, join, CODE_ROOM_FULL, TOO_MANY_ROOMS);
    return;
  }
  peer->relay.waiting_joins += join_weight(join);
  events_push(&room->waiting_joins, join);
}

// Checks again whether the peer may enter, because the room's settings may have changed
// while the join waited.
static bool may_still_enter(Relay *relay, Room *room, const Event *join) {
  Peer *peer = find_peer(relay, join);
  if (!peer || !room || room->state != ROOM_OPEN) return true;
  if (may_enter(relay, peer, room, join)) return true;
  delete_unused(relay, room);
  return false;
}

bool join_is_due(Relay *relay, const Event *join) {
  Room *room = relay_room(relay, join->room);
  if (room) room->queued_joins--;
  if (!may_still_enter(relay, room, join)) return false;
  if (room && has_on_join(room)) {
    bool is_due = find_peer(relay, join) != NULL;
    room->judged_joins += is_due;
    if (!is_due) delete_unused(relay, room);
    return is_due;
  }
  if (room && room->state < ROOM_OPEN)
    wait_for_room(relay, room, join);
  else
    relay_admit(relay, join);
  room_free_failed(relay);
  return false;
}

// Returns the room to join; creates it if its kind has auto_create. Returns NULL after an ERROR.
static Room *find_or_create(Relay *relay, Peer *peer, Text name, Text options,
                            const Packet *request) {
  const char *why;
  uint32_t id = relay_find_room(relay, name);
  if (id) return slots_find(&relay->rooms, id);
  const RoomKind *kind = kind_find(relay, name);
  if (!kind || !kind->auto_create) {
    session_error(relay->session, peer, request, CODE_NO_SUCH_ROOM,
                  kind ? "there is no such room, and its kind has no auto_create"
                       : "there is no such room, nor a kind of that name to make it");
    return NULL;
  }
  if (peer->relay.room_count >= RELAY_ROOMS_PER_PEER) {
    session_error(relay->session, peer, request, CODE_ROOM_FULL, TOO_MANY_ROOMS);
    return NULL;
  }
  Code code = entry_fault(kind, options, &why);
  if (code != CODE_CLOSED) {
    session_error(relay->session, peer, request, code, why);
    return NULL;
  }
  int err;
  Room *room = room_reserve(relay, name, &err);
  if (room) {
    room->is_for_join = room->is_by_join = true;
    room_begin(relay, room);
  } else {
    session_error(relay->session, peer, request, CODE_SERVER_FULL,
                  "there are too many rooms");
  }
  return room;
}

void join_by_name(Relay *relay, Peer *peer, Text name, Text options,
                  const Packet *request) {
  if (!peer_has_session(peer)) return;
  if (!text_is_name(name.bytes, name.size)) {
    session_error(relay->session, peer, request, CODE_PROTOCOL,
                  "room names are " TEXT_NAME_RULE);
    return;
  }
  Room *room = find_or_create(relay, peer, name, options, request);
  if (!room) return;
  join_room(relay, &(Event){.type = EVENT_JOIN,
                            .flags = request->flags,
                            .ref = request->ref,
                            .peer = peer->id,
                            .room = room->id,
                            .data = options});
}

void join_with_options(Relay *relay, Peer *peer, Text name, Text options,
                       const Packet *request) {
  options = json_trim(options);
  bool is_small = options.size <= JOIN_OPTIONS_BYTES;
  if (is_small && options.size > 0 && options.bytes[0] == '{' && json_is_value(options))
    join_by_name(relay, peer, name, options, request);
  else if (peer_has_session(peer))
    session_error(relay->session, peer, request, CODE_PROTOCOL,
                  is_small ? "join options are a JSON object"
                           : "join options have at most 4096 bytes");
}

// --- Leaving ---

void leave_room(Relay *relay, Peer *peer, Room *room, const Leave *leave) {
  member_remove(relay, room, peer);
  relay_keep_member(relay, room, peer);
  notify_leave(relay, room, peer, leave);
  if (room->kind.hooks & HOOK_LEAVE)
    relay_emit(
        relay,
        &(Event){
            .type = EVENT_LEAVE, .peer = peer->id, .room = room->id, .a = leave->code});
  room_check_empty(relay, room);
  if (peer->is_bot) session_kick(relay->session, peer, leave->code, leave->reason);
}

void leave_all(Relay *relay, Peer *peer, Code code) {
  while (peer->relay.room_count > 0)
    leave_room(relay, peer, slots_find(&relay->rooms, peer->relay.rooms[0].room),
               &(Leave){.code = code});
  mem_free(peer->relay.rooms);
  peer->relay.rooms = NULL;
  peer->relay.room_capacity = 0;
}
