// A client's use of its datagrams. With PERIGEE_UDP they are its connection; beside TCP
// they carry unreliable packets.
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "internal.h"

bool link_is_alone(const PerigeeClient *client) {
  return client->options.transport == PERIGEE_UDP;
}

bool link_udp_is_on(const PerigeeClient *client) {
  return client->datagrams && client->datagrams->phase == DATAGRAMS_ON;
}

bool link_udp_open(PerigeeClient *client) {
  datagrams_free(client->datagrams);
  client->datagrams =
      datagrams_new(NULL, client->options.protocol_hash, client->now_us);
  return client->datagrams != NULL;
}

// Reports that datagrams beside TCP do not get through.
static void report_down(PerigeeClient *client, int code, const char *text,
                        size_t size) {
  client->has_udp = false;
  PerigeeEvent event = {.type = PERIGEE_UDP_DOWN, .code = code};
  client_push_text(client, &event, text, size);
}

void link_udp_attach(PerigeeClient *client, uint16_t port, const uint8_t *key) {
  static const uint8_t NONE[UDP_KEY_SIZE];
  static const char NO_UDP[] = "the server has no UDP (udp_ports = 0)";
  if (client->options.transport != PERIGEE_TCP_AND_UDP) return;
  if (port == 0 || memcmp(key, NONE, sizeof NONE) == 0) {
    report_down(client, PERIGEE_UNSUPPORTED, NO_UDP, sizeof NO_UDP - 1);
    return;
  }
  Attachment attachment = {.hash = client->options.protocol_hash,
                           .peer = client->session.peer,
                           .port = port,
                           .key = key};
  datagrams_free(client->datagrams);
  client->datagrams = datagrams_new(&attachment, attachment.hash, client->now_us);
}

// Ends the use of datagrams; a last datagram may wait to be sent.
static void end(PerigeeClient *client, int code) {
  if (!client->datagrams || datagrams_end(client->datagrams, code)) return;
  datagrams_free(client->datagrams);
  client->datagrams = NULL;
}

void link_udp_deinit(PerigeeClient *client) {
  const Link *link = &client->link;
  bool is_over = client->state >= PERIGEE_STATE_CLOSING;
  // Without TCP, PERIGEE_CONNECTION_CLOSED tells the server to end the session. After any
  // other code, the server keeps the session for the next connection.
  int code = is_over || !link_is_alone(client) ? PERIGEE_CONNECTION_CLOSED
                                               : PERIGEE_CONNECTION_RESET;
  if (link->is_dead && link->code == PERIGEE_PROTOCOL) code = PERIGEE_PROTOCOL;
  end(client, code);
  client->has_udp = false;
}

// Ends datagrams beside TCP.
static void give_up(PerigeeClient *client, int code, const char *text, size_t size) {
  end(client, PERIGEE_CONNECTION_CLOSED);
  report_down(client, code, text, size);
}

static void give_up_useless(PerigeeClient *client) {
  static const char GONE[] = "nothing by UDP arrives any more";
  char text[80];
  int size = snprintf(text, sizeof text,
                      "no answer by UDP from port %u; a firewall may block it",
                      (unsigned)client->datagrams->port);
  if (link_udp_is_on(client))
    give_up(client, PERIGEE_PING_TIMEOUT, GONE, sizeof GONE - 1);
  else
    give_up(client, PERIGEE_TIMEOUT, text, (size_t)size);
}

void link_udp_refused(PerigeeClient *client) {
  char text[64];
  if (!client->datagrams || client->datagrams->phase != DATAGRAMS_REQUESTING) return;
  int size = snprintf(text, sizeof text, "nobody listens for UDP at port %u",
                      (unsigned)client->datagrams->port);
  give_up(client, PERIGEE_UNREACHABLE, text, (size_t)size);
}

void link_udp_settle(PerigeeClient *client) {
  static const char STUCK[] = "nothing by UDP arrives";
  const Datagrams *datagrams = client->datagrams;
  if (!datagrams || datagrams->phase == DATAGRAMS_ENDING || link_is_alone(client))
    return;
  bool passes = datagrams_pass(datagrams, client->now_us);
  if (datagrams_are_useless(datagrams, client->now_us)) {
    give_up_useless(client);
  } else if (passes && !client->has_udp) {
    client->has_udp = true;
    client_push(client, &(PerigeeEvent){.type = PERIGEE_UDP_UP});
  } else if (!passes && client->has_udp) {
    report_down(client, PERIGEE_TIMEOUT, STUCK, sizeof STUCK - 1);
  }
}

