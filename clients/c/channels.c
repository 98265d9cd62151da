// Packets on the game's channels, and the plugin channels that this client serves.
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "internal.h"

enum { CHANNEL_FIRST = 4 };  // lower numbers belong to the protocol

// Returns the pointer of the list that points to the channel with this id, or to NULL.
// Prefers an open channel: a channel that a new session requests again still has its
// previous id, and another channel may have that id by now.
static Channel **find(PerigeeClient *client, uint16_t id) {
  Channel **at = &client->channels;
  while (*at && ((*at)->id != id || !(*at)->is_open)) at = &(*at)->next;
  if (*at) return at;
  at = &client->channels;
  while (*at && (*at)->id != id) at = &(*at)->next;
  return at;
}

bool channel_is_served(const PerigeeClient *client, uint16_t id) {
  const Channel *channel = client->channels;
  while (channel && (channel->id != id || !channel->is_open)) channel = channel->next;
  return channel != NULL;
}

void channel_free(Channel **at) {
  Channel *channel = *at;
  *at = channel->next;
  tools_free(channel);
  mem_free(channel);
}

static void lose(PerigeeClient *client, Channel **at, int code, EventText text) {
  PerigeeEvent event = {
      .type = PERIGEE_CHANNEL_CLOSED, .channel = (*at)->id, .code = code};
  events_add(&client->events, &event,
             &(EventParts){.name = text_of((*at)->name), .text = text});
  channel_free(at);
}

void channels_end(PerigeeClient *client, int code) {
  while (client->channels) lose(client, &client->channels, code, (EventText){0});
}

// Returns the pointer of the list that points to the channel with this name, or to
// NULL. Finds only a channel that a new session requests again.
static Channel **find_requested(PerigeeClient *client, const char *name) {
  Channel **at = &client->channels;
  while (*at && ((*at)->is_open || strcmp((*at)->name, name) != 0)) at = &(*at)->next;
  return at;
}

void channel_refused(PerigeeClient *client, const char *name, int code,
                     EventText text) {
  Channel **at = find_requested(client, name);
  if (*at) lose(client, at, code, text);
}

// --- Receiving ---

static int send_close(PerigeeClient *client, uint16_t id) {
  buf_u16(packet_begin(client), id);
  return packet_send(client, (Packet){.type = CONTROL_CHANNEL_CLOSE}, 0);
}

static Channel *add_channel(PerigeeClient *client, Text name) {
  Channel *channel = mem_zalloc(sizeof *channel + name.size + 1);
  if (name.size > 0) memcpy(channel->name, name.bytes, name.size);
  channel->next = client->channels;
  client->channels = channel;
  return channel;
}

bool take_channel_opened(PerigeeClient *client, const Packet *packet) {
  Reader reader = reader_of(packet->payload, packet->length);
  uint16_t id = reader_u16(&reader);
  Text name = reader_str8(&reader);
  if (reader.failed || !text_is_utf8(name.bytes, name.size))
    return take_malformed(client, "a channel that cannot be read");
  Request *request = request_answered(client, packet, REQUEST_CHANNEL);
  uint32_t number = request ? request->number : 0;
  Channel *channel = number > 0 ? add_channel(client, name)
                     : request  ? *find_requested(client, request->name)
                                : NULL;
  if (request) request_free(request);
  if (!channel) {  // the request has timed out, or the channel was closed
    send_close(client, id);
    return true;
  }
  channel->id = id;
  channel->is_open = true;
  PerigeeEvent event = {
      .type = PERIGEE_CHANNEL_OPENED, .channel = id, .request = number};
  events_add(&client->events, &event, &(EventParts){.name = text_of(channel->name)});
  tools_offer_again(client, channel);
  return true;
}

static void push_packet(PerigeeClient *client, const Packet *packet, uint32_t peer,
                        EventText data) {
  PerigeeEvent event = {.type = PERIGEE_PACKET,
                        .channel = packet->channel,
                        .number = packet->type,
                        .peer = peer,
                        .is_question = (packet->flags & PACKET_REQUEST) != 0,
                        .is_reliable = (packet->flags & PACKET_RELIABLE) != 0};
  if (event.is_question)
    event.question = (PerigeeQuestion){.session = client->session.count,
                                       .peer = peer,
                                       .channel = packet->channel,
                                       .number = packet->type,
                                       .ref = packet->ref};
  events_add(&client->events, &event, &(EventParts){.data = data});
}

