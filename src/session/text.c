// Turns packets into the lines that text peers get instead (docs/protocol.md, section 13).
#include "session/internal.h"
#include "wire/line.h"

static void put_name(Buf *line, Text name) {
  line_append_name(line, name.bytes, name.size);
}

static void put_peer(Buf *line, const Session *session, uint32_t id) {
  put_name(line, peer_name(session_find(session, id)));
}

static void put_text(Buf *line, Text text) { buf_append(line, text.bytes, text.size); }

static void put_joined(Buf *line, Reader *payload, uint32_t more, size_t limit) {
  reader_u32(payload);
  buf_printf(line, "* joined ");
  put_text(line, reader_str8(payload));
  reader_u32(payload);
  uint32_t left = reader_u16(payload) + more;
  if (left == 0) buf_printf(line, ", nobody else is here");
  for (const char *before = ": "; left > 0; before = ", ", left--) {
    if (line->size > limit) {
      buf_printf(line, " and %u more", left);
      return;
    }
    buf_printf(line, "%s", before);
    reader_u32(payload);
    put_name(line, reader_str8(payload));
  }
}

static void put_rooms(Buf *line, Reader *payload, uint32_t more, size_t limit) {
  uint32_t left = reader_u16(payload) + more;
  if (left == 0) buf_printf(line, "* no rooms");
  for (const char *before = "* rooms: "; left > 0; before = ", ", left--) {
    if (line->size > limit) {
      buf_printf(line, ", ...");
      return;
    }
    buf_printf(line, "%s", before);
    reader_u32(payload);
    put_text(line, reader_str8(payload));
    buf_printf(line, " (%u)", reader_u32(payload));
  }
}

// Appends " (Kicked: the reason)" if the peer did not ask to leave.
static void put_left(Buf *line, Reader *payload, const Outgoing *outgoing) {
  buf_printf(line, "* left ");
  put_text(line, outgoing->name);
  reader_u32(payload);
  Code code = (Code)reader_u16(payload);
  if (code == CODE_CLOSED) return;
  buf_printf(line, " (%s", code_name(code));
  if (outgoing->detail.size > 0) buf_printf(line, ": ");
  line_append_safe(line, outgoing->detail.bytes, outgoing->detail.size);
  buf_u8(line, ')');
}

static void put_renamed(Buf *line, Reader *payload, const Session *session) {
  uint32_t room = reader_u32(payload), peer = reader_u32(payload);
  buf_printf(line, "* ");
  if (room == 0)
    buf_printf(line, "you are now ");
  else
    put_peer(line, session, peer), buf_printf(line, " is now ");
  put_name(line, reader_str8(payload));
}

static void put_relayed(Buf *line, const Session *session, const Outgoing *outgoing) {
  Text data = {(const char *)outgoing->packet.payload, outgoing->packet.length};
  uint32_t sender = outgoing->ids[1];
  if (sender == 0) {
    put_text(line, data);
    return;
  }
  put_peer(line, session, sender);
  buf_printf(line, ": ");
  line_append_safe(line, data.bytes, data.size);
}

static void put_error(Buf *line, Reader *payload) {
  Code code = (Code)reader_u16(payload);
  Text text = reader_str16(payload);
  buf_printf(line, "! %s: ", code_name(code));
  line_append_safe(line, text.bytes, text.size);
  if (code == CODE_UNAVAILABLE)
    buf_printf(line, "; try again in %u s", reader_u16(payload));
}

static void put_fault(Buf *line, Reader *payload) {
  buf_printf(line, "! ");
  put_name(line, reader_str8(payload));
  Text json = {(const char *)payload->at, (uint32_t)reader_left(payload)};
  if (text_equals(json, text_from("null"))) return;
  buf_printf(line, ": ");
  line_append_safe(line, json.bytes, json.size);
}

// Returns false for control packets that text peers do not get.
static bool put_control(Buf *line, const Session *session, const Outgoing *outgoing) {
  Reader payload = reader_of(outgoing->packet.payload, outgoing->packet.length);
  size_t limit = session->limits.max_payload;
  switch (outgoing->packet.type) {
    case CONTROL_WELCOME:
      reader_u16(&payload);
      buf_printf(line, "* connected as ");
      put_peer(line, session, reader_u32(&payload));
      buf_printf(line, "; %s", TEXT_COMMANDS);
      return true;
    case CONTROL_JOINED:
      put_joined(line, &payload, outgoing->more, limit);
      return true;
    case CONTROL_LEFT:
      put_left(line, &payload, outgoing);
      return true;
    case CONTROL_RELAYED:
      put_relayed(line, session, outgoing);
      return true;
    case CONTROL_PEER_JOINED:
    case CONTROL_PEER_LEFT:
      reader_u32(&payload);
      buf_printf(line, "* ");
      put_peer(line, session, reader_u32(&payload));
      buf_printf(line,
                 outgoing->packet.type == CONTROL_PEER_LEFT ? " left " : " joined ");
      put_text(line, outgoing->name);
      return true;
    case CONTROL_ERROR:
    case CONTROL_REJECTED:
    case CONTROL_CLOSING:
      put_error(line, &payload);
      return true;
    case CONTROL_FAULT:
      put_fault(line, &payload);
      return true;
    case CONTROL_ROOMS:
      put_rooms(line, &payload, outgoing->more, limit);
      return true;
    case CONTROL_PEER_RENAMED:
      put_renamed(line, &payload, session);
      return true;
    default:
      return false;
  }
}

bool session_frame_line(Session *session, Out *out, const Outgoing *outgoing) {
  Buf *line = &session->line;
  uint16_t channel = outgoing->packet.channel;
  line->size = 0;
  if (channel == CHANNEL_MESSAGE) {
    put_name(line, outgoing->name);
    if (outgoing->detail.size > 0) buf_u8(line, ' ');
    line_append_safe(line, outgoing->detail.bytes, outgoing->detail.size);
  } else if (channel != CHANNEL_CONTROL || !put_control(line, session, outgoing)) {
    return false;
  }
  buf_u8(line, '\n');
  *out = (Out){
      .parts = {line->data},
      .sizes = {(uint32_t)line->size},
      .priority = outgoing->packet.priority,
      .flags = outgoing->flags,
      .key = outgoing->key,
  };
  if (channel != CHANNEL_CONTROL || outgoing->packet.type != CONTROL_ERROR) return true;
  out->priority = PRIORITY_NORMAL;  // behind earlier packets, as in session_frame
  out->flags |= OUT_URGENT;
  return true;
}
