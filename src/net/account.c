// What connections were sent, counted for whoever had them. A connection is in the list of
// its account until nothing more of it can come: one of a servicer's for a moment longer
// than the layer above knows it, as its last words are counted there.
#include "net/conn.h"

static void leave(Conn *conn) {
  Conn **at = &conn->out.account->conns;
  while (*at != conn) at = &(*at)->out.account_next;
  *at = conn->out.account_next;
  conn->out.account = NULL;
}

void net_set_account(Net *net, ConnId id, NetAccount *account) {
  Conn *conn = conn_find(net, id);
  if (!conn) return;
  if (conn->out.account) leave(conn);
  conn->out.account = account;
  conn->out.account_next = account->conns;
  account->conns = conn;
}

void net_close_account(NetAccount *account) {
  while (account->conns) leave(account->conns);
}

void account_add(Conn *conn, NetSent sent) {
  if (!conn->out.account) return;
  conn->out.account->sent.packets += sent.packets;
  conn->out.account->sent.bytes += sent.bytes;
}

void account_leave(Conn *conn) {
  if (conn->out.account) leave(conn);
}
