// Offers: which connection the peer of a number may attach to, and with which key.
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "net/io_threads/io_threads_calls.h"
#include "net/udp/udp_internal.h"

void udp_note_offer(Net *net, Conn *conn, uint32_t peer, uint64_t nonce) {
  UdpServer *server = net->udp;
  uint32_t index = peer & SLOTS_MAX;
  server->offer_capacity = array_reach(&server->offers, server->offer_capacity,
                                       sizeof *server->offers, index);
  UdpOffer *offer = &server->offers[index];
  if (offer->conn != conn->id) {
    mem_free(offer->used);
    offer->used = NULL;
  }
  offer->peer = peer;
  offer->conn = conn->id;
  offer->nonce = nonce;
}

UdpOffer *udp_find_offer(const UdpServer *server, uint32_t peer) {
  uint32_t index = peer & SLOTS_MAX;
  if (index >= server->offer_capacity || server->offers[index].peer != peer)
    return NULL;
  return &server->offers[index];
}

void udp_free_offers(UdpServer *server) {
  for (uint32_t i = 0; i < server->offer_capacity; i++)
    mem_free(server->offers[i].used);
  mem_free(server->offers);
}

uint16_t net_udp_offer(Net *net, ConnId id, uint32_t peer,
                       uint8_t key[NET_UDP_KEY_SIZE]) {
  Conn *conn = conn_find(net, id);
  if (!net->udp || !conn) return 0;
  if (!conn->servicer && udp_is_alone(conn)) {
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
