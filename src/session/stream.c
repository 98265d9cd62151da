// The RELIABLE packets of a session. Counts and acknowledges received packets, and
// keeps sent packets until the peer acknowledges them. The order of kept packets is the
// order of the bytes on the connection, because all RELIABLE packets have the same
// place among the priorities.

#include "session/internal.h"

enum {
  RESEND_BYTES = 64 << 10
};  // approximate bytes of one message that contains packets sent again

// --- From the peer ---

void stream_receive(Session *session, Peer *peer, const Packet *packet) {
  uint64_t now_ms = net_now_ms(session->net);
  bool is_much =
      reliable_receive(&peer->resume.stream, PACKET_HEADER_SIZE + packet->length);
  uint64_t due_ms = is_much ? now_ms : now_ms + RELIABLE_ACK_MS;
  if (peer->resume.ack_due_ms > 0 && peer->resume.ack_due_ms <= due_ms) return;
  peer->resume.ack_due_ms = due_ms;
  deadline_arm(session, peer);
}

void stream_send_ack(Session *session, Peer *peer) {
  Buf *buf = &session->scratch;
  peer->resume.ack_due_ms = 0;
  buf->size = 0;
  buf_u32(buf, reliable_tell(&peer->resume.stream));
  // After a resume, the ACK must follow the list of rooms, because it marks the list's
  // end.
  send_control_at(session, peer, CONTROL_ACK, PRIORITY_NORMAL, NULL, buf);
}

void stream_ack(Session *session, Peer *peer, const Packet *packet) {
  uint32_t count;
  if (control_read_u32(packet, &count) < 0)
    session_kick(session, peer, CODE_PROTOCOL, "malformed ACK");
  else if (peer->resume.is_resumable && reliable_ack(&peer->resume.stream, count) < 0)
    session_kick(session, peer, CODE_PROTOCOL,
                 "ACK of a count that cannot have been received");
}

// --- To the peer ---

void stream_resend(Session *session, Peer *peer) {
  uint32_t count = reliable_waiting(&peer->resume.stream);
  peer->resume.stream.resent += count;
  session->stats.resent += count;
  Buf batch = {0};
  for (uint32_t i = 0; i < count; i++) {
    const Blob *packet = reliable_at(&peer->resume.stream, i);
    buf_append(&batch, packet->bytes, packet->size);
    if (batch.size < RESEND_BYTES && i + 1 < count) continue;
    session_send_framed(session, peer, &batch, PRIORITY_NORMAL, OUT_KEEP | OUT_URGENT);
    batch.size = 0;
  }
  buf_deinit(&batch);
}