// Handles an answer. Ignores one that is late or answers no request.
static void take_answer(PerigeeClient *client, const Packet *packet, uint32_t peer,
                        EventText data) {
  Request *request = request_find(client, packet->ref);
  bool is_served = channel_is_served(client, packet->channel);
  RequestKind kind = is_served ? REQUEST_ASK_PEER : REQUEST_ASK_PACKET;
  if (!request || request->kind != kind || request->channel != packet->channel ||
      (is_served && request->value != peer))
    return;
  PerigeeEvent event = {.type = PERIGEE_ANSWER,
                        .request = request->number,
                        .channel = packet->channel,
                        .number = packet->type};
  request_free(request);
  events_add(&client->events, &event, &(EventParts){.data = data});
}

bool take_packet(PerigeeClient *client, const Packet *packet) {
  if (packet->channel == LOCKSTEP_CHANNEL) return take_lockstep(client, packet);
  EventText data = {packet->payload, packet->length};
  uint32_t peer = 0;
  if (channel_is_served(client, packet->channel)) {
    Reader reader = reader_of(packet->payload, packet->length);
    peer = reader_u32(&reader);
    if (reader.failed) return take_malformed(client, "a packet without a sender");
    data = (EventText){reader.at, reader_left(&reader)};
  }
  if (packet->flags & PACKET_RESPONSE)
    take_answer(client, packet, peer, data);
  else
    push_packet(client, packet, peer, data);
  return true;
}

// --- Sending ---

static bool is_foreign(const PerigeeClient *client, uint16_t channel) {
  return channel >= CHANNEL_FIRST && !channel_is_served(client, channel);
}

int perigee_send_packet(PerigeeClient *client, uint16_t channel, uint16_t number,
                        const void *data, size_t size, uint32_t flags) {
  if (!is_foreign(client, channel)) return PERIGEE_BAD_ARGUMENT;
  buf_append(packet_begin(client), data, size);
  return packet_send(client, (Packet){.channel = channel, .type = number}, flags);
}

int perigee_ask_packet(PerigeeClient *client, uint16_t channel, uint16_t number,
                       const void *data, size_t size, uint32_t timeout_ms) {
  if (!is_foreign(client, channel)) return PERIGEE_BAD_ARGUMENT;
  buf_append(packet_begin(client), data, size);
  return packet_request(client, (Packet){.channel = channel, .type = number},
                        request_new(client, REQUEST_ASK_PACKET, timeout_ms));
}

static int open_channel(PerigeeClient *client, Request *request, const char *name) {
  request->name = mem_strdup(name);
  buf_str8(packet_begin(client), name, strlen(name));
  return packet_request(client, (Packet){.type = CONTROL_CHANNEL_OPEN}, request);
}

int perigee_open_channel(PerigeeClient *client, const char *name, uint32_t timeout_ms) {
  if (!name || !text_is_name(name, strlen(name))) return PERIGEE_BAD_ARGUMENT;
  return open_channel(client, request_new(client, REQUEST_CHANNEL, timeout_ms), name);
}

void channels_open_again(PerigeeClient *client) {
  for (Channel **at = &client->channels; *at;) {
    Request *request = request_new(client, REQUEST_CHANNEL, 0);
    request->number = 0;
    (*at)->is_open = false;
    if (open_channel(client, request, (*at)->name) >= 0)
      at = &(*at)->next;
    else
      lose(client, at, PERIGEE_QUEUE_FULL, (EventText){0});
  }
}

int perigee_send_to(PerigeeClient *client, uint16_t channel, uint32_t peer,
                    uint16_t number, const void *data, size_t size, uint32_t flags) {
  if (!channel_is_served(client, channel)) return PERIGEE_BAD_ARGUMENT;
  Buf *payload = packet_begin(client);
  buf_u32(payload, peer);
  buf_append(payload, data, size);
  return packet_send(client, (Packet){.channel = channel, .type = number}, flags);
}

int perigee_ask_peer(PerigeeClient *client, uint16_t channel, uint32_t peer,
                     uint16_t number, const void *data, size_t size,
                     uint32_t timeout_ms) {
  if (!channel_is_served(client, channel)) return PERIGEE_BAD_ARGUMENT;
  Request *request = request_new(client, REQUEST_ASK_PEER, timeout_ms);
  request->value = peer;
  Buf *payload = packet_begin(client);
  buf_u32(payload, peer);
  buf_append(payload, data, size);
  return packet_request(client, (Packet){.channel = channel, .type = number}, request);
}

int perigee_close_channel(PerigeeClient *client, uint16_t channel) {
  Channel **at = find(client, channel);
  if (!*at) return PERIGEE_BAD_ARGUMENT;
  bool was_open = (*at)->is_open;
  channel_free(at);
  if (!was_open)
    return 0;  // take_channel_opened closes the channel when the new session
               // gets it
  requests_fail_channel(client, channel);
  return send_close(client, channel);
}
