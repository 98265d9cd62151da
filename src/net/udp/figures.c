// What has become of all datagrams, and of those of one connection.
#include "net/io_threads/io_threads_calls.h"
#include "net/udp/udp_internal.h"

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
