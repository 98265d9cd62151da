// What has become of all datagrams.
#include "net/udp/udp_internal.h"

enum { LOSSES_MS = 100 };  // from one look at the losses of all connections to the next

static void add_losses(void *data, const UdpPeer *peer) {
  UdpTotals *losses = data;
  if (peer->remote) return;  // which counts them
  UdpLinkStats stats = udp_link_stats(peer->link);
  losses->lost += stats.lost;
  losses->resent_bytes += stats.resent_bytes;
}

void udp_add_counters(const NetPart *part, NetCounters *counters) {
  UdpServer *server = (UdpServer *)part;
  uint64_t now_ms = net_now_ms(server->net);
  if (now_ms - server->losses_ms >= LOSSES_MS) {
    server->losses = (UdpTotals){0};
    table_visit(&server->table, add_losses, &server->losses);
    server->losses_ms = now_ms;
  }
  counters_add(counters, &(NetCounters){.udp = server->totals});
  counters_add(counters, &(NetCounters){.udp = server->losses});
}
