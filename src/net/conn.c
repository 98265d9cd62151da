// Functions of endpoints. For connections that this Net serves (Conn), also throttling,
// the change of the protocol, and the end. This file does not know how bytes travel or
// what they mean. If the other side ends a connection, only the end of the iteration
// reports that to the layer above.
#include "net/conn.h"

#include "base/err.h"
#include "base/mem.h"

// --- Endpoints: ids, the lists of the Net, counters ---

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

void counter_add(Endpoint *endpoint, NetSent sent) {
  if (!endpoint->counter) return;
  endpoint->counter->sent.packets += sent.packets;
  endpoint->counter->sent.bytes += sent.bytes;
}

void counter_leave(Endpoint *endpoint, NetSent last) {
  if (!endpoint->counter) return;
  counter_add(endpoint, last);
  Endpoint **at = &endpoint->counter->endpoints;
  while (*at != endpoint) at = &(*at)->counter_next;
  *at = endpoint->counter_next;
  endpoint->counter = NULL;
}

void net_set_counter(Net *net, ConnId id, NetCounter *counter) {
  Endpoint *endpoint = endpoint_find(net, id);
  if (!endpoint) return;
  counter_leave(endpoint, (NetSent){0});
  endpoint->counter = counter;
  endpoint->counter_next = counter->endpoints;
  counter->endpoints = endpoint;
}

void net_close_counter(NetCounter *counter) {
  while (counter->endpoints) counter_leave(counter->endpoints, (NetSent){0});
}

Conn *conn_find(const Net *net, ConnId id) {
  Endpoint *endpoint = endpoint_find(net, id);
  return endpoint && endpoint->ops->is_local ? (Conn *)endpoint : NULL;
}

// --- Reading ---

bool conn_takes_input(const Conn *conn) {
  return conn->state == CONN_OPEN && conn->stops == 0 &&
         !(conn->self.listed & LISTED_ENDED);
}

void conn_stop(Conn *conn, unsigned reason) {
  if (conn->state != CONN_OPEN || conn->stops & reason) return;
  conn->stops |= (uint8_t)reason;
  transport_read_stop(conn->transport);
  if (reason == STOP_SHARE) endpoint_resume_later(conn->net, &conn->self);
}

void conn_start(Conn *conn, unsigned reason) {
  if (!(conn->stops & reason)) return;
  conn->stops &= (uint8_t)~reason;
  if (conn->stops & ~(unsigned)STOP_SHARE) return;
  conn->in.since_ms = net_now_ms(conn->net);  // the packet could not be finished while
                                              // reading was stopped
  endpoint_resume_later(conn->net, &conn->self);
}

void conn_speak(Conn *conn, const Protocol *protocol) {
  if (conn->protocol->free) conn->protocol->free(conn);
  conn->protocol = protocol;
  if (protocol->open) protocol->open(conn);
}

void conn_count_unfinished(Conn *conn, uint32_t bytes) {
  Net *net = conn->net;
  if (bytes == conn->in.counted) return;
  net->unfinished_bytes += (size_t)bytes - conn->in.counted;
  net->totals->unfinished_bytes += (uint64_t)bytes - conn->in.counted;
  conn->in.counted = bytes;
}

// --- Faults ---

void conn_fault(Conn *conn, Code code, const char *text) {
  conn->net->events.fault(conn->net->data, conn->self.data, code, text);
}

void conn_fault_at(Conn *conn, int error) {
  if (error == ERR_TOO_LARGE)
    conn_fault(conn, CODE_PAYLOAD_TOO_LARGE,
               conn->in.framing == FRAMING_LINES
                   ? "the line is longer than max_payload"
                   : "the packet's payload is larger than max_payload");
  else
    conn_fault(conn, CODE_PROTOCOL, "the packet's header breaks a rule");
}

// --- Ends ---

void conn_end(Conn *conn, End how) {
  if (conn->state == CONN_CLOSING && how == END_BROKEN) conn_destroy(conn);
  if (conn->state != CONN_OPEN) return;
  if (conn->end != END_SLOW && how > conn->end) conn->end = (uint8_t)how;
  if (conn->self.listed & LISTED_ENDED) return;
  transport_read_stop(conn->transport);
  endpoint_end_later(conn->net, &conn->self);
}

void conn_set_reason(Conn *conn, Code code, const char *text) {
  if (conn->close_code >= 0) return;
  conn->close_code = (int8_t)code;
  if (text && conn->protocol->keep_reason) conn->protocol->keep_reason(conn, text);
}

void conn_destroy(Conn *conn) {
  if (conn->state == CONN_CLOSED) return;
  conn->state = CONN_CLOSED;
  timers_stop(conn->net->timers, &conn->timer);
  transport_close(conn->transport);
}

void conn_drained(Conn *conn) {
  if (conn->protocol->finish && conn->protocol->finish(conn)) return;
  // The other side closes the connection when it has read everything.
  if (transport_shutdown(conn->transport) && conn->is_eof) conn_destroy(conn);
}

void conn_limit_refused(Conn *conn) {
  if (!conn->is_refused) conn->net->totals->refused++;
  conn->is_refused = true;
  if (conn->net->totals->refused > REFUSED_MAX) conn_destroy(conn);
}

NetSent conn_queued(const Conn *conn) {
  const Backlog *backlog = conn->out.backlog;
  if (!backlog) return (NetSent){0};
  return (NetSent){backlog->droppable + backlog->kept, backlog->bytes};
}

void conn_publish(const Conn *conn) {
  if (conn->net->publish && conn->is_known && conn->state == CONN_OPEN)
    conn->net->publish(conn);
}
