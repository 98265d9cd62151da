// Rooms and members of an earlier process. They exist at once; on_create and on_join do
// not run.

#include <string.h>

#include "base/least.h"
#include "base/mem.h"
#include "relay/internal.h"
#include "relay/listing.h"

bool relay_restore_room(Relay *relay, const KeptRoom *kept) {
  // The table of rooms has a slot for each index, so a damaged id would take memory and
  // time. An earlier process may have had a higher max_rooms.
  enum { ALWAYS_LIKELY = 1 << 16, EARLIER_LIMIT = 4 };
  uint64_t likely =
      most(ALWAYS_LIKELY, (uint64_t)relay->limits.max_rooms * EARLIER_LIMIT);
  if ((kept->id & SLOTS_MAX) >= likely ||
      !text_is_name(kept->name.bytes, kept->name.size) ||
      relay_find_room(relay, kept->name) ||
      relay->rooms.count >= relay->limits.max_rooms)
    return false;
  Room *room = mem_zalloc(sizeof *room);
  if (!slots_add_at(&relay->rooms, kept->id, room)) {
    mem_free(room);
    return false;
  }
  room->id = kept->id;
  room->relay = relay;
  room->state = ROOM_OPEN;
  room->is_by_join = kept->is_by_join;
  room->own = kept->own;
  memcpy(room->name, kept->name.bytes, kept->name.size);
  room->name_size = (uint8_t)kept->name.size;
  names_set(&relay->room_names, room->name, room->name_size, room->id);
  relay->open_rooms++;
  room_refresh(relay, room);
  return true;
}

void relay_restore_meta(Relay *relay, uint32_t room, Text key, Text json,
                        bool is_public) {
  RoomMeta meta = {key, json, is_public};
  room_set_meta(relay_room(relay, room), &meta);
}

bool relay_restore_member(Relay *relay, uint32_t peer_id, uint32_t room_id) {
  Peer *peer = session_find(relay->session, peer_id);
  Room *room = room_find_open(relay, room_id);
  if (!peer || !room || peer->state != PEER_SUSPENDED || room->kind.loses_lost ||
      member_find(peer, room_id) || peer->relay.room_count >= RELAY_ROOMS_PER_PEER)
    return false;
  member_add(relay, room, peer);
  return true;
}
