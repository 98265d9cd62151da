// Fan-out: one write to each group of an audience. The cost does not depend on the number
// of members.

#include "relay/internal.h"
#include "relay/notify.h"

// --- Suspended peers ---

static void keep(Relay *relay, Peer *peer, unsigned forms, const Out *out,
                 Blob **blob) {
  if (!peer->resume.is_resumable || !(forms & 1u << peer_form(peer))) return;
  if (peer->relay.excluded == relay->broadcast_number) return;
  if (!*blob) *blob = session_blob(relay->session, out);
  session_keep(relay->session, peer, *blob);
}

static void keep_for_all(Relay *relay, const Room *room, unsigned forms,
                         const Out *out) {
  if (!session_keeps(relay->session)) return;
  Blob *blob = NULL;
  Peer *peer;
  if (room)
    for (uint32_t place = 0, id; (id = room_next_member(room, &place));)
      keep(relay, session_find(relay->session, id), forms, out, &blob);
  else
    for (uint32_t cursor = 0; (peer = session_next(relay->session, &cursor));)
      if (peer_has_session(peer)) keep(relay, peer, forms, out, &blob);
  if (blob) blob_unref(blob);
}

void audience_count(Relay *relay, Room *room, uint8_t packet_flags) {
  relay->broadcast_number++;
  if (room && !(packet_flags & PACKET_RELIABLE)) room->unreliable++;
}

void audience_exclude(Relay *relay, Peer *peer, const Room *room,
                      uint8_t packet_flags) {
  peer->relay.excluded = relay->broadcast_number;
  if (packet_flags & PACKET_RELIABLE || peer->state != PEER_SUSPENDED || !room) return;
  RoomRef *ref = member_find(peer, room->id);
  if (ref) ref->unreliable++;  // the peer does not miss this message
}

// --- Audiences ---

static void write_group(Relay *relay, const Audience *audience, GroupId group,
                        const Out *out) {
  net_group_write(relay->net, group, out, audience->except, audience->except_count);
}

// Sends to each group of an audience. Most rooms have one group, because their members
// have one form.
void audience_send(Relay *relay, const Audience *audience, const Outgoing *outgoing) {
  const GroupId *groups = audience->room ? audience->room->groups : relay->all;
  uint8_t head[SESSION_HEAD_SIZE];
  Out out;
  session_frame(&out, head, outgoing);
  if (outgoing->packet.flags & PACKET_RELIABLE)
    keep_for_all(relay, audience->room, audience->forms, &out);
  for (int form = 0; form < FORM_TEXT; form++)
    if (groups[form] && audience->forms & 1u << form)
      write_group(relay, audience, groups[form], &out);
  if (groups[FORM_TEXT] && audience->forms & 1u << FORM_TEXT &&
      session_frame_line(relay->session, &out, outgoing))
    write_group(relay, audience, groups[FORM_TEXT], &out);
}

// --- Broadcasts of clients ---

void room_relay(Relay *relay, Room *room, Peer *peer, uint8_t priority, uint8_t flags,
                Text data) {
  uint8_t reliable = flags & PACKET_RELIABLE;
  Outgoing relayed = {
      .packet = {.channel = CHANNEL_CONTROL,
                 .type = CONTROL_RELAYED,
                 .priority = priority,
                 .flags = reliable,
                 .length = data.size,
                 .payload = (const uint8_t *)data.bytes},
      .ids = {room ? room->id : 0, peer->id},
      .id_count = 2,
      .flags = reliable ? OUT_KEEP : 0,
  };
  uint32_t count = room ? room_present(room) : session_count(relay->session);
  if (!room) all_ensure(relay);
  audience_count(relay, room, reliable);
  if (reliable || peer->conn == 0) audience_exclude(relay, peer, room, reliable);
  Audience others = {room, FORMS_ALL, &peer->conn, 1};
  audience_send(relay, &others, &relayed);
  if (has_bots(relay, room))
    bots_hear(relay, room,
              &(Event){.type = EVENT_BOT_MESSAGE,
                       .channel = CHANNEL_CONTROL,
                       .room = relayed.ids[0],
                       .a = peer->id,
                       .data = data});
  relay->stats.deliveries += count - (peer->conn != 0);
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
  net_group_join(relay->net, relay->all[peer_form(peer)], peer->conn);
}

void all_ensure(Relay *relay) {
  if (relay->all[0]) return;
  for (int form = 0; form < FORM_COUNT; form++)
    relay->all[form] = net_group_open(relay->net, 0);
  const Peer *peer;
  for (uint32_t cursor = 0; (peer = session_next(relay->session, &cursor));)
    if (peer->state == PEER_CONNECTED) all_add(relay, peer);
}
