// Sending: composes packets, keeps RELIABLE ones until they are acknowledged, and
// passes them to the connection. messages.c composes messages.
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

enum { PAYLOAD_MAX = 64 << 20 };  // limit before WELCOME

// --- Packets ---

Buf *packet_begin(PerigeeClient *client) {
  Buf *scratch = &client->scratch;
  scratch->size = 0;
  buf_reserve(scratch, PACKET_HEADER_SIZE);
  scratch->size = PACKET_HEADER_SIZE;
  return scratch;
}

static uint8_t priority_of(uint32_t flags) {
  if (flags & PERIGEE_CRITICAL) return PRIORITY_CRITICAL;
  if (flags & PERIGEE_HIGH) return PRIORITY_HIGH;
  return flags & PERIGEE_LOW ? PRIORITY_LOW : PRIORITY_NORMAL;
}

// Keeps the packet in `scratch` until the server acknowledges it.
static int keep(PerigeeClient *client) {
  const Buf *bytes = &client->scratch;
  Blob *blob = blob_new((uint32_t)bytes->size, &client->blob_bytes);
  memcpy(blob->bytes, bytes->data, bytes->size);
  bool is_kept = reliable_push(&client->session.stream, blob, KEPT_MAX_BYTES);
  blob_unref(blob);
  return is_kept ? 0 : PERIGEE_QUEUE_FULL;
}

static int send_reliable(PerigeeClient *client) {
  bool is_open = client->state == PERIGEE_STATE_OPEN;
  bool is_kept = !is_open || session_is_resumable(&client->session);
  if (is_open && link_is_clogged(&client->link)) return PERIGEE_QUEUE_FULL;
  if (is_kept && keep(client) != 0) return PERIGEE_QUEUE_FULL;
  if (is_open) link_write(client, client->scratch.data, client->scratch.size);
  return 0;
}

static int send_unreliable(PerigeeClient *client, const Packet *header) {
  bool has_room = link_unsent(&client->link) <= UNRELIABLE_MAX_BYTES;
  if (client->state == PERIGEE_STATE_OPEN && !link_udp_take(client, header) && has_room)
    link_write(client, client->scratch.data, client->scratch.size);
  return 0;
}

int packet_send(PerigeeClient *client, Packet header, uint32_t flags) {
  if (client->state >= PERIGEE_STATE_CLOSING) return PERIGEE_OVER;
  Buf *bytes = &client->scratch;
  size_t length = bytes->size - PACKET_HEADER_SIZE;
  uint32_t max = client->session.max_payload;
  if (length > (max ? max : PAYLOAD_MAX)) return PERIGEE_TOO_LARGE;
  bool is_reliable = !(flags & PERIGEE_UNRELIABLE);
  header.length = (uint32_t)length;
  header.priority = priority_of(flags);
  if (is_reliable) header.flags |= PACKET_RELIABLE;
  packet_write_header(bytes->data, &header);
  return is_reliable ? send_reliable(client) : send_unreliable(client, &header);
}

int packet_request(PerigeeClient *client, Packet header, Request *request) {
  header.flags |= PACKET_REQUEST;
  header.ref = request->ref;
  request->channel = header.channel;
  int code = client->requests.count > REQUESTS_MAX ? PERIGEE_QUEUE_FULL
                                                   : packet_send(client, header, 0);
  if (code == 0) return (int)request->number;
  request_free(request);
  return code;
}

uint32_t kept_send(PerigeeClient *client) {
  const Reliable *stream = &client->session.stream;
  uint32_t count = reliable_waiting(stream);
  for (uint32_t i = 0; i < count; i++) {
    const Blob *packet = reliable_at(stream, i);
    link_write(client, packet->bytes, packet->size);
  }
  return count;
}

// --- Control packets outside of the stream ---

void control_send(PerigeeClient *client, ControlType type) {
  Buf *bytes = &client->scratch;
  Packet header = {
      .type = (uint16_t)type,
      .length = (uint32_t)(bytes->size - PACKET_HEADER_SIZE),
      // BYE must not overtake the packets before it.
      .priority = type == CONTROL_BYE ? PRIORITY_NORMAL : PRIORITY_CRITICAL};
  packet_write_header(bytes->data, &header);
  link_write(client, bytes->data, bytes->size);
}

void hello_send(PerigeeClient *client) {
  const Options *options = &client->options;
  if (options->sign_in) {
    buf_append(packet_begin(client), options->sign_in, strlen(options->sign_in));
    control_send(client, CONTROL_SIGN_IN);
    return;
  }
  const Session *session = &client->session;
  Buf *payload = packet_begin(client);
  buf_u16(payload, PROTOCOL_VERSION);
  buf_u64(payload, options->protocol_hash);
  buf_str8(payload, options->name, strlen(options->name));
  const char *token = options->token ? options->token : "";
  buf_str16(payload, token, strlen(token));
  buf_append(payload, session->token, UUID_SIZE);
  buf_u32(payload, session_is_resumable(session) ? session->stream.received : 0);
  control_send(client, CONTROL_HELLO);
}

