// Handles the server's control packets. Fields are in the order of docs/protocol.md.
// Bytes behind the known fields are ignored, because a later version of the protocol
// may have more fields.
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"
#include "wire/json.h"

bool take_malformed(PerigeeClient *client, const char *what) {
  Buf text = {0};
  buf_printf(&text, "the server sent %s", what);
  link_fail(client, PERIGEE_PROTOCOL, (const char *)text.data, text.size);
  buf_deinit(&text);
  return false;
}

static bool take_short(PerigeeClient *client) {
  return take_malformed(client, "a packet that is too short");
}

static Reader payload_of(const Packet *packet) {
  return reader_of(packet->payload, packet->length);
}

// --- WELCOME ---

typedef struct Greeting {
  uint16_t version;
  uint32_t peer;
  const uint8_t *session;
  const uint8_t *token;
  uint64_t server_time_us;
  uint32_t max_payload;
  uint32_t ping_interval_ms;
  uint16_t tick_rate;
  uint8_t resumed;  // WelcomeResumed
  uint32_t received;
  uint16_t udp_port;
  const uint8_t *udp_key;
} Greeting;

static bool read_welcome(const Packet *packet, Greeting *greeting) {
  Reader reader = payload_of(packet);
  greeting->version = reader_u16(&reader);
  greeting->peer = reader_u32(&reader);
  greeting->session = reader_bytes(&reader, UUID_SIZE);
  greeting->token = reader_bytes(&reader, UUID_SIZE);
  greeting->server_time_us = reader_u64(&reader);
  greeting->max_payload = reader_u32(&reader);
  greeting->ping_interval_ms = reader_u32(&reader);
  greeting->tick_rate = reader_u16(&reader);
  greeting->resumed = reader_u8(&reader);
  if (greeting->resumed > WELCOME_RESTORED) greeting->resumed = WELCOME_NEW;
  greeting->received = reader_u32(&reader);
  greeting->udp_port = reader_u16(&reader);
  greeting->udp_key = reader_bytes(&reader, UDP_KEY_SIZE);
  return !reader.failed;
}

static void write_uuid(char *out, const uint8_t *bytes) {
  for (int i = 0; i < UUID_SIZE; i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10) *out++ = '-';
    snprintf(out, 3, "%02x", bytes[i]);
    out += 2;
  }
}

static void keep_welcome(PerigeeClient *client, const Greeting *greeting) {
  Session *session = &client->session;
  const char *said = client->options.name;
  if (greeting->resumed == WELCOME_NEW) session_set_name(session, said, strlen(said));
  session->peer = greeting->peer;
  write_uuid(session->text, greeting->session);
  memcpy(session->token, greeting->token, UUID_SIZE);
  session->server_time_us = greeting->server_time_us;
  session->max_payload = greeting->max_payload;
  session->ping_interval_ms = greeting->ping_interval_ms;
  session->tick_rate = greeting->tick_rate;
}

static void begin_session(PerigeeClient *client) {
  client_push(client, &(PerigeeEvent){.type = PERIGEE_CONNECTED});
  kept_send(client);  // sends the packets of calls made before WELCOME
  if (!session_is_resumable(&client->session)) reliable_deinit(&client->session.stream);
}

// Continues the session. If `is_restored`, the server has only durable rooms of it, and
// none of its packets.
static void resume_session(PerigeeClient *client, bool is_restored) {
  Rooms *rooms = &client->rooms;
  PerigeeEvent event = {.type = is_restored ? PERIGEE_RESTORED : PERIGEE_RESUMED,
                        .time_us = (client_now_ms(client) - client->lost_ms) * 1000};
  for (uint32_t i = 0; i < rooms->count; i++)
    rooms->list[i]->is_unconfirmed = rooms->list[i]->is_joined;
  if (is_restored) event.count = client_drop_stream(client, "the server has restarted");
  ack_send(client);
  if (!is_restored) event.count = kept_send(client);
  if (is_restored) channels_open_again(client);
  client_push(client, &event);
  for (uint32_t i = 0; i < rooms->count; i++) {
    if (rooms->list[i]->match) match_resume(rooms->list[i]->match);
  }
}

static bool take_welcome(PerigeeClient *client, const Packet *packet) {
  Greeting greeting;
  bool was_resumable = session_is_resumable(&client->session);
  if (!read_welcome(packet, &greeting)) return take_short(client);
  if (client->link.is_welcome) return take_malformed(client, "a second welcome");
  if (greeting.version != PROTOCOL_VERSION)
    return take_malformed(client, "another version of the protocol");
  if (greeting.resumed != WELCOME_NEW && !was_resumable)
    return take_malformed(client, "a session that was never begun");
  uint32_t acked = client->session.stream.acked;
  bool is_resumed = greeting.resumed == WELCOME_RESUMED;
  if (is_resumed && reliable_ack(&client->session.stream, greeting.received) != 0)
    return take_malformed(client, "a count of packets that were never sent");
  keep_welcome(client, &greeting);
  bool is_first = client->state == PERIGEE_STATE_CONNECTING;
  client->state = PERIGEE_STATE_OPEN;
  link_welcomed(client);
  if (is_first)
    begin_session(client);
  else if (greeting.resumed != WELCOME_NEW)
    resume_session(client, greeting.resumed == WELCOME_RESTORED);
  else
    client_lose_session(client);
  if (is_resumed) requests_synced(client, greeting.received - acked);
  link_udp_attach(client, greeting.udp_port, greeting.udp_key);
  return true;
}

