// Connections by UDP alone that are handed to another place, and taken there.
#include <string.h>

#include "base/mem.h"
#include "net/udp/udp_internal.h"

// --- In the place that serves it ---

typedef struct TakePeer {
  UdpPeer *stub;
  UdpWay way;
  uint16_t sequence;
  UdpLinkParams params;
  ConnInfo info;
} TakePeer;

static void run_take(Net *net, const void *body) {
  const TakePeer *taken = body;
  UdpPeer *peer = mem_zalloc(sizeof *peer);
  peer->server = net->udp;
  peer->socket = &net->udp->sockets[0];
  peer->stub = taken->stub;
  peer->way = taken->way;
  peer->sequence = taken->sequence;
  origin_of(&taken->way.remote, &peer->path);
  Conn *conn = net->is_stopping ? NULL : udp_conn_new(peer);
  if (!conn) {
    udp_stub_is_over(net, taken->stub);
    mem_free(peer);
    return;
  }
  udp_peer_add(peer, &taken->params);
  udp_stub_leaves(net, taken->stub);
  conn_open(conn, &taken->info);
}

// --- In the Net that has the ports ---

void udp_hand_over(UdpPeer *stub, const UdpLinkParams *params, const ConnInfo *info) {
  static const RemoteCall TAKE = {.run = run_take};
  memcpy(stub->channel, params->keys.channel, sizeof stub->channel);
  table_add(&stub->server->table, stub);
  stub->is_entered = true;
  stub->remote->ops->give(stub->remote);
  TakePeer *body = stub->remote->ops->post(stub->remote, &TAKE, sizeof *body);
  *body = (TakePeer){.stub = stub,
                     .way = stub->way,
                     .sequence = stub->sequence,
                     .params = *params,
                     .info = *info};
}