uint64_t ping_send(PerigeeClient *client) {
  buf_u64(packet_begin(client), ++client->last_ping);
  control_send(client, CONTROL_PING);
  return client->last_ping;
}

void ack_send(PerigeeClient *client) {
  timers_stop(&client->timers, &client->ack_timer);
  buf_u32(packet_begin(client), reliable_tell(&client->session.stream));
  control_send(client, CONTROL_ACK);
}

// --- Requests ---

static int join(PerigeeClient *client, Request *request, const char *name,
                const char *options) {
  Buf *payload = packet_begin(client);
  request->name = mem_strdup(name);
  buf_str8(payload, name, strlen(name));
  if (options) {
    request->options = mem_strdup(options);
    buf_append(payload, options, strlen(options));
  }
  uint16_t type = options ? CONTROL_JOIN_WITH : CONTROL_JOIN;
  return packet_request(client, (Packet){.type = type}, request);
}

int perigee_join_with(PerigeeClient *client, const char *name, const char *options,
                      uint32_t timeout_ms) {
  if (!name || !text_is_name(name, strlen(name))) return PERIGEE_BAD_ARGUMENT;
  Request *again = request_find_join(client, name, strlen(name));
  if (again && again->number == 0) {  // a new session joins the room again
    again->number = client->requests.last_number =
        client->requests.last_number % INT32_MAX + 1;
    return (int)again->number;
  }
  return join(client, request_new(client, REQUEST_JOIN, timeout_ms), name, options);
}

int perigee_join(PerigeeClient *client, const char *name, uint32_t timeout_ms) {
  return perigee_join_with(client, name, NULL, timeout_ms);
}

bool room_join_again(PerigeeClient *client, const Room *room) {
  Request *request = request_new(client, REQUEST_JOIN, 0);
  request->number = 0;
  request->room = room->number;
  return join(client, request, room->name, room->options) >= 0;
}

int perigee_leave(PerigeeClient *client, uint32_t number) {
  Room *room = rooms_find(&client->rooms, number);
  if (client->state >= PERIGEE_STATE_CLOSING) return PERIGEE_OVER;
  if (!room || !room->is_joined) return PERIGEE_NOT_JOINED;
  Request *request = request_new(client, REQUEST_LEAVE, 0);
  request->room = number;
  buf_u32(packet_begin(client), room->id);
  int code = packet_request(client, (Packet){.type = CONTROL_LEAVE}, request);
  if (code > 0) room->is_requested = false;
  return code;
}

int perigee_list_rooms(PerigeeClient *client, uint32_t timeout_ms) {
  packet_begin(client);
  return packet_request(client, (Packet){.type = CONTROL_ROOM_LIST},
                        request_new(client, REQUEST_LIST, timeout_ms));
}

int perigee_query_rooms(PerigeeClient *client, const char *query, uint32_t timeout_ms) {
  if (!query) return PERIGEE_BAD_ARGUMENT;
  buf_append(packet_begin(client), query, strlen(query));
  return packet_request(client, (Packet){.type = CONTROL_ROOM_QUERY},
                        request_new(client, REQUEST_QUERY, timeout_ms));
}

int perigee_sign_in(PerigeeClient *client, const char *json, uint32_t timeout_ms) {
  if (!json) return PERIGEE_BAD_ARGUMENT;
  buf_append(packet_begin(client), json, strlen(json));
  return packet_request(client, (Packet){.type = CONTROL_SIGN_IN},
                        request_new(client, REQUEST_SIGN_IN, timeout_ms));
}

int perigee_ping(PerigeeClient *client, uint32_t timeout_ms) {
  if (client->state >= PERIGEE_STATE_CLOSING) return PERIGEE_OVER;
  if (client->state != PERIGEE_STATE_OPEN) return PERIGEE_OFFLINE;
  if (requests_are_full(client)) return PERIGEE_QUEUE_FULL;
  Request *request = request_new(client, REQUEST_PING, timeout_ms);
  request->value = ping_send(client);
  return (int)request->number;
}

int perigee_sync(PerigeeClient *client, uint32_t timeout_ms) {
  bool is_open = client->state == PERIGEE_STATE_OPEN;
  if (client->state >= PERIGEE_STATE_CLOSING) return PERIGEE_OVER;
  if (is_open && !session_is_resumable(&client->session)) {
    // The server acknowledges no packets. But it handles packets in order, so the
    // answer to a ping confirms all earlier packets.
    int number = perigee_ping(client, timeout_ms);
    if (number > 0) request_find_ping(client, client->last_ping)->is_sync = true;
    return number;
  }
  if (requests_are_full(client)) return PERIGEE_QUEUE_FULL;
  Request *request = request_new(client, REQUEST_SYNC, timeout_ms);
  int number = (int)request->number;
  request->value = reliable_waiting(&client->session.stream);
  if (request->value == 0) requests_synced(client, 0);
  return number;
}
