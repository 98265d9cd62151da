// Connections by UDP alone that a remote serves. The home Net, which has checked the
// first request, passes the connection to the remote. It keeps a proxy in its table to
// recognize repeated requests.
//
// The home Net owns the proxy. The remote posts two calls with a pointer to the proxy:
// one when the connection has arrived, and one that frees the proxy when the connection
// has ended. Therefore the remotes must end, and their calls must run, before the home
// Net's table ends.
#include <string.h>

#include "base/mem.h"
#include "net/udp/udp_internal.h"

// --- In the Net with the ports ---

static void leave(UdpProxy *proxy) {
  const Net *net = proxy->entry.server->net;
  char address[ADDRESS_SIZE];
  if (!proxy->is_entered) return;
  proxy->is_entered = false;
  address_text(&proxy->entry.way.remote, address);
  if (!net->is_ending) net->events.leave(net->data, address);
}

static void run_leave(Net *net, const void *body) {
  (void)net;
  leave(*(UdpProxy *const *)body);
}

void udp_free_proxy(UdpProxy *proxy) {
  leave(proxy);
  table_remove(&proxy->entry.server->table, &proxy->entry);
  mem_free(proxy);
}

static void run_free(Net *net, const void *body) {
  (void)net;
  udp_free_proxy(*(UdpProxy *const *)body);
}

// --- In the remote ---

static void post_home(const Net *net, const RemoteCall *call, UdpProxy *proxy) {
  UdpProxy **body = net->home->ops->post(net->home, call, sizeof *body);
  *body = proxy;
}

void udp_proxy_is_over(const Net *net, UdpProxy *proxy) {
  static const RemoteCall FREE = {.run = run_free};
  post_home(net, &FREE, proxy);
}

typedef struct TakePeer {
  UdpProxy *proxy;
  UdpWay way;
  uint16_t sequence;
  UdpLinkParams params;
  ConnInfo info;
} TakePeer;

static void run_take(Net *net, const void *body) {
  static const RemoteCall LEAVE = {.run = run_leave};
  const TakePeer *taken = body;
  UdpPeer *peer = mem_zalloc(sizeof *peer);
  peer->entry.server = net->udp;
  peer->socket = &net->udp->sockets[0];
  peer->proxy = taken->proxy;
  peer->entry.way = taken->way;
  peer->entry.sequence = taken->sequence;
  origin_of(&taken->way.remote, &peer->entry.path);
  Conn *conn = net->is_stopping ? NULL : udp_conn_new(peer);
  if (!conn) {
    udp_proxy_is_over(net, taken->proxy);
    mem_free(peer);
    return;
  }
  udp_peer_add(peer, &taken->params);
  post_home(net, &LEAVE, taken->proxy);
  conn_open(conn, &taken->info);
}

// --- From one Net to the other ---

void udp_hand_over(UdpProxy *proxy, const UdpLinkParams *params, const ConnInfo *info) {
  static const RemoteCall TAKE = {.run = run_take};
  memcpy(proxy->entry.channel, params->keys.channel, sizeof proxy->entry.channel);
  table_add(&proxy->entry.server->table, &proxy->entry);
  proxy->is_entered = true;
  proxy->entry.remote->ops->give(proxy->entry.remote);
  TakePeer *body =
      proxy->entry.remote->ops->post(proxy->entry.remote, &TAKE, sizeof *body);
  *body = (TakePeer){.proxy = proxy,
                     .way = proxy->entry.way,
                     .sequence = proxy->entry.sequence,
                     .params = *params,
                     .info = *info};
}
