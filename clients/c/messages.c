// Messages of the game and questions about them: ["name", value] in JSON, or the bytes of its
// schema. The value's text is handed through as it is; who reads it has a parser for it.
#include <string.h>

#include "base/text.h"
#include "internal.h"

// --- Writing ---

static void write_string(Buf *buf, const char *text) {
  static const char DIGITS[] = "0123456789abcdef";
  buf_u8(buf, '"');
  for (const uint8_t *at = (const uint8_t *)text; *at; at++) {
    if (*at == '"' || *at == '\\') {
      buf_u8(buf, '\\');
      buf_u8(buf, *at);
    } else if (*at < 0x20) {
      buf_append(buf, "\\u00", 4);
      buf_u8(buf, (uint8_t)DIGITS[*at >> 4]);
      buf_u8(buf, (uint8_t)DIGITS[*at & 15]);
    } else {
      buf_u8(buf, *at);
    }
  }
  buf_u8(buf, '"');
}

void message_body(Buf *buf, const char *name, const char *json) {
  buf_u8(buf, '[');
  write_string(buf, name);
  buf_u8(buf, ',');
  buf_append(buf, json ? json : "null", json ? strlen(json) : 4);
  buf_u8(buf, ']');
}

// --- Reading ---

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static Text trim(Text text) {
  while (text.size > 0 && is_space(text.bytes[0])) {
    text.bytes++;
    text.size--;
  }
  while (text.size > 0 && is_space(text.bytes[text.size - 1])) text.size--;
  return text;
}

static Text skip(Text text, uint32_t size) {
  return (Text){text.bytes + size, text.size - size};
}

// The four digits of \uXXXX, or -1.
static int32_t read_hex(Text text) {
  if (text.size < 4) return -1;
  int32_t value = 0;
  for (int i = 0; i < 4; i++) {
    char c = text.bytes[i];
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0) return -1;
    value = value << 4 | digit;
  }
  return value;
}

static void put_utf8(Buf *buf, uint32_t code) {
  if (code < 0x80) {
    buf_u8(buf, (uint8_t)code);
    return;
  }
  int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  buf_u8(buf, (uint8_t)((0xff00 >> (more + 1)) | (code >> (6 * more))));
  while (more-- > 0) buf_u8(buf, (uint8_t)(0x80 | ((code >> (6 * more)) & 0x3f)));
}

// What follows a backslash and a `u`; returns how long it is, 0 for nonsense.
static uint32_t read_unicode(Text text, Buf *out) {
  int32_t first = read_hex(text);
  if (first < 0 || (first >= 0xdc00 && first <= 0xdfff)) return 0;
  if (first < 0xd800 || first > 0xdfff) {
    put_utf8(out, (uint32_t)first);
    return 4;
  }
  if (text.size < 10 || text.bytes[4] != '\\' || text.bytes[5] != 'u') return 0;
  int32_t second = read_hex(skip(text, 6));
  if (second < 0xdc00 || second > 0xdfff) return 0;
  put_utf8(out,
           0x10000 + (((uint32_t)first & 0x3ff) << 10 | ((uint32_t)second & 0x3ff)));
  return 10;
}

// A string from behind its opening quote; returns its size with the closing one, 0: it is none.
static uint32_t read_string(Text text, Buf *out) {
  static const char FROM[] = "\"\\/bfnrt", TO[] = "\"\\/\b\f\n\r\t";
  for (uint32_t at = 0; at < text.size; at++) {
    char c = text.bytes[at];
    if (c == '"') return at + 1;
    if ((uint8_t)c < 0x20) return 0;
    if (c != '\\') {
      buf_u8(out, (uint8_t)c);
      continue;
    }
    if (++at == text.size) return 0;
    const char *known = text.bytes[at] ? strchr(FROM, text.bytes[at]) : NULL;
    if (known) {
      buf_u8(out, (uint8_t)TO[known - FROM]);
      continue;
    }
    uint32_t size = text.bytes[at] == 'u' ? read_unicode(skip(text, at + 1), out) : 0;
    if (size == 0) return 0;
    at += size;
  }
  return 0;
}

bool message_split(Text body, Buf *name, Text *value) {
  if (!text_is_utf8(body.bytes, body.size)) return false;
  body = trim(body);
  if (body.size < 2 || body.bytes[0] != '[' || body.bytes[body.size - 1] != ']')
    return false;
  body = trim((Text){body.bytes + 1, body.size - 2});
  if (body.size < 1 || body.bytes[0] != '"') return false;
  uint32_t size = read_string(skip(body, 1), name);
  if (size == 0) return false;
  body = trim(skip(body, 1 + size));
  if (body.size < 2 || body.bytes[0] != ',') return false;
  *value = trim(skip(body, 1));
  return value->size > 0;
}

// --- What arrives ---

static bool tell(PerigeeClient *client, const Packet *packet, PerigeeEvent *event,
                 Text body) {
  Buf name = {0};
  Text data = body;
  event->number = packet->type;
  bool is_good = packet->type != 0 || message_split(body, &name, &data);
  if (is_good) {
    EventParts parts = {.name = {name.data, name.size},
                        .data = {data.bytes, data.size}};
    events_push(&client->events, event, &parts);
  }
  buf_deinit(&name);
  return is_good || take_malformed(client, "a message that is no [\"name\", value]");
}

static bool take_answer(PerigeeClient *client, const Packet *packet, Text body) {
  Request *request = request_find(client, packet->ref);
  if (!request || request->kind != REQUEST_ASK) return true;  // late
  PerigeeEvent event = {.type = PERIGEE_ANSWER, .request = request->number};
  request_free(request);
  return tell(client, packet, &event, body);
}

