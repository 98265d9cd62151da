// What connections were sent, counted for whoever had them. A connection is in the list of
// its account until nothing more of it can come: one of a servicer's for a moment longer
// than the layer above knows it, as its last words are counted there.
#include "net/conn.h"

static void leave(Conn *conn) {
  Conn **at = &conn->account->conns;
  while (*at != conn) at = &(*at)->account_next;
  *at = conn->account_next;
  conn->account = NULL;
}

void net_set_account(Net *net, ConnId id, NetAccount *account) {
  Conn *conn = conn_find(net, id);
  if (!conn) return;
  if (conn->account) leave(conn);
  conn->account = account;
  conn->account_next = account->conns;
  account->conns = conn;
}

void net_close_account(NetAccount *account) {
  while (account->conns) leave(account->conns);
}

void account_add(Conn *conn, NetSent sent) {
  if (!conn->account) return;
  conn->account->sent.packets += sent.packets;
  conn->account->sent.bytes += sent.bytes;
}

void account_leave(Conn *conn) {
  if (conn->account) leave(conn);
}