// --- Keepalive and counts ---

static bool take_ping(PerigeeClient *client, const Packet *packet) {
  Reader reader = payload_of(packet);
  uint64_t value = reader_u64(&reader);
  if (reader.failed) return take_short(client);
  // Sends no answers to a server that does not read them.
  if (link_is_clogged(&client->link)) return true;
  buf_u64(packet_begin(client), value);
  control_send(client, CONTROL_PONG);
  return true;
}

static bool take_pong(PerigeeClient *client, const Packet *packet) {
  Reader reader = payload_of(packet);
  uint64_t value = reader_u64(&reader);
  if (reader.failed) return take_short(client);
  if (value == client->beat_ping && value != 0) {
    client->latency_us = (int64_t)(client->now_us - client->beat_ping_us);
    client->beat_ping = 0;
  }
  Request *request = request_find_ping(client, value);
  if (!request) return true;
  client->latency_us = (int64_t)(client->now_us - request->start_us);
  PerigeeEvent event = {.type = request->is_sync ? PERIGEE_SYNCED : PERIGEE_PONG,
                        .request = request->number};
  if (!request->is_sync) event.time_us = (uint64_t)client->latency_us;
  client_push(client, &event);
  request_free(request);
  return true;
}

static bool take_ack(PerigeeClient *client, const Packet *packet) {
  Reader reader = payload_of(packet);
  uint32_t count = reader_u32(&reader);
  if (reader.failed) return take_short(client);
  Reliable *stream = &client->session.stream;
  if (session_is_resumable(&client->session)) {
    uint32_t news = count - stream->acked;
    if (reliable_ack(stream, count) != 0)
      return take_malformed(client, "a count of packets that were never sent");
    requests_synced(client, news);
  }
  rooms_confirmed(client);
  return true;
}

// --- Errors and the end ---

typedef struct Reason {
  uint16_t code;
  Text text;
  uint16_t retry_s;  // pause in REJECTED or CLOSING with PERIGEE_UNAVAILABLE
} Reason;

static bool read_reason(const Packet *packet, Reason *reason) {
  Reader reader = payload_of(packet);
  *reason = (Reason){.code = reader_u16(&reader)};
  reason->text = reader_str16(&reader);
  if (reason->code == PERIGEE_UNAVAILABLE && packet->type != CONTROL_ERROR)
    reason->retry_s = reader_u16(&reader);
  return !reader.failed && text_is_utf8(reason->text.bytes, reason->text.size);
}

static bool take_error(PerigeeClient *client, const Packet *packet) {
  Reason reason;
  if (!read_reason(packet, &reason))
    return take_malformed(client, "an error that cannot be read");
  Text text = reason.text;
  if (packet->flags & PACKET_RESPONSE) {
    // Ignores an error for a request that has already ended.
    Request *request = request_find(client, packet->ref);
    if (request) request_fail(request, reason.code, text.bytes, text.size);
    return true;
  }
  if (!client->link.is_welcome) {  // the answer to SIGN_IN
    link_fail(client, reason.code, text.bytes, text.size);
    return true;
  }
  PerigeeEvent event = {.type = PERIGEE_ERROR, .code = reason.code};
  client_push_text(client, &event, text.bytes, text.size);
  return true;
}

static bool read_fault(const Packet *packet, Fault *fault) {
  Reader reader = payload_of(packet);
  fault->code = reader_str8(&reader);
  fault->json = (Text){(const char *)reader.at, (uint32_t)reader_left(&reader)};
  return !reader.failed && fault->code.size > 0 &&
         text_is_utf8(fault->code.bytes, fault->code.size) &&
         !memchr(fault->code.bytes, 0, fault->code.size) &&
         json_is_value(json_trim(fault->json));
}

static void report_fault(PerigeeClient *client, const Packet *packet,
                         const EventParts *fault) {
  bool is_answer = packet->flags & PACKET_RESPONSE;
  Request *request = is_answer ? request_find(client, packet->ref) : NULL;
  if (request)
    request_fault(request, fault);
  else if (!is_answer)
    events_add(&client->events,
               &(PerigeeEvent){.type = PERIGEE_ERROR, .code = PERIGEE_FAULT}, fault);
}

static bool take_fault(PerigeeClient *client, const Packet *packet) {
  Fault fault;
  if (!read_fault(packet, &fault))
    return take_malformed(client, "a fault that cannot be read");
  Buf text = {0};  // text such as "Cheater: {...}"
  buf_append(&text, fault.code.bytes, fault.code.size);
  if (!text_equals(fault.json, text_from("null"))) {
    buf_append(&text, ": ", 2);
    buf_append(&text, fault.json.bytes, fault.json.size);
  }
  EventParts parts = {.name = {fault.code.bytes, fault.code.size},
                      .text = {text.data, text.size},
                      .data = {fault.json.bytes, fault.json.size}};
  report_fault(client, packet, &parts);
  buf_deinit(&text);
  return true;
}

