#include "relay/describe.h"

#include <string.h>

#include "relay/room.h"
#include "wire/json.h"

void describe_text(Buf *json, const char *key, Text text) {
  buf_printf(json, "\"%s\":", key);
  json_put_text(json, text);
}

static void put_flag(Buf *json, const char *key, bool is_set) {
  buf_printf(json, ",\"%s\":%s", key, is_set ? "true" : "false");
}

static void put_name_and_count(Buf *json, const Room *room) {
  Text name = room_name(room), kind = name;
  const char *colon = memchr(name.bytes, ':', name.size);
  if (colon) kind.size = (uint32_t)(colon - name.bytes);
  describe_text(json, "name", name);
  buf_u8(json, ',');
  describe_text(json, "kind", kind);
  buf_printf(json, ",\"count\":%u,\"present\":%u", room->count, room_present(room));
  if (room->kind.capacity > 0)
    buf_printf(json, ",\"capacity\":%u", room->kind.capacity);
  put_flag(json, "locked", room->kind.is_locked);
  put_flag(json, "password", room->kind.has_password);
}

void describe_room(Buf *json, const Room *room) {
  buf_printf(json, "\"id\":%u,", room->id);
  put_name_and_count(json, room);
  put_flag(json, "hidden", room->kind.is_hidden);
  put_flag(json, "permanent", !room_is_temporary(room, &room->kind));
  put_flag(json, "deleted", room->state == ROOM_DELETED);
}

void describe_meta(Buf *json, const Room *room, bool is_public) {
  const char *before = "{";
  RoomMeta meta;
  for (size_t at = 0; room_next_meta(room, &at, &meta);) {
    if (is_public && !meta.is_public) continue;
    buf_printf(json, "%s", before);
    json_put_text(json, meta.key);
    buf_u8(json, ':');
    buf_append(json, meta.json.bytes, meta.json.size);
    before = ",";
  }
  buf_printf(json, before[0] == '{' ? "{}" : "}");
}

void describe_listed(Buf *json, const Room *room) {
  buf_u8(json, '{');
  put_name_and_count(json, room);
  buf_printf(json, ",\"meta\":");
  describe_meta(json, room, true);
  buf_u8(json, '}');
}

void describe_peer(Buf *json, const Relay *relay, const Peer *peer) {
  buf_printf(json, "{\"id\":%u,", peer->id);
  describe_text(json, "name", peer_name(peer));
  buf_u8(json, ',');
  describe_text(json, "address", text_from(peer_address(peer)));
  buf_printf(json, ",\"port\":%u,", peer->port);
  describe_text(json, "transport", text_from(peer_transport(peer)));
  put_flag(json, "connected", peer_is_reachable(peer));
  if (peer->latency_us > 0)
    buf_printf(json, ",\"latency_ms\":%.3f", peer->latency_us / 1000.0);
  buf_printf(json, ",\"rooms\":[");
  for (uint32_t i = 0; i < peer->relay.room_count; i++) {
    if (i > 0) buf_u8(json, ',');
    json_put_text(json, room_name(relay_room(relay, peer->relay.rooms[i].room)));
  }
  buf_printf(json, "]}");
}
