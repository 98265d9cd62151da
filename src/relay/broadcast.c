// Fan-out: one write to a group of binary peers, one to the group of text peers beside
// it. Nothing here is done once per member.

#include "relay/internal.h"
#include "wire/line.h"

// A room whose members are of one kind has one group, and another never comes to be.
static void write_both(Relay *relay, const Audience *audience, const Out *out) {
  const ConnId *except = audience->except;
  if (audience->packets)
    net_group_write(relay->net, audience->packets, out, except, audience->except_count);
  if (audience->plain)
    net_group_write(relay->net, audience->plain, out, except, audience->except_count);
}

void audience_packet(Relay *relay, const Audience *audience, const Packet *packet,
                     const void *prefix, uint32_t prefix_size, uint64_t key,
                     uint8_t out_flags) {
  bool is_reliable = packet->flags & PACKET_RELIABLE;
  if (audience->packets == 0 && audience->plain == 0 && !is_reliable) return;
  uint8_t header[PACKET_HEADER_SIZE];
  Out out = {.flags = out_flags, .key = key};
  session_frame(&out, header, packet, prefix, prefix_size);
  if (is_reliable) away_keep(relay, audience->room, audience->readers, &out);
  write_both(relay, audience, &out);
}

void audience_line(Relay *relay, const Audience *audience, const Buf *line,
                   uint8_t priority, uint64_t key, uint8_t out_flags) {
  if (audience->lines == 0) return;
  Out out = {
      .parts = {line->data, "\n"},
      .sizes = {(uint32_t)line->size, 1},
      .priority = priority,
      .flags = out_flags,
      .key = key,
  };
  net_group_write(relay->net, audience->lines, &out, audience->except,
                  audience->except_count);
}

void room_tell_packet(Relay *relay, const Room *room, ControlType type,
                      const Buf *payload) {
  Packet packet = {
      .channel = CHANNEL_CONTROL,
      .type = type,
      .priority = PRIORITY_NORMAL,
      .length = (uint32_t)payload->size,
      .payload = payload->data,
  };
  Audience members = {.packets = room->packets, .plain = room->plain};
  audience_packet(relay, &members, &packet, NULL, 0, 0, OUT_KEEP);
}

void room_tell_line(Relay *relay, const Room *room, const Buf *line) {
  Audience members = {.lines = room->lines};
  audience_line(relay, &members, line, PRIORITY_NORMAL, 0, OUT_KEEP);
}

// --- What clients broadcast ---

static void write_u32(uint8_t *at, uint32_t value) {
  for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (8 * i));
}

static void relay_as_line(Relay *relay, const Room *room, const Peer *peer,
                          uint8_t priority, uint8_t out_flags, Text data) {
  Buf *line = &relay->scratch;
  line->size = 0;
  line_append_name(line, peer->name, peer->name_size);
  buf_append(line, ": ", 2);
  line_append_safe(line, data.bytes, data.size);
  Audience others = {.lines = room->lines, .except = &peer->conn, .except_count = 1};
  audience_line(relay, &others, line, priority, 0, out_flags);
}

void room_relay(Relay *relay, Room *room, Peer *peer, uint8_t priority, uint8_t flags,
                Text data) {
  uint8_t head[PACKET_HEADER_SIZE + 8];
  uint8_t reliable = flags & PACKET_RELIABLE;
  uint8_t out_flags = reliable ? OUT_KEEP : 0;
  Packet packet = {
      .channel = CHANNEL_CONTROL,
      .type = CONTROL_RELAYED,
      .priority = priority,
      .flags = reliable,
      .length = 8 + data.size,
  };
  packet_write_header(head, &packet);
  write_u32(head + PACKET_HEADER_SIZE, room->id);
  write_u32(head + PACKET_HEADER_SIZE + 4, peer->id);
  Out out = {
      .parts = {head, data.bytes},
      .sizes = {sizeof head, data.size},
      .priority = priority,
      .flags = out_flags,
  };
  away_count(relay, room, reliable);
  if (reliable || peer->state == PEER_SUSPENDED)
    away_leave_out(relay, peer, room, reliable);
  session_place(&out, &packet);
  if (reliable) away_keep(relay, room, READERS_ALL, &out);
  Audience others = {room, room->packets, room->plain, 0, &peer->conn, 1, READERS_ALL};
  write_both(relay, &others, &out);
  if (room->lines) relay_as_line(relay, room, peer, priority, out_flags, data);
  relay->stats.deliveries += room->count - room->away - (peer->conn != 0);
}

void broadcast_from(Relay *relay, Peer *peer, Room *room, const Packet *packet,
                    Text data) {
  if (!(room->kind.hooks & HOOK_BROADCAST)) {
    room_relay(relay, room, peer, packet->priority, packet->flags, data);
    return;
  }
  relay_emit(relay, &(Event){.type = EVENT_BROADCAST,
                             .priority = packet->priority,
                             .flags = packet->flags,
                             .ref = packet->ref,
                             .peer = peer->id,
                             .room = room->id,
                             .data = data});
}

// --- Everybody ---

void all_add(Relay *relay, const Peer *peer) {
  if (relay->all_packets == 0) return;
  GroupId group = peer->framing == FRAMING_LINES ? relay->all_lines
                  : peer_is_plain(peer)          ? relay->all_plain
                                                 : relay->all_packets;
  net_group_join(relay->net, group, peer->conn);
}

void all_ensure(Relay *relay) {
  if (relay->all_packets) return;
  relay->all_packets = net_group_open(relay->net, 0);
  relay->all_plain = net_group_open(relay->net, 0);
  relay->all_lines = net_group_open(relay->net, 0);
  const Peer *peer;
  for (uint32_t cursor = 0; (peer = session_next(relay->session, &cursor));)
    if (peer->state == PEER_CONNECTED) all_add(relay, peer);
}
