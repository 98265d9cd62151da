// Messages of the game, and requests with messages. A message is ["name", value] in
// JSON, or bytes encoded with the schema. The library checks that a received value is
// valid JSON; the program gets its text.
#include <string.h>

#include "internal.h"
#include "matchmaking.h"
#include "wire/json.h"
#include "wire/message.h"

// --- Receiving ---

static void put_body(Buf *payload, const char *name, const char *json) {
  message_body(payload, (Text){name, (uint32_t)strlen(name)},
               (Text){json, json == NULL ? 0 : (uint32_t)strlen(json)});
}

static bool push(PerigeeClient *client, const Packet *packet, PerigeeEvent *event,
                 Text body) {
  Buf name = {0}, text = {0};
  Text data = body;
  event->number = packet->type;
  bool is_good =
      packet->type != 0 || (message_split(body, &name, &data) && json_is_value(data));
  if (is_good) {
    EventParts parts = {.name = {name.data, name.size},
                        .data = {data.bytes, data.size}};
    if (event->type == PERIGEE_MESSAGE && packet->type == 0)
      matchmaking_read(event, &parts, &text);
    events_add(&client->events, event, &parts);
  }
  buf_deinit(&name);
  buf_deinit(&text);
  return is_good || take_malformed(client, "a message that is no [\"name\", value]");
}

static bool take_answer(PerigeeClient *client, const Packet *packet, Text body) {
  Request *request = request_find(client, packet->ref);
  if (!request || request->kind != REQUEST_ASK) return true;  // the answer is late
  PerigeeEvent event = {.type = PERIGEE_ANSWER, .request = request->number};
  request_free(request);
  return push(client, packet, &event, body);
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
    return true;  // the client has left the room
  }
  return push(client, packet, &event, body);
}

// --- Sending ---

// Begins a message about a room (0: none). Returns 0 or a negative PerigeeCode.
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
  put_body(payload, name, json);
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
  put_body(payload, name, json);
  return packet_request(client, message(0),
                        request_new(client, REQUEST_ASK, timeout_ms));
}

int perigee_ask_bytes(PerigeeClient *client, uint32_t room, uint16_t number,
                      const void *data, size_t size, uint32_t timeout_ms) {
  Buf *payload;
  if (number == 0) return PERIGEE_BAD_ARGUMENT;
  int code = begin(client, room, &payload);
  if (code != 0) return code;
  buf_append(payload, data, size);
  return packet_request(client, message(number),
                        request_new(client, REQUEST_ASK, timeout_ms));
}

// Begins an answer. The answer names no room if the client has left the question's
// room.
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
  put_body(payload, name, json);
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
  int code = begin(client, room, &payload);
  if (code != 0) return code;
  buf_append(payload, data, size);
  return packet_send(client, (Packet){.type = CONTROL_BROADCAST}, flags);
}
