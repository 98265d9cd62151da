// Adds and removes members. Keeps a room's members, a peer's rooms and the room's
// groups consistent.

#include <assert.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "relay/internal.h"
#include "relay/notify.h"

void member_join_group(Relay *relay, Room *room, const Peer *peer) {
  GroupId *group = &room->groups[peer_form(peer)];
  if (*group == 0) *group = net_group_open(relay->net, room->id);
  net_group_join(relay->net, *group, peer->conn);
}

void member_add(Relay *relay, Room *room, Peer *peer) {
  bool is_suspended = peer->state == PEER_SUSPENDED;
  if (peer->relay.room_count == peer->relay.room_capacity)
    peer->relay.room_capacity = (uint16_t)array_grow(
        &peer->relay.rooms, peer->relay.room_capacity, sizeof *peer->relay.rooms, 2);
  peer->relay.rooms[peer->relay.room_count++] =
      (RoomRef){.room = room->id,
                .place = room->places,
                .unreliable = room->unreliable,
                .is_suspended = is_suspended};
  peer->relay.last_room = room->id;
  peer->relay.has_joined = true;
  if (room->places == room->capacity)
    room->capacity =
        array_grow(&room->members, room->capacity, sizeof *room->members, 4);
  room->members[room->places++] = peer->id;
  room->count++;
  room->is_for_join = room->is_for_join && peer->is_bot;
  if (peer->is_bot) {
    bot_enter(relay, room, peer);
    return;
  }
  if (is_suspended)
    room->suspended++;
  else
    member_join_group(relay, room, peer);
  timers_stop(net_timers(relay->net), &room->timer);
}

// Closes the gaps of members that have left, and keeps the order of joining.
static void close_gaps(Relay *relay, Room *room) {
  uint32_t used = 0;
  for (uint32_t place = 0, id; (id = room_next_member(room, &place)); used++) {
    member_find(session_find(relay->session, id), room->id)->place = used;
    room->members[used] = id;
  }
  room->places = used;
}

void member_remove(Relay *relay, Room *room, Peer *peer) {
  RoomRef *ref = member_find(peer, room->id);
  assert(ref && room->members[ref->place] == peer->id);
  room->members[ref->place] = 0;
  room->count--;
  if (room->count <= room->places / 2) close_gaps(relay, room);
  room->suspended -= ref->is_suspended;
  RoomRef *end = peer->relay.rooms + peer->relay.room_count--;
  memmove(ref, ref + 1, (size_t)(end - (ref + 1)) * sizeof *ref);
  peer->relay.last_room =
      peer->relay.room_count ? peer->relay.rooms[peer->relay.room_count - 1].room : 0;
  if (peer->is_bot)
    bot_leave(relay, room, peer);
  else
    net_group_leave(relay->net, room->groups[peer_form(peer)], peer->conn);
}

Room *member_room(Relay *relay, Peer *peer, uint32_t id, const Packet *request) {
  Room *room = room_find_open(relay, id);
  if (!room)
    session_error(relay->session, peer, request, CODE_NO_SUCH_ROOM,
                  "there is no such room");
  else if (!member_find(peer, id))
    session_error(relay->session, peer, request, CODE_NOT_IN_ROOM,
                  "you are not in this room");
  else
    return room;
  return NULL;
}
