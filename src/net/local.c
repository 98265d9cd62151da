// net.h's functions of one connection.
#include "net/conn.h"
#include "net/io_threads/io_threads_calls.h"

void net_close(Net *net, ConnId id) { net_end(net, id, CODE_CLOSED, NULL); }

void net_end(Net *net, ConnId id, Code code, const char *text) {
  Conn *conn = conn_find(net, id);
  if (!conn) return;
  if (conn->servicer) {
    client_end(conn, code, text);
    return;
  }
  conn_set_reason(conn, code, text);
  conn_close(conn);
}

void net_hold(Net *net, ConnId id) {
  Conn *conn = conn_find(net, id);
  if (conn && conn->servicer)
    client_hold(conn);
  else if (conn)
    conn_stop(conn, STOP_THROTTLED);
}

void net_release(Net *net, ConnId id) {
  Conn *conn = conn_find(net, id);
  if (conn && conn->servicer)
    client_release(conn);
  else if (conn)
    conn_start(conn, STOP_THROTTLED);
}

void net_write(Net *net, ConnId id, const Out *out) {
  Conn *conn = conn_find(net, id);
  if (!conn) return;
  if (conn->servicer) {
    client_write(conn, out);
    return;
  }
  Source *direct = &conn->out.direct;
  Frame *frame = frame_of(net, direct, out->priority);
  frame_append(frame, out, net->stamp++);
  if (out->flags & OUT_URGENT) conn->out.is_urgent = true;
  if (!direct->is_dirty) {
    direct->is_dirty = true;
    list_add(&net->dirty_conns, conn);
  }
  if (frame->bytes.size <= NET_FRAME_BYTES) return;
  flush_conn(conn, PRIORITIES_ALL);
  conn_stop(conn, STOP_SHARE);
}

void net_set_max_payload(Net *net, ConnId id, uint32_t bytes) {
  Conn *conn = conn_find(net, id);
  if (conn && conn->servicer)
    client_set_max_payload(conn, bytes);
  else if (conn)
    conn->in.max_payload = bytes;
}

void net_set_data(Net *net, ConnId id, void *conn_data) {
  Conn *conn = conn_find(net, id);
  if (conn) conn->data = conn_data;
}

NetSent net_sent(const Net *net, ConnId id) {
  const Conn *conn = conn_find(net, id);
  if (conn && conn->servicer) return client_sent(conn);
  return conn ? conn->out.sent : (NetSent){0};
}

NetSent net_queued(const Net *net, ConnId id) {
  const Conn *conn = conn_find(net, id);
  if (conn && conn->servicer) return client_queued(conn);
  return conn ? conn_queued(conn) : (NetSent){0};
}
