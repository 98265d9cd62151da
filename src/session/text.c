// Turns packets into the lines that text peers get instead (docs/protocol.md, section 13).
#include "session/internal.h"
#include "wire/line.h"

/// A control packet, and the line that text peers get instead.
typedef struct Draft {
  const Session *session;
  const Outgoing *outgoing;
  Reader payload;
  Buf *line;
} Draft;

static void put_name(Buf *line, Text name) {
  line_append_name(line, name.bytes, name.size);
}

static void put_peer(Buf *line, const Session *session, uint32_t id) {
  put_name(line, peer_name(session_find(session, id)));
}

static void put_text(Buf *line, Text text) { buf_append(line, text.bytes, text.size); }

static void put_welcome(Draft *draft) {
  reader_u16(&draft->payload);
  buf_printf(draft->line, "* connected as ");
  put_peer(draft->line, draft->session, reader_u32(&draft->payload));
  buf_printf(draft->line, "; %s", TEXT_COMMANDS);
}

static void put_joined(Draft *draft) {
  Buf *line = draft->line;
  Reader *payload = &draft->payload;
  reader_u32(payload);
  buf_printf(line, "* joined ");
  put_text(line, reader_str8(payload));
  reader_u32(payload);
  uint32_t left = reader_u16(payload) + draft->outgoing->more;
  if (left == 0) buf_printf(line, ", nobody else is here");
  for (const char *before = ": "; left > 0; before = ", ", left--) {
    if (line->size > draft->session->limits.max_payload) {
      buf_printf(line, " and %u more", left);
      return;
    }
    buf_printf(line, "%s", before);
    reader_u32(payload);
    put_name(line, reader_str8(payload));
  }
}

static void put_rooms(Draft *draft) {
  Buf *line = draft->line;
  Reader *payload = &draft->payload;
  uint32_t left = reader_u16(payload), more = draft->outgoing->more;
  size_t limit = draft->session->limits.max_payload;
  if (left + more == 0) buf_printf(line, "* no rooms");
  const char *before = "* rooms: ";
  for (; left > 0 && line->size <= limit; before = ", ", left--) {
    buf_printf(line, "%s", before);
    reader_u32(payload);
    put_text(line, reader_str8(payload));
    buf_printf(line, " (%u)", reader_u32(payload));
  }
  if (left + more > 0) buf_printf(line, "%s...", before);
}

// Appends " (Kicked: the reason)" if the peer did not ask to leave.
static void put_left(Draft *draft) {
  Buf *line = draft->line;
  Text detail = draft->outgoing->detail;
  buf_printf(line, "* left ");
  put_text(line, draft->outgoing->name);
  reader_u32(&draft->payload);
  Code code = (Code)reader_u16(&draft->payload);
  if (code == CODE_CLOSED) return;
  buf_printf(line, " (%s", code_name(code));
  if (detail.size > 0) buf_printf(line, ": ");
  line_append_safe(line, detail.bytes, detail.size);
  buf_u8(line, ')');
}

static void put_peer_in_room(Draft *draft, const char *what) {
  reader_u32(&draft->payload);
  buf_printf(draft->line, "* ");
  put_peer(draft->line, draft->session, reader_u32(&draft->payload));
  buf_printf(draft->line, " %s ", what);
  put_text(draft->line, draft->outgoing->name);
}

static void put_peer_joined(Draft *draft) { put_peer_in_room(draft, "joined"); }

static void put_peer_left(Draft *draft) { put_peer_in_room(draft, "left"); }

static void put_renamed(Draft *draft) {
  Buf *line = draft->line;
  Reader *payload = &draft->payload;
  uint32_t room = reader_u32(payload), peer = reader_u32(payload);
  buf_printf(line, "* ");
  if (room == 0)
    buf_printf(line, "you are now ");
  else
    put_peer(line, draft->session, peer), buf_printf(line, " is now ");
  put_name(line, reader_str8(payload));
}

static void put_relayed(Draft *draft) {
  Buf *line = draft->line;
  const Packet *packet = &draft->outgoing->packet;
  Text data = {(const char *)packet->payload, packet->length};
  uint32_t sender = draft->outgoing->ids[1];
  if (sender == 0) {
    put_text(line, data);
    return;
  }
  put_peer(line, draft->session, sender);
  buf_printf(line, ": ");
  line_append_safe(line, data.bytes, data.size);
}

static void put_error(Draft *draft) {
  Buf *line = draft->line;
  Reader *payload = &draft->payload;
  Code code = (Code)reader_u16(payload);
  Text text = reader_str16(payload);
  buf_printf(line, "! %s: ", code_name(code));
  line_append_safe(line, text.bytes, text.size);
  if (code == CODE_UNAVAILABLE)
    buf_printf(line, "; try again in %u s", reader_u16(payload));
}

// Writes the line for SIGNED_IN. The payload is the name of the account.
static void put_signed_in(Draft *draft) {
  buf_printf(draft->line, "* signed in as ");
  line_append_name(draft->line, (const char *)draft->payload.at,
                   reader_left(&draft->payload));
}

static void put_fault(Draft *draft) {
  Buf *line = draft->line;
  Reader *payload = &draft->payload;
  buf_printf(line, "! ");
  put_name(line, reader_str8(payload));
  Text json = {(const char *)payload->at, (uint32_t)reader_left(payload)};
  if (text_equals(json, text_from("null"))) return;
  buf_printf(line, ": ");
  line_append_safe(line, json.bytes, json.size);
}

// By ControlType. Text peers do not get control packets that are missing here.
static void (*const PUT[])(Draft *draft) = {
    [CONTROL_WELCOME] = put_welcome,
    [CONTROL_JOINED] = put_joined,
    [CONTROL_LEFT] = put_left,
    [CONTROL_RELAYED] = put_relayed,
    [CONTROL_PEER_JOINED] = put_peer_joined,
    [CONTROL_PEER_LEFT] = put_peer_left,
    [CONTROL_ERROR] = put_error,
    [CONTROL_REJECTED] = put_error,
    [CONTROL_CLOSING] = put_error,
    [CONTROL_FAULT] = put_fault,
    [CONTROL_ROOMS] = put_rooms,
    [CONTROL_SIGNED_IN] = put_signed_in,
    [CONTROL_PEER_RENAMED] = put_renamed,
};

static bool put_control(Buf *line, const Session *session, const Outgoing *outgoing) {
  const Packet *packet = &outgoing->packet;
  Draft draft = {session, outgoing, reader_of(packet->payload, packet->length), line};
  if (packet->type >= sizeof PUT / sizeof *PUT || !PUT[packet->type]) return false;
  PUT[packet->type](&draft);
  return true;
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
