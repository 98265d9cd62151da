// Connections by UDP alone that another place serves. A stub of each remains in the Net that
// judged its first request, so that repeated requests find it.
#include <string.h>
#include <unistd.h>

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

static void leave(UdpPeer *stub) {
  const Net *net = stub->server->net;
  char address[ADDRESS_SIZE];
  if (!stub->is_entered) return;
  stub->is_entered = false;
  address_text(&stub->way.remote, address);
  if (!net->is_ending) net->events.leave(net->data, address);
}

static void run_leave(Net *net, const void *body) {
  (void)net;
  leave(*(UdpPeer *const *)body);
}

static void run_free(Net *net, const void *body) {
  (void)net;
  udp_free_stub(*(UdpPeer *const *)body);
}

static void post_home(const Net *net, const RemoteCall *call, UdpPeer *stub) {
  UdpPeer **body = net->home->ops->post(net->home, call, sizeof *body);
  *body = stub;
}

static void report_over(const Net *net, UdpPeer *stub) {
  static const RemoteCall FREE = {.run = run_free};
  post_home(net, &FREE, stub);
}

void udp_report_over(const UdpPeer *peer) {
  report_over(peer->server->net, peer->stub);
}

static void run_take(Net *net, const void *body) {
  static const RemoteCall LEAVE = {.run = run_leave};
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
    report_over(net, taken->stub);
    mem_free(peer);
    return;
  }
  udp_peer_add(peer, &taken->params);
  post_home(net, &LEAVE, taken->stub);
  conn_open(conn, &taken->info);
}

static void run_take_place(Net *net, const void *body) { udp_take_place(net, body); }

static void drop_place(const void *body) { close(((const UdpPlace *)body)->fd); }

// --- In the Net that has the ports ---

void udp_give_place(Remote *remote, const UdpPlace *place) {
  static const RemoteCall TAKE = {.run = run_take_place, .drop = drop_place};
  UdpPlace *body = remote->ops->post(remote, &TAKE, sizeof *body);
  *body = *place;
}

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

void udp_free_stub(UdpPeer *stub) {
  leave(stub);
  table_remove(&stub->server->table, stub);
  mem_free(stub);
}
