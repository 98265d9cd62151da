// What the session sends: packets and lines to one peer, errors, and the last words of
// a connection.

#include <string.h>

#include "session/internal.h"
#include "wire/line.h"

// `rest` has all but the header. Its priority is the packet's place in the stream,
// which may be another than what the header says.
static void write_packet(Session *session, ConnId conn, const Packet *packet,
                         const Out *rest) {
  uint8_t header[PACKET_HEADER_SIZE];
  packet_write_header(header, packet);
  Out out = *rest;
  out.parts[0] = header;
  out.sizes[0] = sizeof header;
  net_write(session->net, conn, &out);
}

static Packet control_packet(ControlType type, const Packet *request,
                             const Buf *payload) {
  Packet packet = {
      .channel = CHANNEL_CONTROL,
      .type = type,
      .priority = PRIORITY_CRITICAL,
      .length = (uint32_t)payload->size,
      .payload = payload->data,
  };
  packet_answer(&packet, request);
  return packet;
}

static void write_control(Session *session, ConnId conn, const Packet *packet,
                          Priority place) {
  Out out = {
      .parts = {NULL, packet->payload},
      .sizes = {0, packet->length},
      .priority = place,
      .flags = OUT_KEEP,
  };
  write_packet(session, conn, packet, &out);
}

void send_control(Session *session, Peer *peer, ControlType type, const Packet *request,
                  const Buf *payload) {
  send_control_at(session, peer, type, PRIORITY_CRITICAL, request, payload);
}

void send_control_at(Session *session, Peer *peer, ControlType type, Priority place,
                     const Packet *request, const Buf *payload) {
  Packet packet = control_packet(type, request, payload);
  write_control(session, peer->conn, &packet, place);
}

static void write_line(Session *session, ConnId conn, const Out *line) {
  Out out = *line;
  out.parts[1] = "\n";
  out.sizes[1] = 1;
  net_write(session->net, conn, &out);
}

// Appends the line for a text peer: `! Code: text`, and when to try again.
static void append_ending_line(Buf *buf, const Ending *ending) {
  buf_printf(buf, "! %s: ", code_name(ending->code));
  line_append_safe(buf, ending->text, strlen(ending->text));
  if (ending->code == CODE_UNAVAILABLE)
    buf_printf(buf, "; try again in %u s", ending->retry_s);
}

void send_ending(Session *session, ConnId conn, Framing framing, ControlType type,
                 const Packet *request, const Ending *ending) {
  // None overtakes what was sent before it, and last words nothing at all.
  Priority place = type == CONTROL_ERROR ? PRIORITY_NORMAL : PRIORITY_LOW;
  Buf *buf = &session->scratch;
  buf->size = 0;
  if (framing == FRAMING_LINES) {
    append_ending_line(buf, ending);
    Out out = {.parts = {buf->data},
               .sizes = {(uint32_t)buf->size},
               .priority = place,
               .flags = OUT_KEEP | OUT_URGENT};
    write_line(session, conn, &out);
  } else {
    control_ending(buf, ending);
    Packet packet = control_packet(type, request, buf);
    write_control(session, conn, &packet, place);
  }
}

void session_error(Session *session, Peer *peer, const Packet *request, Code code,
                   const char *text) {
  if (peer->framing == FRAMING_LINES) {
    if (peer->state != PEER_CONNECTED) return;
    send_ending(session, peer->conn, FRAMING_LINES, CONTROL_ERROR, request,
                &(Ending){code, text, 0});
    return;
  }
  Buf *buf = &session->scratch;
  buf->size = 0;
  control_code_text(buf, code, text);
  Packet packet = control_packet(CONTROL_ERROR, NULL, buf);
  packet_answer_reliably(&packet, request);
  session_send(session, peer, &packet, NULL, 0, 0, OUT_KEEP);
}

static void keep(Session *session, Peer *peer, const Out *out) {
  Blob *blob = session_blob(session, out);
  session_keep(session, peer, blob);
  blob_unref(blob);
}

void session_send(Session *session, Peer *peer, const Packet *packet,
                  const void *prefix, uint32_t prefix_size, uint64_t key,
                  uint8_t out_flags) {
  bool is_reliable = packet->flags & PACKET_RELIABLE;
  if (!peer_is_there(peer) || peer->framing != FRAMING_PACKETS) return;
  if (peer->state == PEER_SUSPENDED && !is_reliable) return;
  uint8_t header[PACKET_HEADER_SIZE];
  Out out = {.flags = out_flags, .key = key};
  session_frame(&out, header, packet, prefix, prefix_size);
  if (is_reliable && peer->is_resumable) keep(session, peer, &out);
  if (peer->state == PEER_SUSPENDED) return;
  net_write(session->net, peer->conn, &out);
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

void session_send_line(Session *session, Peer *peer, const char *text, size_t size,
                       uint8_t priority, uint64_t key, uint8_t out_flags) {
  if (peer->state != PEER_CONNECTED || peer->framing != FRAMING_LINES) return;
  Out out = {
      .parts = {text},
      .sizes = {(uint32_t)size},
      .priority = priority,
      .flags = out_flags,
      .key = key,
  };
  write_line(session, peer->conn, &out);
}