// --- Receiving ---

// Ends the use of datagrams; without TCP this ends the connection.
static void fail(PerigeeClient *client, int code, const char *text, size_t size) {
  if (link_is_alone(client))
    link_fail(client, code, text, size);
  else
    give_up(client, code, text, size);
}

static void take_arrivals(PerigeeClient *client) {
  static const char CLOSED[] = "the server closed the connection";
  const Link *link = &client->link;
  UdpArrival arrival;
  while (!link->is_dead && link_udp_is_on(client) &&
         udp_link_next(client->datagrams->link, &arrival)) {
    switch (arrival.kind) {
      case UDP_ARRIVAL_PACKET:
        client->datagram_packets_received++;
        client->events.by_udp = true;
        // Ignores a datagram that arrives before WELCOME.
        if (link->is_welcome && client->state != PERIGEE_STATE_CLOSING)
          packet_take(client, &arrival.packet);
        client->events.by_udp = false;
        break;
      case UDP_ARRIVAL_STREAM:
        link_take(client, arrival.bytes, arrival.size);
        break;
      case UDP_ARRIVAL_CLOSE:
        fail(client, arrival.code, CLOSED, sizeof CLOSED - 1);
        break;
      case UDP_ARRIVAL_PATH_RESPONSE:
        break;  // clients send no challenge
    }
  }
}

static void take_refusal(PerigeeClient *client, const UdpAnswer *refusal) {
  client->link.retry_s = link_is_alone(client) ? refusal->retry_s : 0;
  size_t size =
      text_is_utf8(refusal->text, refusal->text_size) ? refusal->text_size : 0;
  fail(client, (int)refusal->code, refusal->text, size);
}

void link_udp_receive(PerigeeClient *client, const uint8_t *datagram, size_t size) {
  uint8_t bytes[UDP_DATAGRAM_MAX + 1];
  UdpAnswer refusal;
  static const char BROKEN[] = "the server sent a datagram that breaks the protocol";
  if (!client->datagrams || size > sizeof bytes) return;
  memcpy(bytes, datagram, size);
  switch (datagrams_receive(client->datagrams, bytes, size, &refusal, client->now_us)) {
    case DATAGRAMS_TAKEN:
      if (link_is_alone(client)) client->link.heard_ms = client_now_ms(client);
      take_arrivals(client);
      break;
    case DATAGRAMS_BEGUN:
      if (link_is_alone(client)) hello_send(client);
      break;
    case DATAGRAMS_REFUSED:
      take_refusal(client, &refusal);
      break;
    case DATAGRAMS_BROKEN:
      fail(client, PERIGEE_PROTOCOL, BROKEN, sizeof BROKEN - 1);
      break;
    case DATAGRAMS_IGNORED:
      break;
  }
}

// --- Sending ---

bool link_udp_has_stream(const PerigeeClient *client) {
  return link_is_alone(client) && link_udp_is_on(client) &&
         link_unsent(&client->link) > 0 &&
         udp_link_stream_room(client->datagrams->link) > 0;
}

bool link_udp_take(PerigeeClient *client, const Packet *header) {
  Datagrams *datagrams = client->datagrams;
  // Without TCP, uses datagrams even while none get through: no other way exists.
  bool passes = link_udp_is_on(client) &&
                (link_is_alone(client) || datagrams_pass(datagrams, client->now_us));
  bool is_taken = passes && datagrams_send(datagrams, header, client->scratch.data,
                                           client->scratch.size);
  client->datagram_packets_sent += is_taken;
  return is_taken;
}

size_t link_udp_produce(PerigeeClient *client, uint8_t *out, uint16_t *port) {
  Datagrams *datagrams = client->datagrams;
  if (!datagrams) return 0;
  *port = datagrams->port;
  if (link_udp_has_stream(client))
    link_sent(&client->link,
              udp_link_stream_write(datagrams->link, link_output(&client->link),
                                    link_unsent(&client->link)));
  size_t size = datagrams_produce(datagrams, client->now_us, out);
  if (datagrams->phase == DATAGRAMS_ENDING) {
    datagrams_free(datagrams);
    client->datagrams = NULL;
  }
  return size;
}
