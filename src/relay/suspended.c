// Suspended peers, which stay members of their rooms. broadcast.c counts the messages
// that they miss.

#include "relay/internal.h"
#include "relay/notify.h"

// --- Going and coming ---

// Removes a peer from the room of `ref` if the peer is suspended there; returns whether
// it was.
static bool leave_lost(Relay *relay, Peer *peer, const RoomRef *ref) {
  if (!ref->is_suspended) return false;
  leave_room(relay, peer, relay_room(relay, ref->room),
             &(Leave){.code = (Code)peer->resume.lost_code});
  return true;
}

void suspended_leave(Relay *relay, Peer *peer) {
  for (uint32_t i = 0; i < peer->relay.room_count;) {
    const RoomRef *ref = &peer->relay.rooms[i];
    bool is_kept = !relay_room(relay, ref->room)->kind.loses_lost;
    if (is_kept || !leave_lost(relay, peer, ref)) i++;
  }
}

void suspended_leave_room(Relay *relay, Room *room) {
  uint32_t id = room->id;
  for (uint32_t i = room->suspended > 0 ? room->places : 0;
       relay_room(relay, id) && i-- > 0;) {
    Peer *peer =
        i < room->places ? session_find(relay->session, room->members[i]) : NULL;
    if (peer) leave_lost(relay, peer, member_find(peer, room->id));
  }
}

// Removes the peer from rooms after the relay has handled the packets that the peer
// sent before its connection was lost.
static void leave_in_turn(Relay *relay, Peer *peer) {
  if (relay->is_draining || peer->relay.queued == 0)
    suspended_leave(relay, peer);
  else
    event_queue(relay, peer, &(Event){.type = EVENT_LOST, .peer = peer->id});
}

void suspended_begin(void *data, Peer *peer, Code reason) {
  Relay *relay = data;
  bool has_left = false;
  for (uint32_t i = 0; i < peer->relay.room_count; i++) {
    RoomRef *ref = &peer->relay.rooms[i];
    Room *room = relay_room(relay, ref->room);
    ref->is_suspended = true;
    ref->unreliable = room->unreliable;
    room->suspended++;
    has_left = has_left || room->kind.loses_lost;
  }
  if (has_left) leave_in_turn(relay, peer);
  if (relay->game_hooks & HOOK_SUSPEND)
    relay_emit(relay, &(Event){.type = EVENT_SUSPEND, .peer = peer->id, .a = reason});
}

static void come_back(Relay *relay, Peer *peer, RoomRef *ref,
                      const Resumption *resumption) {
  Room *room = relay_room(relay, ref->room);
  ref->is_suspended = false;
  room->suspended--;
  notify_joined(relay, room, peer, NULL);
  member_join_group(relay, room, peer);
  if (room->kind.hooks & HOOK_RESUME)
    relay_emit(relay, &(Event){.type = EVENT_RESUME,
                               .peer = peer->id,
                               .room = room->id,
                               .flags = resumption->is_restored,
                               .ref = (uint16_t)resumption->resent,
                               .a = (uint32_t)resumption->suspended_ms,
                               .b = room->unreliable - ref->unreliable});
}

void suspended_end(void *data, Peer *peer, const Resumption *resumption) {
  Relay *relay = data;
  all_add(relay, peer);
  suspended_leave(relay, peer);
  for (uint32_t i = 0; i < peer->relay.room_count; i++)
    come_back(relay, peer, &peer->relay.rooms[i], resumption);
}
