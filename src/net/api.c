// The functions of net.h for one connection, whichever thread serves it.
#include "net/internal.h"

void net_close(Net *net, ConnId id) { net_end(net, id, CODE_CLOSED, NULL); }

void net_end(Net *net, ConnId id, Code code, const char *text) {
  Endpoint *endpoint = endpoint_find(net, id);
  if (endpoint) endpoint->ops->end(endpoint, code, text);
}

void net_throttle(Net *net, ConnId id) {
  Endpoint *endpoint = endpoint_find(net, id);
  if (endpoint) endpoint->ops->throttle(endpoint);
}

void net_unthrottle(Net *net, ConnId id) {
  Endpoint *endpoint = endpoint_find(net, id);
  if (endpoint) endpoint->ops->unthrottle(endpoint);
}

void net_hold(Net *net, ConnId id) {
  Endpoint *endpoint = endpoint_find(net, id);
  if (endpoint) endpoint->ops->hold(endpoint, true);
}

void net_release(Net *net, ConnId id) {
  Endpoint *endpoint = endpoint_find(net, id);
  if (endpoint) endpoint->ops->hold(endpoint, false);
}

void net_write(Net *net, ConnId id, const Out *out) {
  Endpoint *endpoint = endpoint_find(net, id);
  if (endpoint) endpoint->ops->write(endpoint, out);
}

void net_set_max_payload(Net *net, ConnId id, uint32_t bytes) {
  Endpoint *endpoint = endpoint_find(net, id);
  if (endpoint) endpoint->ops->set_max_payload(endpoint, bytes);
}

void net_set_data(Net *net, ConnId id, void *conn_data) {
  Endpoint *endpoint = endpoint_find(net, id);
  if (endpoint) endpoint->data = conn_data;
}

NetSent net_sent(const Net *net, ConnId id) {
  const Endpoint *endpoint = endpoint_find(net, id);
  return endpoint ? endpoint->ops->sent(endpoint) : (NetSent){0};
}

NetSent net_queued(const Net *net, ConnId id) {
  const Endpoint *endpoint = endpoint_find(net, id);
  return endpoint ? endpoint->ops->queued(endpoint) : (NetSent){0};
}

bool net_udp_figures(const Net *net, ConnId id, UdpFigures *figures) {
  const Endpoint *endpoint = endpoint_find(net, id);
  return endpoint && endpoint->ops->udp_figures(endpoint, figures);
}

// Endpoints that stop again during this call enter a new list, for the next call. An
// endpoint that ends during this call does not resume. It stays valid until the loop or
// the end of the iteration frees it.
bool net_resume(Net *net) {
  List list = net->resumed;
  net->resumed = (List){0};
  for (uint32_t i = 0; i < list.count; i++) {
    Endpoint *endpoint = list.items[i];
    endpoint->listed &= (uint8_t)~LISTED_RESUMED;
    endpoint->ops->resume(endpoint);
  }
  bool is_any = list.count > 0;
  list_deinit(&list);
  return is_any;
}

void net_group_join(Net *net, GroupId id, ConnId conn) {
  Group *group = slots_find(&net->groups, id);
  Endpoint *endpoint = endpoint_find(net, conn);
  if (group && endpoint) endpoint->ops->join(endpoint, group);
}

void net_group_leave(Net *net, GroupId id, ConnId conn) {
  Group *group = slots_find(&net->groups, id);
  Endpoint *endpoint = endpoint_find(net, conn);
  if (group && endpoint) endpoint->ops->leave(endpoint, group);
}
