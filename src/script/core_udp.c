// Figures of UDP for scripts: the part `udp` of perigee.stats() and peer:stats().
#include "net/udp.h"
#include "script/core.h"

static void set_number(lua_State *L, const char *name, double value) {
  lua_pushnumber(L, value);
  lua_setfield(L, -2, name);
}

void core_set_udp_totals(lua_State *L, const Net *net) {
  UdpTotals udp = net_udp_totals(net);
  lua_createtable(L, 0, 14);
  set_number(L, "links", udp.links);
  set_number(L, "accepted", (double)udp.accepted);
  set_number(L, "attached", (double)udp.attached);
  set_number(L, "challenged", (double)udp.challenged);
  set_number(L, "rejected", (double)udp.rejected);
  set_number(L, "datagrams_in", (double)udp.received);
  set_number(L, "bytes_in", (double)udp.received_bytes);
  set_number(L, "refused", (double)udp.refused);
  set_number(L, "datagrams_out", (double)udp.sent);
  set_number(L, "bytes_out", (double)udp.sent_bytes);
  set_number(L, "unsent", (double)udp.unsent);
  set_number(L, "lost", (double)udp.lost);
  set_number(L, "resent_bytes", (double)udp.resent_bytes);
  set_number(L, "moved", (double)udp.moved);
  lua_setfield(L, -2, "udp");
}

void core_set_udp_figures(lua_State *L, const Net *net, ConnId conn) {
  UdpFigures udp;
  if (!net_udp_figures(net, conn, &udp)) return;
  lua_createtable(L, 0, 8);
  lua_pushboolean(L, udp.passes);
  lua_setfield(L, -2, "passes");
  set_number(L, "rtt_ms", udp.rtt_us / 1000.0);
  set_number(L, "datagrams_in", (double)udp.received);
  set_number(L, "bytes_in", (double)udp.received_bytes);
  set_number(L, "datagrams_out", (double)udp.sent);
  set_number(L, "bytes_out", (double)udp.sent_bytes);
  set_number(L, "lost", (double)udp.lost);
  set_number(L, "resent_bytes", (double)udp.resent_bytes);
  lua_setfield(L, -2, "udp");
}
