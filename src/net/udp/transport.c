// The transport of those who are alone: their bytes are the stream of the link.
#include "base/mem.h"
#include "net/udp/udp_internal.h"

static void udp_read_start(Conn *conn) {
  udp_link_release(conn->udp->link);
  udp_touch(conn->udp);
}

static void udp_read_stop(Conn *conn) { udp_link_hold(conn->udp->link); }

static int udp_try_write(Conn *conn, const uv_buf_t *bufs, unsigned count) {
  UdpPeer *peer = conn->udp;
  if (udp_link_is_closed(peer->link)) return UV_EPIPE;
  size_t total = 0;
  for (unsigned i = 0; i < count; i++) {
    size_t taken = udp_link_stream_write(peer->link, bufs[i].base, bufs[i].len);
    total += taken;
    if (taken < bufs[i].len) break;
  }
  if (total == 0) return UV_EAGAIN;
  udp_touch(peer);
  return (int)total;
}

static int udp_write(Conn *conn, uint8_t *bytes, size_t size) {
  UdpPeer *peer = conn->udp;
  if (udp_link_is_closed(peer->link)) return UV_EPIPE;
  size_t taken = udp_link_stream_write(peer->link, bytes, size);
  peer->rest = bytes + taken;
  peer->left = size - taken;
  peer->is_writing = true;
  udp_touch(peer);
  return 0;
}

void udp_conn_pump(UdpPeer *peer) {
  while (peer->conn && peer->is_writing) {
    bool is_closed = udp_link_is_closed(peer->link);
    size_t taken = udp_link_stream_write(peer->link, peer->rest, peer->left);
    peer->rest += taken;
    peer->left -= taken;
    if (peer->left > 0 && !is_closed) return;
    peer->is_writing = false;
    conn_written(peer->conn, is_closed ? UV_EPIPE : 0);
  }
}

static bool udp_shutdown(Conn *conn) {
  conn->udp->is_shut = true;
  udp_touch(conn->udp);
  return true;
}

static void udp_close(Conn *conn) {
  UdpServer *server = conn->udp->server;
  udp_peer_end(conn->udp, (Code)conn->udp->end_code);
  server->alone_count--;
  list_add(&server->closing, conn);
}

static const Transport UDP = {
    .read_start = udp_read_start,
    .read_stop = udp_read_stop,
    .try_write = udp_try_write,
    .write = udp_write,
    .shutdown = udp_shutdown,
    .close = udp_close,
};

bool udp_is_alone(const Conn *conn) { return conn->transport == &UDP; }

Conn *udp_conn_new(UdpPeer *peer) {
  Conn *conn = mem_zalloc(sizeof *conn);
  conn_init(conn, peer->server->net, &UDP, FRAMING_PACKETS);
  if (!conn_add(conn)) {
    mem_free(conn);
    return NULL;
  }
  conn->udp = peer;
  peer->conn = conn;
  peer->server->alone_count++;
  return conn;
}
