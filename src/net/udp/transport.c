// The transport of those who are alone: their bytes are the stream of the link.
#include <stddef.h>

#include "base/mem.h"
#include "net/udp/udp_internal.h"

static UdpPeer *peer_of(Transport *transport) {
  return (UdpPeer *)((char *)transport - offsetof(UdpPeer, transport));
}

static void udp_read_start(Transport *transport) {
  udp_link_release(peer_of(transport)->link);
  udp_touch(peer_of(transport));
}

static void udp_read_stop(Transport *transport) {
  udp_link_hold(peer_of(transport)->link);
}

static int udp_try_write(Transport *transport, const uv_buf_t *bufs, unsigned count) {
  UdpPeer *peer = peer_of(transport);
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

static int udp_write(Transport *transport, uint8_t *bytes, size_t size) {
  UdpPeer *peer = peer_of(transport);
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
    peer->transport.user->written(peer->conn, is_closed ? UV_EPIPE : 0);
  }
}

static bool udp_shutdown(Transport *transport) {
  peer_of(transport)->is_shut = true;
  udp_touch(peer_of(transport));
  return true;
}

static void udp_close(Transport *transport) {
  UdpPeer *peer = peer_of(transport);
  udp_peer_end(peer, udp_end_code(peer->conn));
  peer->server->alone_count--;
  list_add(&peer->server->closing, peer);
}

static const TransportKind UDP = {
    .name = "udp",
    .read_start = udp_read_start,
    .read_stop = udp_read_stop,
    .try_write = udp_try_write,
    .write = udp_write,
    .shutdown = udp_shutdown,
    .close = udp_close,
};

bool udp_is_alone(const Conn *conn) { return conn->transport->kind == &UDP; }

Conn *udp_conn_new(UdpPeer *peer) {
  Conn *conn = mem_zalloc(sizeof *conn);
  peer->transport.kind = &UDP;
  conn_init(conn, peer->server->net, &peer->transport, FRAMING_PACKETS);
  if (!conn_add(conn)) {
    mem_free(conn);
    return NULL;
  }
  udp_join(peer, conn);
  peer->server->alone_count++;
  return conn;
}
