// The table of peers, and figures about them.

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

// Name and address share one block, because most of them are short.
void peer_set_texts(Peer *peer, Text name, const char *address) {
  size_t address_size = strlen(address) + 1;
  char *texts = mem_zalloc(name.size + 1 + address_size);
  if (name.size > 0) memcpy(texts, name.bytes, name.size);
  peer->address = memcpy(texts + name.size + 1, address, address_size);
  mem_free(peer->name);
  peer->name = texts;
  peer->name_size = (uint8_t)name.size;
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
