// The queries of perigee.h.
#include "internal.h"

PerigeeState perigee_state(const PerigeeClient *client) {
  return client ? client->state : PERIGEE_STATE_CLOSED;
}

uint32_t perigee_peer_id(const PerigeeClient *client) { return client->session.peer; }

const char *perigee_name(const PerigeeClient *client) {
  return client->session.name ? client->session.name : "";
}

const char *perigee_session(const PerigeeClient *client) {
  return client->session.text;
}

int64_t perigee_latency_us(const PerigeeClient *client) { return client->latency_us; }

uint32_t perigee_max_payload(const PerigeeClient *client) {
  return client->session.max_payload;
}

uint32_t perigee_tick_rate(const PerigeeClient *client) {
  return client->session.tick_rate;
}

uint64_t perigee_server_time_us(const PerigeeClient *client) {
  return client->session.server_time_us;
}

void perigee_stats(const PerigeeClient *client, PerigeeStats *stats) {
  *stats = (PerigeeStats){.ping_interval_ms = client->session.ping_interval_ms,
                          .has_datagrams = client->datagrams != NULL,
                          .packets_sent = client->datagram_packets_sent,
                          .packets_received = client->datagram_packets_received};
  if (!link_udp_is_on(client)) return;
  UdpLinkStats link = udp_link_stats(client->datagrams->link);
  stats->rtt_us = link.rtt_us;
  stats->rtt_newest_us = link.rtt_newest_us;
  stats->datagrams_sent = link.sent;
  stats->datagrams_received = link.received;
  stats->datagrams_acknowledged = link.acknowledged;
  stats->datagrams_lost = link.lost;
}

uint32_t perigee_unconfirmed(const PerigeeClient *client) {
  return reliable_waiting(&client->session.stream);
}

uint32_t perigee_version(void) {
  return PERIGEE_VERSION_MAJOR << 16 | PERIGEE_VERSION_MINOR << 8 |
         PERIGEE_VERSION_PATCH;
}

const char *perigee_code_name(int code) {
  static const char *const OWN[] = {"Timeout",     "Unreachable", "QueueFull",
                                    "Over",        "Offline",     "TooLarge",
                                    "BadArgument", "NotJoined",   "Fault"};
  return code < 0 && code >= PERIGEE_FAULT ? OWN[-1 - code] : code_name((Code)code);
}
