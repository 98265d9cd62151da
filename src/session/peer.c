// The table of peers, and statistics about peers.

#include <string.h>

#include "base/mem.h"
#include "net/address.h"
#include "session/internal.h"

Peer *session_find(const Session *session, uint32_t peer) {
  return slots_find(&session->peers, peer);
}

Peer *session_next(const Session *session, uint32_t *cursor) {
  return slots_next(&session->peers, cursor);
}

double session_latency_ms(const Session *session) {
  uint64_t sum_us = 0;
  uint32_t count = 0;
  const Peer *peer;
  for (uint32_t cursor = 0; (peer = session_next(session, &cursor));) {
    if (peer->state != PEER_CONNECTED || peer->latency_us == 0) continue;
    sum_us += peer->latency_us;
    count++;
  }
  return count > 0 ? (double)sum_us / count / 1000 : 0;
}

NetSent session_sent(const Session *session, const Peer *peer) {
  NetSent now = net_sent(session->net, peer->conn), before = peer->ended.sent;
  return (NetSent){before.packets + now.packets, before.bytes + now.bytes};
}

uint32_t session_count(const Session *session) { return session->connected; }

SessionStats session_stats(const Session *session) {
  SessionStats stats = session->stats;
  stats.suspended_now = session->suspended;
  stats.kept_bytes = session->kept_bytes;
  return stats;
}

NetSent session_received(const SessionStats *stats) {
  NetSent all = {0};
  for (int i = 0; i < TRANSPORT_COUNT; i++) {
    all.packets += stats->received[i].packets;
    all.bytes += stats->received[i].bytes;
  }
  return all;
}

// Sets the peer's texts. They share one block, because most of them are short.
void peer_set_texts(Peer *peer, Text name, const char *address, Text token) {
  const Text texts[] = {name, text_from(address), token};
  char *block = mem_zalloc(name.size + texts[1].size + token.size + 3), *at = block;
  for (int i = 0; i < 3; i++) {
    if (texts[i].size > 0) memcpy(at, texts[i].bytes, texts[i].size);
    at += texts[i].size + 1;
  }
  mem_free(peer->name);
  peer->name = block;
  peer->name_size = (uint8_t)name.size;
  peer->token_size = (uint16_t)token.size;
}

void peer_request_verdict(Session *session, Peer *peer) {
  peer->state = PEER_CONNECTING;
  session->connecting++;
  session->json += peer_form(peer) != FORM_SCHEMA;
  net_throttle(session->net, peer->conn);
  deadline_arm(session, peer);
  session->events.connect(session->data, peer);
}

void peer_free_sign_in(Peer *peer) {
  if (!peer->sign_in) return;
  buf_deinit(&peer->sign_in->text);
  mem_free(peer->sign_in);
}

uint32_t session_count_address(Session *session, const char *address, int change) {
  char network[ADDRESS_SIZE];
  address_network(address, network);
  return names_add(&session->addresses, network, strlen(network), change);
}

bool session_knows_schema(const Session *session, uint64_t hash) {
  const Peer *peer;
  for (uint32_t cursor = 0; (peer = session_next(session, &cursor));)
    if (peer->state != PEER_CLOSED && peer->protocol_hash == hash) return true;
  return false;
}

bool session_has_json(const Session *session) { return session->json > 0; }

bool session_has_text_commands(const Session *session) {
  return !session->limits.has_no_text_commands;
}
