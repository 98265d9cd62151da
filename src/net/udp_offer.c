// Who may come, what those who attach are told, and what has become of all.
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "net/servicer_calls.h"
#include "net/udp_internal.h"

// --- Who may come ---

void net_set_hashes(Net *net, const uint64_t *hashes, uint32_t count) {
  assert(count <= NET_HASHES_MAX);
  if (count > 0) memcpy(net->hashes, hashes, count * sizeof *hashes);
  net->hash_count = count;
  if (net->servicers) servicers_share_hashes(net);
}

bool udp_knows_hash(const Net *net, uint64_t hash) {
  for (uint32_t i = 0; i < net->hash_count; i++)
    if (net->hashes[i] == hash) return true;
  return hash == 0;
}

// --- Attaching ---

void udp_note_offer(Net *net, Conn *conn, uint32_t peer, uint64_t nonce) {
  UdpServer *server = net->udp;
  uint32_t index = peer & SLOTS_MAX;
  if (index >= server->offer_capacity) {
    uint32_t before = server->offer_capacity, capacity = before ? before : 64;
    while (capacity <= index) capacity *= 2;
    server->offers = mem_grow(server->offers, capacity * sizeof *server->offers);
    memset(server->offers + before, 0, (capacity - before) * sizeof *server->offers);
    server->offer_capacity = capacity;
  }
  server->offers[index] = (UdpOffer){.peer = peer, .conn = conn->id};
  conn->udp_nonce = nonce;
}

Conn *udp_find_offer(const UdpServer *server, uint32_t peer) {
  uint32_t index = peer & SLOTS_MAX;
  if (index >= server->offer_capacity || server->offers[index].peer != peer)
    return NULL;
  return conn_find(server->net, server->offers[index].conn);
}

uint16_t net_udp_offer(Net *net, ConnId id, uint32_t peer,
                       uint8_t key[NET_UDP_KEY_SIZE]) {
  Conn *conn = conn_find(net, id);
  if (!net->udp || !conn) return 0;
  if (udp_is_alone(conn)) {
    udp_link_trust(conn->udp->link);
    return 0;
  }
  uint64_t nonce;
  do net_random(net, &nonce, sizeof nonce);
  while (nonce == 0);
  ConnId real = conn->servicer ? client_local_id(conn) : id;
  udp_offer_key(net->udp->secret, nonce, real, key);
  if (conn->servicer) return client_offer(conn, peer, nonce);
  udp_note_offer(net, conn, peer, nonce);
  return net->udp->sockets[0].port;
}

// --- Figures ---

UdpTotals udp_past(const Net *net) {
  return net->udp ? net->udp->totals : (UdpTotals){0};
}

static void add_stats(void *data, const UdpPeer *peer) {
  UdpLosses *losses = data;
  if (peer->servicer) return;  // which counts them
  UdpLinkStats stats = udp_link_stats(peer->link);
  losses->lost += stats.lost;
  losses->resent_bytes += stats.resent_bytes;
}

UdpLosses udp_losses(const Net *net) {
  UdpLosses losses = {0};
  if (net->udp) table_visit(&net->udp->table, add_stats, &losses);
  return losses;
}

UdpTotals net_udp_totals(const Net *net) {
  UdpTotals totals = udp_past(net), others = servicers_figures(net).udp;
  UdpLosses losses = udp_losses(net);
  udp_add_totals(&totals, &others);
  totals.lost += losses.lost;
  totals.resent_bytes += losses.resent_bytes;
  return totals;
}

void udp_add_totals(UdpTotals *to, const UdpTotals *from) {
  to->links += from->links;
  to->accepted += from->accepted;
  to->attached += from->attached;
  to->challenged += from->challenged;
  to->rejected += from->rejected;
  to->received += from->received;
  to->received_bytes += from->received_bytes;
  to->refused += from->refused;
  to->sent += from->sent;
  to->sent_bytes += from->sent_bytes;
  to->unsent += from->unsent;
  to->lost += from->lost;
  to->resent_bytes += from->resent_bytes;
  to->moved += from->moved;
}

bool udp_conn_figures(const Conn *conn, UdpFigures *figures) {
  if (!conn->udp) return false;
  UdpLinkStats stats = udp_link_stats(conn->udp->link);
  *figures = (UdpFigures){.received = stats.received,
                          .received_bytes = stats.received_bytes,
                          .sent = stats.sent,
                          .sent_bytes = stats.sent_bytes,
                          .lost = stats.lost,
                          .resent_bytes = stats.resent_bytes,
                          .rtt_us = (uint32_t)stats.rtt_us,
                          .passes = conn->udp->passes};
  return true;
}

bool net_udp_figures(const Net *net, ConnId id, UdpFigures *figures) {
  const Conn *conn = conn_find(net, id);
  if (!conn) return false;
  return conn->servicer ? client_udp_figures(conn, figures)
                        : udp_conn_figures(conn, figures);
}
