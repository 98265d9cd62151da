// See udp_servicer.h.
#include "net/io_threads/udp.h"

#include <string.h>

#include "base/mem.h"

// What a DOWN_UDP_PEER says.
struct DownUdpPeer {
  UdpPeer *stub;
  UdpWay way;
  uint16_t sequence;
  UdpLinkParams params;
  ConnInfo info;
};

Servicer *udp_emptiest_servicer(const Net *net) {
  Servicer *best = NULL;
  for (uint32_t i = 0; net->servicers && i < net->servicers->count; i++) {
    Servicer *servicer = &net->servicers->items[i];
    if (!best || servicer->alone < best->alone) best = servicer;
  }
  return best;
}

uint16_t udp_stub_port(const UdpPeer *stub) { return stub->servicer->udp_port; }

void udp_hand_over(UdpPeer *stub, const UdpLinkParams *params, const ConnInfo *info) {
  memcpy(stub->channel, params->keys.channel, sizeof stub->channel);
  table_add(&stub->server->table, stub);
  stub->servicer->alone++;
  stub->is_visitor = true;
  DownUdpPeer *down = servicer_command(stub->servicer, DOWN_UDP_PEER, sizeof *down);
  *down = (DownUdpPeer){.stub = stub,
                        .way = stub->way,
                        .sequence = stub->sequence,
                        .params = *params,
                        .info = *info};
}

void udp_end_visit(UdpPeer *stub) {
  const Net *net = stub->server->net;
  char address[ADDRESS_SIZE];
  if (!stub->is_visitor) return;
  stub->is_visitor = false;
  address_text(&stub->way.remote, address);
  if (!net->servicers->is_deaf) net->events.leave(net->data, address);
}

void udp_free_stub(UdpPeer *stub) {
  udp_end_visit(stub);
  stub->servicer->alone--;
  table_remove(&stub->server->table, stub);
  mem_free(stub);
}

UdpPeer *udp_stub_of(const Conn *conn) { return conn->udp->stub; }

static void tell_over(const Net *net, UdpPeer *stub) {
  UpUdpOver *up = mailbox_add(&net->servicer->events, UP_UDP_OVER, sizeof *up);
  up->stub = stub;
}

void udp_tell_over(const UdpPeer *peer) { tell_over(peer->server->net, peer->stub); }

void udp_take_peer(Net *net, const DownUdpPeer *down) {
  UdpPeer *peer = mem_zalloc(sizeof *peer);
  peer->server = net->udp;
  peer->socket = &net->udp->sockets[0];
  peer->stub = down->stub;
  peer->way = down->way;
  peer->sequence = down->sequence;
  origin_of(&down->way.remote, &peer->path);
  Conn *conn = net->is_stopping ? NULL : udp_conn_new(peer);
  if (!conn) {
    tell_over(net, down->stub);
    mem_free(peer);
    return;
  }
  udp_peer_add(peer, &down->params);
  conn_open(conn, &down->info);
}
