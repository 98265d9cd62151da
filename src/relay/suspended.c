// Suspended peers, which stay members of their rooms. broadcast.c counts the messages
// that they miss.

#include "relay/internal.h"
#include "relay/notify.h"

// --- Going and coming ---

void suspended_begin(void *data, Peer *peer, Code reason) {
  Relay *relay = data;
  for (uint32_t i = 0; i < peer->relay.room_count; i++) {
    RoomRef *ref = &peer->relay.rooms[i];
    Room *room = relay_room(relay, ref->room);
    ref->is_suspended = true;
    ref->unreliable = room->unreliable;
    room->suspended++;
  }
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
                               .ref = (uint16_t)resumption->resent,
                               .a = (uint32_t)resumption->suspended_ms,
                               .b = room->unreliable - ref->unreliable});
}

void suspended_end(void *data, Peer *peer, const Resumption *resumption) {
  Relay *relay = data;
  all_add(relay, peer);
  for (uint32_t i = 0; i < peer->relay.room_count; i++)
    come_back(relay, peer, &peer->relay.rooms[i], resumption);
}
