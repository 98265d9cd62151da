// Offers. An offer contains the connection that a peer may attach to, and the nonce of
// the key for that. The table has offers by peer number.
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "net/udp/udp_internal.h"

static void note(UdpServer *server, const Conn *conn, uint32_t peer, uint64_t nonce) {
  uint32_t index = peer & SLOTS_MAX;
  server->offer_capacity = array_reach(&server->offers, server->offer_capacity,
                                       sizeof *server->offers, index);
  UdpOffer *offer = &server->offers[index];
  if (offer->conn != conn->self.id) {
    mem_free(offer->used);
    offer->used = NULL;
  }
  offer->peer = peer;
  offer->conn = conn->self.id;
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

uint16_t udp_port_to_attach(const Conn *conn) {
  const UdpServer *server = conn->net->udp;
  return server && !udp_is_alone(conn) ? server->sockets[0].port : 0;
}

uint16_t udp_offer(Conn *conn, uint32_t peer, uint64_t nonce) {
  if (udp_is_alone(conn))
    udp_link_trust(udp_of(conn)->link);
  else
    note(conn->net->udp, conn, peer, nonce);
  return udp_port_to_attach(conn);
}

uint16_t net_udp_offer(Net *net, ConnId id, uint32_t peer,
                       uint8_t key[NET_UDP_KEY_SIZE]) {
  Endpoint *endpoint = endpoint_find(net, id);
  if (!net->udp || !endpoint) return 0;
  uint64_t nonce;
  do net_random(net, &nonce, sizeof nonce);
  while (nonce == 0);
  ConnId local;
  uint16_t port = endpoint->ops->udp_offer(endpoint, peer, nonce, &local);
  if (port > 0) udp_offer_key(net->udp->secret, nonce, local, key);
  return port;
}
