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

void describe_room(Buf *json, const Room *room) {
  Text name = room_name(room), kind = name;
  const char *colon = memchr(name.bytes, ':', name.size);
  if (colon) kind.size = (uint32_t)(colon - name.bytes);
  buf_printf(json, "\"id\":%u,\"count\":%u,", room->id, room->count);
  describe_text(json, "name", name);
  buf_u8(json, ',');
  describe_text(json, "kind", kind);
  put_flag(json, "deleted", room->state == ROOM_DELETED);
}

void describe_peer(Buf *json, const Relay *relay, const Peer *peer) {
  buf_printf(json, "{\"id\":%u,", peer->id);
  describe_text(json, "name", peer_name(peer));
  buf_u8(json, ',');
  describe_text(json, "address", text_from(peer_address(peer)));
  buf_u8(json, ',');
  describe_text(json, "transport", text_from(peer->transport));
  put_flag(json, "connected", peer->state == PEER_CONNECTED);
  if (peer->latency_us > 0)
    buf_printf(json, ",\"latency_ms\":%.3f", peer->latency_us / 1000.0);
  buf_printf(json, ",\"rooms\":[");
  for (uint32_t i = 0; i < peer->relay.room_count; i++) {
    if (i > 0) buf_u8(json, ',');
    json_put_text(json, room_name(relay_room(relay, peer->relay.rooms[i].room)));
  }
  buf_printf(json, "]}");
}
