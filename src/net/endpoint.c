// Endpoints: their ids, the lists of the Net that they are in, and the accounts in which they
// are counted when they end.
#include "net/endpoint.h"

#include "net/internal.h"

Endpoint *endpoint_find(const Net *net, ConnId id) {
  return slots_find(&net->conns, id);
}

bool endpoint_add(Net *net, Endpoint *endpoint) {
  endpoint->id = slots_add(&net->conns, endpoint);
  return endpoint->id != 0;
}

void endpoint_remove(Net *net, Endpoint *endpoint) {
  slots_remove(&net->conns, endpoint->id);
  if (endpoint->listed & LISTED_ENDED) list_remove(&net->ended, endpoint);
  if (endpoint->listed & LISTED_RESUMED) list_remove(&net->resumed, endpoint);
  if (endpoint->listed & LISTED_DROPPING) list_remove(&net->dropping, endpoint);
  endpoint->listed = 0;
}

void endpoint_resume_later(Net *net, Endpoint *endpoint) {
  if (endpoint->listed & LISTED_RESUMED) return;
  endpoint->listed |= LISTED_RESUMED;
  list_add(&net->resumed, endpoint);
}

void endpoint_end_later(Net *net, Endpoint *endpoint) {
  if (endpoint->listed & LISTED_ENDED) return;
  endpoint->listed |= LISTED_ENDED;
  list_add(&net->ended, endpoint);
}

// --- Accounts ---

// An endpoint is in the list of its account until nothing more of it can be counted there.
void account_leave(Endpoint *endpoint) {
  if (!endpoint->account) return;
  Endpoint **at = &endpoint->account->endpoints;
  while (*at != endpoint) at = &(*at)->account_next;
  *at = endpoint->account_next;
  endpoint->account = NULL;
}

void account_add(Endpoint *endpoint, NetSent sent) {
  if (!endpoint->account) return;
  endpoint->account->sent.packets += sent.packets;
  endpoint->account->sent.bytes += sent.bytes;
}

void net_set_account(Net *net, ConnId id, NetAccount *account) {
  Endpoint *endpoint = endpoint_find(net, id);
  if (!endpoint) return;
  account_leave(endpoint);
  endpoint->account = account;
  endpoint->account_next = account->endpoints;
  account->endpoints = endpoint;
}

void net_close_account(NetAccount *account) {
  while (account->endpoints) account_leave(account->endpoints);
}
