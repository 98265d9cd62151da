// The connections that a Net serves itself, as endpoints.
#include "net/conn.h"

static Conn *conn_of(Endpoint *endpoint) { return (Conn *)endpoint; }

static void local_write(Endpoint *endpoint, const Out *out) {
  Conn *conn = conn_of(endpoint);
  Net *net = conn->net;
  Source *direct = &conn->out.direct;
  Outbuf *outbuf = outbuf_of(net, direct, out->priority);
  net->replaced += outbuf_append(outbuf, out, net->sequence++);
  if (out->flags & OUT_URGENT) conn->out.is_urgent = true;
  if (!direct->is_dirty) {
    direct->is_dirty = true;
    list_add(&net->dirty_conns, conn);
  }
  if (outbuf->bytes.size <= NET_OUTBUF_BYTES) return;
  flush_conn(conn, PRIORITIES_ALL);
  conn_stop(conn, STOP_SHARE);
}

static void local_end(Endpoint *endpoint, Code code, const char *text) {
  conn_set_reason(conn_of(endpoint), code, text);
  conn_close(conn_of(endpoint));
}

static void local_hold(Endpoint *endpoint, bool is_held) {
  Outbox *out = &conn_of(endpoint)->out;
  if (is_held)
    out->holds++;
  else if (out->holds > 0 && --out->holds == 0 && out->backlog)
    backlog_pump(conn_of(endpoint));
}

static void local_throttle(Endpoint *endpoint) {
  conn_stop(conn_of(endpoint), STOP_THROTTLED);
}

static void local_unthrottle(Endpoint *endpoint) {
  conn_start(conn_of(endpoint), STOP_THROTTLED);
}

static void local_set_max_payload(Endpoint *endpoint, uint32_t bytes) {
  conn_of(endpoint)->in.max_payload = bytes;
}

static void local_join(Endpoint *endpoint, Group *group) {
  group_add(group, conn_of(endpoint));
}

static void local_leave(Endpoint *endpoint, Group *group) {
  group_remove(group, conn_of(endpoint));
}

static NetSent local_sent(const Endpoint *endpoint) {
  return ((const Conn *)endpoint)->out.sent;
}

static NetSent local_queued(const Endpoint *endpoint) {
  return conn_queued((const Conn *)endpoint);
}

static bool local_udp_figures(const Endpoint *endpoint, UdpFigures *figures) {
  const Conn *conn = (const Conn *)endpoint;
  if (conn->datagrams) conn->datagrams->ops->figures(conn->datagrams, figures);
  return conn->datagrams != NULL;
}

static uint16_t local_udp_offer(Endpoint *endpoint, uint32_t peer, uint64_t nonce,
                                ConnId *local) {
  *local = endpoint->id;
  const Net *net = conn_of(endpoint)->net;
  return net->udp_offer ? net->udp_offer(conn_of(endpoint), peer, nonce) : 0;
}

const EndpointOps LOCAL = {
    .is_local = true,
    .write = local_write,
    .end = local_end,
    .hold = local_hold,
    .throttle = local_throttle,
    .unthrottle = local_unthrottle,
    .resume = conn_resume,
    .report_end = conn_report_end,
    .set_max_payload = local_set_max_payload,
    .join = local_join,
    .leave = local_leave,
    .sent = local_sent,
    .queued = local_queued,
    .udp_figures = local_udp_figures,
    .udp_offer = local_udp_offer,
};
