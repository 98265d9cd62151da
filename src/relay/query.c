// Finds rooms, members and hooks.

#include "relay/internal.h"

Session *relay_session(Relay *relay) { return relay->session; }

Room *relay_room(const Relay *relay, uint32_t room) {
  return slots_find(&relay->rooms, room);
}

uint32_t relay_find_room(const Relay *relay, Text name) {
  return names_find(&relay->room_names, name.bytes, name.size);
}

Room *relay_next_room(const Relay *relay, uint32_t *cursor) {
  Room *room;
  do {
    room = slots_next(&relay->rooms, cursor);
  } while (room && room->state > ROOM_DELETED);
  return room;
}

RelayStats relay_stats(const Relay *relay) {
  RelayStats stats = relay->stats;
  stats.peers = session_count(relay->session);
  stats.rooms = relay->open_rooms;
  return stats;
}

uint64_t relay_delivery_limit(const Relay *relay) { return relay->limits.delivery; }

Room *room_find_open(const Relay *relay, uint32_t id) {
  Room *room = slots_find(&relay->rooms, id);
  return room && room->state == ROOM_OPEN ? room : NULL;
}

RoomRef *member_find(const Peer *peer, uint32_t room) {
  for (uint32_t i = 0; i < peer->relay.room_count; i++)
    if (peer->relay.rooms[i].room == room) return &peer->relay.rooms[i];
  return NULL;
}

bool relay_is_member(const Peer *peer, uint32_t room) {
  return member_find(peer, room) != NULL;
}

bool relay_has_hook(const Relay *relay, const Room *room, uint32_t hook) {
  return ((room ? room->kind.hooks : 0) | relay->game_hooks) & hook;
}