// Handles REJECTED or CLOSING. No packet follows them.
static bool take_end(PerigeeClient *client, const Packet *packet) {
  Reason reason;
  if (!read_reason(packet, &reason))
    return take_malformed(client, "a reason that cannot be read");
  client->link.retry_s = reason.retry_s;
  link_fail(client, reason.code, reason.text.bytes, reason.text.size);
  return true;
}

static bool take_redirect(PerigeeClient *client, const Packet *packet) {
  Reader reader = payload_of(packet);
  Text host = reader_str8(&reader);
  uint16_t port = reader_u16(&reader);
  if (reader.failed || !text_is_utf8(host.bytes, host.size)) return take_short(client);
  PerigeeEvent event = {.type = PERIGEE_REDIRECT, .number = port};
  events_add(&client->events, &event, &(EventParts){.name = {host.bytes, host.size}});
  return true;
}

// Keeps the token of SIGNED_IN, for HELLO now or for the next one.
static bool keep_token(PerigeeClient *client, Text json) {
  Text key, value, wanted = {"\"token\"", 7};
  Buf token = {0};
  bool is_good = json_is_value(json) && json_trim(json).bytes[0] == '{';
  for (uint32_t at = 0; is_good && json_next(json_trim(json), &at, &key, &value);)
    if (text_equals(key, wanted)) {
      is_good = json_read_text(value, &token) && token.size <= UINT16_MAX;
      buf_u8(&token, 0);
      mem_free(client->options.token);
      client->options.token = mem_strdup(is_good ? (const char *)token.data : "");
    }
  buf_deinit(&token);
  return is_good;
}

static bool take_signed_in(PerigeeClient *client, const Packet *packet) {
  PerigeeEvent event = {.type = PERIGEE_SIGNED_IN};
  Text json = {(const char *)packet->payload, packet->length};
  if (!keep_token(client, json))
    return take_malformed(client, "a sign-in that cannot be read");
  if (packet->flags & PACKET_RESPONSE) {
    Request *request = request_answered(client, packet, REQUEST_SIGN_IN);
    if (!request) return true;
    event.request = request->number;
    request_free(request);
  }
  events_add(&client->events, &event,
             &(EventParts){.data = {packet->payload, packet->length}});
  if (client->link.is_welcome) return true;
  mem_free(client->options.sign_in);
  client->options.sign_in = NULL;
  hello_send(client);
  return true;
}

// --- The table of packets ---

typedef bool Take(PerigeeClient *client, const Packet *packet);

// All other types are from another version, or are for web pages.
static Take *const TAKES[] = {
    [CONTROL_PING] = take_ping,
    [CONTROL_PONG] = take_pong,
    [CONTROL_ACK] = take_ack,
    [CONTROL_WELCOME] = take_welcome,
    [CONTROL_JOINED] = take_joined,
    [CONTROL_LEFT] = take_left,
    [CONTROL_RELAYED] = take_relayed,
    [CONTROL_PEER_JOINED] = take_peer_joined,
    [CONTROL_PEER_RENAMED] = take_peer_renamed,
    [CONTROL_PEER_LEFT] = take_peer_left,
    [CONTROL_ERROR] = take_error,
    [CONTROL_FAULT] = take_fault,
    [CONTROL_REJECTED] = take_end,
    [CONTROL_CLOSING] = take_end,
    [CONTROL_CHANNEL_OPENED] = take_channel_opened,
    [CONTROL_TOOL_ADD] = take_tool,
    [CONTROL_TOOL_REMOVE] = take_tool,
    [CONTROL_ROOMS] = take_rooms,
    [CONTROL_ROOMS_META] = take_rooms_found,
    [CONTROL_SIGNED_IN] = take_signed_in,
    [CONTROL_REDIRECT] = take_redirect,
};

static bool take_control(PerigeeClient *client, const Packet *packet) {
  bool is_known = packet->type < sizeof TAKES / sizeof *TAKES && TAKES[packet->type];
  return !is_known || TAKES[packet->type](client, packet);
}

static bool comes_before_welcome(const Packet *packet) {
  uint16_t type = packet->type;
  return packet->channel == CHANNEL_CONTROL &&
         (type == CONTROL_WELCOME || type == CONTROL_REJECTED ||
          type == CONTROL_CLOSING || type == CONTROL_SIGNED_IN ||
          type == CONTROL_ERROR || type == CONTROL_PING);
}

bool packet_take(PerigeeClient *client, const Packet *packet) {
  if (client->link.is_welcome) {
    if (packet->flags & PACKET_RELIABLE)
      link_acknowledge(client, PACKET_HEADER_SIZE + packet->length);
  } else if (!comes_before_welcome(packet)) {
    return take_malformed(client, "a packet before its welcome");
  }
  if (packet->channel == CHANNEL_CONTROL) return take_control(client, packet);
  if (packet->channel == CHANNEL_MESSAGE) return take_message(client, packet);
  return take_packet(client, packet);
}
