// Stubs: what the Net that judged the first request of a connection keeps of it when another
// place serves it, so that repeated requests find it.
#include "base/mem.h"
#include "net/udp/udp_internal.h"

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

void udp_free_stub(UdpPeer *stub) {
  leave(stub);
  table_remove(&stub->server->table, stub);
  mem_free(stub);
}

static void run_free(Net *net, const void *body) {
  (void)net;
  udp_free_stub(*(UdpPeer *const *)body);
}

static void post_home(const Net *net, const RemoteCall *call, UdpPeer *stub) {
  UdpPeer **body = net->home->ops->post(net->home, call, sizeof *body);
  *body = stub;
}

void udp_stub_leaves(const Net *net, UdpPeer *stub) {
  static const RemoteCall LEAVE = {.run = run_leave};
  post_home(net, &LEAVE, stub);
}

void udp_stub_is_over(const Net *net, UdpPeer *stub) {
  static const RemoteCall FREE = {.run = run_free};
  post_home(net, &FREE, stub);
}
