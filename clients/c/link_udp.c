// What a client does with its datagrams: alone they are its connection, beside a stream they carry
// what may be lost.
#include <string.h>

#include "internal.h"

enum { TURN_MAX = 256 };  // datagrams taken in one turn, so that a turn ends

bool link_is_alone(const PerigeeClient *client) {
  return client->options.transport == PERIGEE_UDP;
}

static void fail(PerigeeClient *client, int code, const char *text) {
  link_fail(client, code, text, strlen(text));
}

bool link_udp_open(PerigeeClient *client, const struct addrinfo *addresses) {
  return datagrams_open(&client->datagrams, addresses, client->options.protocol_hash,
                        clock_us());
}

void link_udp_attach(PerigeeClient *client, uint16_t port, const uint8_t *key) {
  static const uint8_t NONE[UDP_KEY_SIZE];
  if (client->options.transport != PERIGEE_TCP_AND_UDP || port == 0 ||
      memcmp(key, NONE, sizeof NONE) == 0)
    return;
  Attachment attachment = {.hash = client->options.protocol_hash,
                           .peer = client->session.peer,
                           .port = port,
                           .key = key};
  datagrams_attach(&client->datagrams, client->link.socket.fd, &attachment, clock_us());
}

// Tells when datagrams begin to pass, and when they do no more.
static void watch(PerigeeClient *client) {
  bool passes =
      client->datagrams.is_attached && datagrams_pass(&client->datagrams, clock_us());
  if (passes == client->has_udp) return;
  client->has_udp = passes;
  PerigeeEvent event = {.type = passes ? PERIGEE_UDP_UP : PERIGEE_UDP_DOWN};
  client_tell(client, &event);
}

static void give_up(PerigeeClient *client) {
  datagrams_close(&client->datagrams, PERIGEE_CONNECTION_CLOSED, clock_us());
  watch(client);
}

void link_udp_deinit(PerigeeClient *client) {
  const Link *link = &client->link;
  bool is_over = client->state >= PERIGEE_STATE_CLOSING;
  // Anything else is a line that was lost: the session waits for its next connection.
  int code = is_over || client->datagrams.is_attached ? PERIGEE_CONNECTION_CLOSED
                                                      : PERIGEE_CONNECTION_RESET;
  if (link->is_dead && link->code == PERIGEE_PROTOCOL) code = PERIGEE_PROTOCOL;
  datagrams_close(&client->datagrams, code, clock_us());
  client->has_udp = false;
}

// --- Receiving ---

// The server has ended it; alone, what it said before has been taken.
static void end(PerigeeClient *client, int code) {
  if (link_is_alone(client))
    fail(client, code, "the server closed the connection");
  else
    give_up(client);
}

static void take_arrivals(PerigeeClient *client) {
  Link *link = &client->link;
  UdpArrival arrival;
  while (!link->is_dead && client->datagrams.phase == DATAGRAMS_ON &&
         udp_link_next(client->datagrams.link, &arrival)) {
    switch (arrival.kind) {
      case UDP_ARRIVAL_PACKET:
        // It may be faster than what it is about.
        if (link->is_welcome && client->state != PERIGEE_STATE_CLOSING)
          packet_take(client, &arrival.packet);
        break;
      case UDP_ARRIVAL_STREAM:
        buf_append(&link->in, arrival.bytes, arrival.size);
        link_take_packets(client);
        break;
      case UDP_ARRIVAL_CLOSE:
        end(client, arrival.code);
        break;
      case UDP_ARRIVAL_PATH_RESPONSE:
        break;  // clients ask for none
    }
  }
}

static void take_refusal(PerigeeClient *client) {
  const Datagrams *datagrams = &client->datagrams;
  if (!link_is_alone(client)) {
    give_up(client);
    return;
  }
  client->link.retry_s = datagrams->retry_s;
  link_fail(client, (int)datagrams->code, datagrams->text, datagrams->text_size);
}

static void take_news(PerigeeClient *client, DatagramsNews news) {
  bool is_alone = link_is_alone(client);
  switch (news) {
    case DATAGRAMS_TAKEN:
      if (is_alone) client->link.heard_ms = clock_ms();
      take_arrivals(client);
      break;
    case DATAGRAMS_BEGUN:
      if (is_alone) hello_send(client);
      break;
    case DATAGRAMS_REFUSED:
      take_refusal(client);
      break;
    case DATAGRAMS_UNREACHABLE:
      if (is_alone)
        fail(client, PERIGEE_UNREACHABLE,
             "nobody listens there for UDP; is the server running there?");
      else
        give_up(client);
      break;
    case DATAGRAMS_BROKEN:
      if (is_alone)
        take_malformed(client, "a datagram that breaks the protocol");
      else
        give_up(client);
      break;
    case DATAGRAMS_NOTHING:
    case DATAGRAMS_IGNORED:
      break;
  }
}

void link_udp_receive(PerigeeClient *client) {
  Datagrams *datagrams = &client->datagrams;
  Link *link = &client->link;
  for (int i = 0; i < TURN_MAX; i++) {
    if (link->is_dead || datagrams->phase == DATAGRAMS_OFF) return;
    if (events_are_full(&client->events)) break;
    uint64_t now_us = clock_us();
    DatagramsNews news = datagrams_receive(datagrams, now_us);
    if (news == DATAGRAMS_NOTHING) return;
    take_news(client, news);
    // An acknowledgement tells of so many datagrams only.
    if (datagrams->phase == DATAGRAMS_ON && datagrams_due_us(datagrams) <= now_us)
      datagrams_send(datagrams, now_us);
  }
  link->has_more = true;
}

// --- Sending ---

size_t link_udp_stream_room(const PerigeeClient *client) {
  const Datagrams *datagrams = &client->datagrams;
  return datagrams->phase == DATAGRAMS_ON ? udp_link_stream_room(datagrams->link) : 0;
}

size_t link_udp_stream_write(PerigeeClient *client, const uint8_t *bytes, size_t size) {
  if (client->datagrams.phase != DATAGRAMS_ON) return 0;
  return udp_link_stream_write(client->datagrams.link, bytes, size);
}

bool link_udp_take(PerigeeClient *client, const Packet *header) {
  Datagrams *datagrams = &client->datagrams;
  // Alone there is no other way than to wait until it passes.
  bool passes = datagrams->phase == DATAGRAMS_ON &&
                (link_is_alone(client) || datagrams_pass(datagrams, clock_us()));
  return passes &&
         datagrams_take(datagrams, header, client->scratch.data, client->scratch.size);
}

void link_udp_send(PerigeeClient *client) {
  bool goes_on = datagrams_send(&client->datagrams, clock_us());
  if (!goes_on && !link_is_alone(client)) give_up(client);
  watch(client);
}
