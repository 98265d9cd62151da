// A snapshot is a copy, so that its reader needs no lock.
#include "base/mem.h"
#include "server/library/library.h"
#include "wire/json.h"

typedef struct Snapshot {
  perigee_server_snapshot seen;  // must be the first field, because the host has its
                                 // address
  perigee_server_room_info *rooms;
  perigee_server_peer_info *peers;
} Snapshot;

static perigee_server_text copy(const char *bytes, size_t size) {
  char *text = mem_alloc(size + 1);
  if (size > 0) memcpy(text, bytes, size);
  text[size] = '\0';
  return (perigee_server_text){text, size};
}

// Copies the text of a JSON string. Copies any other value as JSON.
static perigee_server_text copy_value(Text json) {
  Buf text = {0};
  if (!json_read_text(json, &text)) return copy(json.bytes, json.size);
  perigee_server_text value = copy((const char *)text.data, text.size);
  buf_deinit(&text);
  return value;
}

static void take_meta(const Room *room, perigee_server_room_info *info) {
  RoomMeta meta;
  for (size_t at = 0; room_next_meta(room, &at, &meta);) info->meta_count++;
  perigee_server_text *texts = mem_alloc((2 * info->meta_count + 1) * sizeof *texts);
  info->meta = texts;
  for (size_t at = 0; room_next_meta(room, &at, &meta);) {
    *texts++ = copy(meta.key.bytes, meta.key.size);
    *texts++ = copy_value(meta.json);
  }
}

static void take_room(const Room *room, perigee_server_room_info *info) {
  uint32_t *members = mem_alloc((room->count + 1) * sizeof *members);
  size_t count = 0;
  for (uint32_t place = 0, id; (id = room_next_member(room, &place));)
    members[count++] = id;
  *info = (perigee_server_room_info){.room = room->id,
                                     .name = copy(room->name, room->name_size),
                                     .members = members,
                                     .member_count = count};
  take_meta(room, info);
}

static void take_rooms(const Relay *relay, Snapshot *snapshot) {
  const Room *room;
  size_t count = 0;
  for (uint32_t cursor = 0; (room = relay_next_room(relay, &cursor));)
    count += room->state == ROOM_OPEN;
  snapshot->rooms = mem_zalloc((count + 1) * sizeof *snapshot->rooms);
  snapshot->seen.rooms = snapshot->rooms;
  perigee_server_room_info *info = snapshot->rooms;
  for (uint32_t cursor = 0; (room = relay_next_room(relay, &cursor));)
    if (room->state == ROOM_OPEN) take_room(room, info++);
  snapshot->seen.room_count = count;
}

static void take_peer(const Peer *peer, perigee_server_peer_info *info) {
  *info = (perigee_server_peer_info){
      .peer = peer->id,
      .name = copy(peer->name, peer->name_size),
      .address = copy(peer_address(peer), strlen(peer_address(peer))),
      .transport = copy(peer_transport(peer), strlen(peer_transport(peer))),
      .is_suspended = peer->state == PEER_SUSPENDED,
  };
}

static void take_peers(const Session *session, Snapshot *snapshot) {
  const Peer *peer;
  size_t count = 0;
  for (uint32_t cursor = 0; (peer = session_next(session, &cursor));)
    count += peer_has_session(peer);
  snapshot->peers = mem_zalloc((count + 1) * sizeof *snapshot->peers);
  snapshot->seen.peers = snapshot->peers;
  perigee_server_peer_info *info = snapshot->peers;
  for (uint32_t cursor = 0; (peer = session_next(session, &cursor));)
    if (peer_has_session(peer)) take_peer(peer, info++);
  snapshot->seen.peer_count = count;
}

perigee_server_snapshot *snapshot_take(const perigee_server *self) {
  Snapshot *snapshot = mem_zalloc(sizeof *snapshot);
  RelayStats stats = relay_stats(relay_of(self));
  snapshot->seen.messages_in = stats.messages_in;
  snapshot->seen.deliveries = stats.deliveries;
  snapshot->seen.dropped = stats.dropped;
  take_rooms(relay_of(self), snapshot);
  take_peers(self->server->engine.session, snapshot);
  return &snapshot->seen;
}

static void free_text(perigee_server_text text) { mem_free((char *)text.bytes); }

void perigee_server_snapshot_free(perigee_server_snapshot *seen) {
  Snapshot *snapshot = (Snapshot *)seen;
  if (snapshot == NULL) return;
  for (size_t i = 0; i < seen->room_count; i++) {
    const perigee_server_room_info *room = &seen->rooms[i];
    for (size_t j = 0; j < 2 * room->meta_count; j++) free_text(room->meta[j]);
    mem_free((void *)room->meta);
    mem_free((void *)room->members);
    free_text(room->name);
  }
  for (size_t i = 0; i < seen->peer_count; i++) {
    free_text(seen->peers[i].name);
    free_text(seen->peers[i].address);
    free_text(seen->peers[i].transport);
  }
  mem_free(snapshot->rooms);
  mem_free(snapshot->peers);
  mem_free(snapshot);
}
