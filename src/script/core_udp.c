// Figures of UDP for scripts: the part `udp` of perigee.stats() and peer:stats().
#include "net/udp.h"
#include "script/core.h"

void core_set_udp_totals(lua_State *L, const Net *net) {
  UdpTotals udp = net_udp_totals(net);
  lua_createtable(L, 0, 14);
  core_set_number(L, "links", udp.links);
  core_set_number(L, "accepted", (double)udp.accepted);
  core_set_number(L, "attached", (double)udp.attached);
  core_set_number(L, "challenged", (double)udp.challenged);
  core_set_number(L, "rejected", (double)udp.rejected);
  core_set_number(L, "datagrams_in", (double)udp.received);
  core_set_number(L, "bytes_in", (double)udp.received_bytes);
  core_set_number(L, "refused", (double)udp.refused);
  core_set_number(L, "datagrams_out", (double)udp.sent);
  core_set_number(L, "bytes_out", (double)udp.sent_bytes);
  core_set_number(L, "unsent", (double)udp.unsent);
  core_set_number(L, "lost", (double)udp.lost);
  core_set_number(L, "resent_bytes", (double)udp.resent_bytes);
  core_set_number(L, "moved", (double)udp.moved);
  lua_setfield(L, -2, "udp");
}

void core_set_udp_figures(lua_State *L, const Net *net, ConnId conn) {
  UdpFigures udp;
  if (!net_udp_figures(net, conn, &udp)) return;
  lua_createtable(L, 0, 8);
  core_set_switch(L, "passes", udp.passes);
  core_set_number(L, "rtt_ms", udp.rtt_us / 1000.0);
  core_set_number(L, "datagrams_in", (double)udp.received);
  core_set_number(L, "bytes_in", (double)udp.received_bytes);
  core_set_number(L, "datagrams_out", (double)udp.sent);
  core_set_number(L, "bytes_out", (double)udp.sent_bytes);
  core_set_number(L, "lost", (double)udp.lost);
  core_set_number(L, "resent_bytes", (double)udp.resent_bytes);
  lua_setfield(L, -2, "udp");
}