bool take_message(PerigeeClient *client, const Packet *packet) {
  uint32_t id;
  Text body;
  if (control_read_room_data(packet, &id, &body) != 0)
    return take_malformed(client, "a message without a room");
  if (packet->flags & PACKET_RESPONSE) return take_answer(client, packet, body);
  const Room *room = rooms_find_id(&client->rooms, id);
  PerigeeEvent event = {.type = PERIGEE_MESSAGE, .room = room ? room->number : 0};
  if (packet->flags & PACKET_REQUEST) {
    event.type = PERIGEE_QUESTION;
    event.is_question = 1;
    event.question = (PerigeeQuestion){.session = client->session.count,
                                       .room = event.room,
                                       .channel = CHANNEL_MESSAGE,
                                       .number = packet->type,
                                       .ref = packet->ref};
  } else if (id != 0 && !room) {
    return true;  // it was on its way when the room was left
  }
  return tell(client, packet, &event, body);
}

// --- What is sent ---

// Begins a message about a room, 0: none. A negative PerigeeCode, or 0.
static int begin(PerigeeClient *client, uint32_t number, Buf **payload) {
  const Room *room = rooms_find(&client->rooms, number);
  if (client->state >= PERIGEE_STATE_CLOSING) return PERIGEE_OVER;
  if (number != 0 && (!room || !room->is_joined)) return PERIGEE_NOT_JOINED;
  *payload = packet_begin(client);
  buf_u32(*payload, room ? room->id : 0);
  return 0;
}

static Packet message(uint16_t number) {
  return (Packet){.channel = CHANNEL_MESSAGE, .type = number};
}

static bool is_name(const char *name) { return name && *name; }

int perigee_send(PerigeeClient *client, uint32_t room, const char *name,
                 const char *json, uint32_t flags) {
  Buf *payload;
  if (!is_name(name)) return PERIGEE_BAD_ARGUMENT;
  int code = begin(client, room, &payload);
  if (code != 0) return code;
  message_body(payload, name, json);
  return packet_send(client, message(0), flags);
}

int perigee_send_bytes(PerigeeClient *client, uint32_t room, uint16_t number,
                       const void *data, size_t size, uint32_t flags) {
  Buf *payload;
  if (number == 0) return PERIGEE_BAD_ARGUMENT;
  int code = begin(client, room, &payload);
  if (code != 0) return code;
  buf_append(payload, data, size);
  return packet_send(client, message(number), flags);
}

int perigee_ask(PerigeeClient *client, uint32_t room, const char *name,
                const char *json, uint32_t timeout_ms) {
  Buf *payload;
  if (!is_name(name)) return PERIGEE_BAD_ARGUMENT;
  int code = begin(client, room, &payload);
  if (code != 0) return code;
  message_body(payload, name, json);
  return packet_ask(client, message(0), request_new(client, REQUEST_ASK, timeout_ms));
}

int perigee_ask_bytes(PerigeeClient *client, uint32_t room, uint16_t number,
                      const void *data, size_t size, uint32_t timeout_ms) {
  Buf *payload;
  if (number == 0) return PERIGEE_BAD_ARGUMENT;
  int code = begin(client, room, &payload);
  if (code != 0) return code;
  buf_append(payload, data, size);
  return packet_ask(client, message(number),
                    request_new(client, REQUEST_ASK, timeout_ms));
}

// The answer to a message of a room that was left meanwhile is about none.
static int begin_answer(PerigeeClient *client, const PerigeeQuestion *question,
                        Buf **payload) {
  const Room *room = rooms_find(&client->rooms, question->room);
  if (question->session != client->session.count) return PERIGEE_OVER;
  *payload = packet_begin(client);
  if (question->channel == CHANNEL_MESSAGE)
    buf_u32(*payload, room && room->is_joined ? room->id : 0);
  else if (channel_is_served(client, question->channel))
    buf_u32(*payload, question->peer);
  return 0;
}

static Packet answer_to(const PerigeeQuestion *question) {
  return (Packet){.channel = question->channel,
                  .type = question->number,
                  .flags = PACKET_RESPONSE,
                  .ref = question->ref};
}

int perigee_answer(PerigeeClient *client, const PerigeeQuestion *question,
                   const char *name, const char *json) {
  Buf *payload;
  if (!is_name(name) || question->channel != CHANNEL_MESSAGE || question->number != 0)
    return PERIGEE_BAD_ARGUMENT;
  int code = begin_answer(client, question, &payload);
  if (code != 0) return code;
  message_body(payload, name, json);
  return packet_send(client, answer_to(question), 0);
}

int perigee_answer_bytes(PerigeeClient *client, const PerigeeQuestion *question,
                         const void *data, size_t size) {
  Buf *payload;
  if (question->channel == CHANNEL_MESSAGE && question->number == 0)
    return PERIGEE_BAD_ARGUMENT;
  int code = begin_answer(client, question, &payload);
  if (code != 0) return code;
  buf_append(payload, data, size);
  return packet_send(client, answer_to(question), 0);
}

int perigee_relay(PerigeeClient *client, uint32_t room, const void *data, size_t size,
                  uint32_t flags) {
  Buf *payload;
  if (room == 0) return PERIGEE_NOT_JOINED;
  int code = begin(client, room, &payload);
  if (code != 0) return code;
  buf_append(payload, data, size);
  return packet_send(client, (Packet){.type = CONTROL_BROADCAST}, flags);
}
