// Members whose line is lost: they keep their place in their rooms, what is RELIABLE
// waits for them, what is not is counted as missed.

#include "relay/internal.h"
#include "relay/notify.h"

// --- Going and coming ---

void suspended_begin(void *data, Peer *peer, Code reason) {
  Relay *relay = data;
  for (uint32_t i = 0; i < peer->room_count; i++) {
    RoomRef *ref = &peer->rooms[i];
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
  for (uint32_t i = 0; i < peer->room_count; i++)
    come_back(relay, peer, &peer->rooms[i], resumption);
}

// --- What waits, and what is missed ---

static void keep(Relay *relay, Peer *peer, unsigned forms, const Out *out,
                 Blob **blob) {
  if (!peer->is_resumable || !(forms & 1u << peer_form(peer))) return;
  if (peer->excluded == relay->broadcast_number) return;
  if (!*blob) *blob = session_blob(relay->session, out);
  session_keep(relay->session, peer, *blob);
}

void suspended_keep(Relay *relay, const Room *room, unsigned forms, const Out *out) {
  if (!session_keeps(relay->session)) return;
  Blob *blob = NULL;
  Peer *peer;
  if (room)
    for (uint32_t i = 0; i < room->count; i++)
      keep(relay, session_find(relay->session, room->members[i]), forms, out, &blob);
  else
    for (uint32_t cursor = 0; (peer = session_next(relay->session, &cursor));)
      if (peer_has_session(peer)) keep(relay, peer, forms, out, &blob);
  if (blob) blob_unref(blob);
}

void suspended_count(Relay *relay, Room *room, uint8_t packet_flags) {
  relay->broadcast_number++;
  if (room && !(packet_flags & PACKET_RELIABLE)) room->unreliable++;
}

void suspended_exclude(Relay *relay, Peer *peer, const Room *room,
                       uint8_t packet_flags) {
  peer->excluded = relay->broadcast_number;
  if (packet_flags & PACKET_RELIABLE || peer->state != PEER_SUSPENDED || !room) return;
  RoomRef *ref = member_find(peer, room->id);
  if (ref) ref->unreliable++;  // nothing that it misses
}
