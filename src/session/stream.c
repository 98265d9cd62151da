// The RELIABLE packets of a session, both ways: received ones are counted and acknowledged,
// sent ones are kept until the peer acknowledges them. Kept packets have the order of the
// bytes on the connection, because all RELIABLE packets have one place among the
// priorities.

#include "base/integers.h"
#include "session/internal.h"
#include "wire/udp/link.h"

enum { RESEND_BYTES = 64 << 10 };  // of packets sent again as one message, about

// --- From the peer ---

void stream_receive(Session *session, Peer *peer, const Packet *packet) {
  uint64_t now_ms = net_now_ms(session->net);
  bool is_much = reliable_receive(&peer->stream, PACKET_HEADER_SIZE + packet->length);
  uint64_t due_ms = is_much ? now_ms : now_ms + RELIABLE_ACK_MS;
  if (peer->ack_due_ms > 0 && peer->ack_due_ms <= due_ms) return;
  peer->ack_due_ms = due_ms;
  keepalive_arm(session, peer);
}

void stream_send_ack(Session *session, Peer *peer) {
  Buf *buf = &session->scratch;
  peer->ack_due_ms = 0;
  buf->size = 0;
  buf_u32(buf, reliable_tell(&peer->stream));
  // Behind the rooms of a resumed session, because it ends their list.
  send_control_at(session, peer, CONTROL_ACK, PRIORITY_NORMAL, NULL, buf);
}

void stream_ack(Session *session, Peer *peer, const Packet *packet) {
  uint32_t count;
  if (control_read_u32(packet, &count) < 0)
    session_kick(session, peer, CODE_PROTOCOL, "malformed ACK");
  else if (peer->is_resumable && reliable_ack(&peer->stream, count) < 0)
    session_kick(session, peer, CODE_PROTOCOL,
                 "ACK of a count that cannot have been received");
}

// --- To the peer ---

bool session_keeps(const Session *session) { return session->resumable > 0; }

static void place(Out *out, const Packet *packet) {
  if (udp_may_be_lost(packet)) out->flags |= OUT_LOSSY;
  bool is_error = packet->channel == CHANNEL_CONTROL && packet->type == CONTROL_ERROR;
  if (packet->flags == 0 && !is_error) return;
  if (packet->flags & PACKET_RELIABLE) out->flags |= OUT_KEEP;
  if (out->priority == PRIORITY_CRITICAL) out->flags |= OUT_URGENT;
  out->priority = PRIORITY_NORMAL;
  out->key = 0;
}

void session_frame(Out *out, uint8_t head[SESSION_HEAD_SIZE],
                   const Outgoing *outgoing) {
  uint32_t ids_size = outgoing->id_count * (uint32_t)sizeof(uint32_t);
  Packet whole = outgoing->packet;
  whole.length += ids_size;
  packet_write_header(head, &whole);
  uint8_t *at = head + PACKET_HEADER_SIZE;
  for (uint32_t i = 0; i < outgoing->id_count; i++) at = put_u32(at, outgoing->ids[i]);
  *out = (Out){
      .parts = {head, outgoing->packet.payload},
      .sizes = {PACKET_HEADER_SIZE + ids_size, outgoing->packet.length},
      .priority = outgoing->packet.priority,
      .flags = outgoing->flags,
      .key = outgoing->key,
  };
  place(out, &outgoing->packet);
}

Blob *session_blob(Session *session, const Out *out) {
  Blob *blob = blob_new(out_size(out), &session->kept_bytes);
  out_gather(out, blob->bytes);
  return blob;
}

void session_keep(Session *session, Peer *peer, Blob *packet) {
  if (!peer->is_resumable || peer->is_overfull) return;
  // Peers that acknowledge nothing share a total; past it, each may have little.
  bool is_much = session->kept_bytes >= SESSION_KEPT_TOTAL;
  size_t limit = is_much ? SESSION_KEPT_SHARE : SESSION_KEPT_BYTES;
  if (reliable_push(&peer->stream, packet, limit)) return;
  peer->is_overfull = true;
  keepalive_arm(session, peer);
}

void stream_resend(Session *session, Peer *peer) {
  uint32_t count = reliable_waiting(&peer->stream);
  peer->stream.resent += count;
  session->stats.resent += count;
  Buf batch = {0};
  for (uint32_t i = 0; i < count; i++) {
    const Blob *packet = reliable_at(&peer->stream, i);
    buf_append(&batch, packet->bytes, packet->size);
    if (batch.size < RESEND_BYTES && i + 1 < count) continue;
    session_send_framed(session, peer, &batch, PRIORITY_NORMAL, OUT_KEEP | OUT_URGENT);
    batch.size = 0;
  }
  buf_deinit(&batch);
}
