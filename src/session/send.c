// Sends packets and errors to one peer, and the last packet of a connection. Text peers
// get lines instead (text.c).

#include "base/integers.h"
#include "base/log.h"
#include "session/internal.h"
#include "wire/udp/link.h"

// --- Packets ---

static void place(Out *out, const Packet *packet) {
  if (udp_may_be_lost(packet)) out->flags |= OUT_UNRELIABLE;
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

Outgoing session_control(ControlType type, Priority priority, const Buf *payload) {
  return (Outgoing){
      .packet = {.channel = CHANNEL_CONTROL,
                 .type = type,
                 .priority = priority,
                 .length = (uint32_t)payload->size,
                 .payload = payload->data},
      .flags = OUT_KEEP,
  };
}

// Writes a control packet. `place` is the packet's priority in the outgoing stream. The
// priority in the header may differ.
static void write_control(Session *session, ConnId conn, Framing framing,
                          ControlType type, Priority place, const Packet *request,
                          const Buf *payload) {
  Outgoing control = session_control(type, PRIORITY_CRITICAL, payload);
  packet_answer(&control.packet, request);
  uint8_t head[SESSION_HEAD_SIZE];
  Out out;
  if (framing == FRAMING_PACKETS)
    session_frame(&out, head, &control);
  else if (!session_frame_line(session, &out, &control))
    return;
  out.priority = place;
  out.flags = OUT_KEEP;
  net_write(session->net, conn, &out);
}

void send_control(Session *session, Peer *peer, ControlType type, const Packet *request,
                  const Buf *payload) {
  send_control_at(session, peer, type, PRIORITY_CRITICAL, request, payload);
}

void send_control_at(Session *session, Peer *peer, ControlType type, Priority place,
                     const Packet *request, const Buf *payload) {
  write_control(session, peer->conn, (Framing)peer->framing, type, place, request,
                payload);
}

// Writes the last packet. It has the lowest priority, so that it does not overtake
// other packets.
void send_ending(Session *session, ConnId conn, Framing framing, ControlType type,
                 const Packet *request, const Ending *ending) {
  Buf *buf = &session->scratch;
  buf->size = 0;
  control_ending(buf, ending);
  write_control(session, conn, framing, type, PRIORITY_LOW, request, buf);
}

void session_log_refusal(const Peer *bot, const char *code, Text text) {
  log_warn("refused what a bot did", log_num("peer", bot->id),
           log_bytes("name", bot->name, bot->name_size), log_str("reason", code),
           log_bytes("text", text.bytes, text.size));
}

void session_error(Session *session, Peer *peer, const Packet *request, Code code,
                   const char *text) {
  if (peer->is_bot) {
    session_log_refusal(peer, code_name(code), text_from(text));
    return;
  }
  Buf *buf = &session->scratch;
  buf->size = 0;
  control_code_text(buf, code, text);
  Outgoing error = session_control(CONTROL_ERROR, PRIORITY_CRITICAL, buf);
  packet_answer_reliably(&error.packet, request);
  session_send(session, peer, &error);
}

Blob *session_blob(Session *session, const Out *out) {
  Blob *blob = blob_new(out_size(out), &session->kept_bytes);
  out_gather(out, blob->bytes);
  return blob;
}

bool session_keeps(const Session *session) { return session->resumable > 0; }

void session_keep(Session *session, Peer *peer, Blob *packet) {
  if (!peer->resume.is_resumable || peer->resume.is_overfull) return;
  // If the kept packets of all peers exceed the total, each peer may keep only a small
  // share.
  bool is_much = session->kept_bytes >= SESSION_KEPT_TOTAL;
  size_t limit = is_much ? SESSION_KEPT_SHARE : SESSION_KEPT_BYTES;
  if (reliable_push(&peer->resume.stream, packet, limit)) return;
  peer->resume.is_overfull = true;
  deadline_arm(session, peer);
}

void session_send(Session *session, Peer *peer, const Outgoing *outgoing) {
  uint8_t head[SESSION_HEAD_SIZE];
  Out out;
  bool is_reliable = outgoing->packet.flags & PACKET_RELIABLE;
  if (!peer_has_session(peer) || peer->is_bot) return;
  if (peer->state == PEER_SUSPENDED && !is_reliable) return;
  if (peer->framing == FRAMING_PACKETS)
    session_frame(&out, head, outgoing);
  else if (!session_frame_line(session, &out, outgoing))
    return;
  if (is_reliable && peer->resume.is_resumable) {
    Blob *blob = session_blob(session, &out);
    session_keep(session, peer, blob);
    blob_unref(blob);
  }
  if (peer->state == PEER_CONNECTED) net_write(session->net, peer->conn, &out);
}

void session_send_framed(Session *session, Peer *peer, const Buf *packets,
                         uint8_t priority, uint8_t out_flags) {
  if (peer->state != PEER_CONNECTED || peer->framing != FRAMING_PACKETS) return;
  Out out = {
      .parts = {packets->data},
      .sizes = {(uint32_t)packets->size},
      .priority = priority,
      .flags = out_flags,
  };
  net_write(session->net, peer->conn, &out);
}
