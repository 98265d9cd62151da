// A connection by UDP: passes input up, puts output into datagrams, follows changes of
// address, and reports its end with CLOSE. Received datagrams are handled at once.
// Other work only marks the peer as touched, and udp_peer_serve does it at the end of
// the iteration.
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/udp/udp_internal.h"

// Bytes of a stream that are passed up at a time.
enum { PIECE_BYTES = READ_BUFFER_BYTES / 2 };

static uint64_t now_us(const UdpPeer *peer) {
  return net_clock_us(peer->entry.server->net);
}

// --- Birth and death ---

void udp_touch(UdpPeer *peer) {
  if (peer->is_touched) return;
  peer->is_touched = true;
  list_add(&peer->entry.server->touched, peer);
}

void udp_peer_add(UdpPeer *peer, const UdpLinkParams *params) {
  memcpy(peer->entry.channel, params->keys.channel, sizeof peer->entry.channel);
  peer->entry.is_attached = params->is_attached;
  peer->passes = true;
  UdpLinkParams counted = *params;
  counted.kept = &peer->entry.server->net->totals->udp_bytes;
  peer->link = udp_link_new(&counted, now_us(peer));
  peer->socket->peers++;
  peer->entry.server->totals.links++;
  peer->entry.server->totals.accepted++;
  peer->entry.server->totals.attached += peer->entry.is_attached;
  table_add(&peer->entry.server->table, &peer->entry);
  udp_touch(peer);
}

// Returns whether the peer stays to repeat CLOSE. It does not stay if the link is
// closed already, or if too many ended peers exist.
static bool stays(const UdpPeer *peer) {
  return !udp_link_is_closed(peer->link) && peer->entry.server->over_count < OVER_MAX;
}

void udp_peer_end(UdpPeer *peer, Code code) {
  if (peer->proxy) udp_proxy_is_over(peer->entry.server->net, peer->proxy);
  peer->conn = NULL;
  peer->over_ms = net_now_ms(peer->entry.server->net) + (stays(peer) ? OVER_MS : 1);
  peer->entry.server->over_count++;
  peer->entry.server->totals.links--;
  peer->socket->peers--;
  udp_link_close(peer->link, code);
  udp_touch(peer);
}

void udp_peer_free(UdpPeer *peer) {
  UdpServer *server = peer->entry.server;
  UdpLinkStats stats = udp_link_stats(peer->link);
  server->totals.lost += stats.lost;
  server->totals.resent_bytes += stats.resent_bytes;
  server->over_count -= peer->over_ms != 0;
  if (peer->is_touched) list_remove(&server->touched, peer);
  timers_stop(server->net->timers, &peer->timer);
  table_remove(&server->table, &peer->entry);
  udp_link_free(peer->link);
  mem_free(peer);
}

// Ends the datagrams beside a stream. Messages that wait for datagrams move to the
// stream.
static void detach(UdpPeer *peer, Code code) {
  Conn *conn = peer->conn;
  conn->datagrams = NULL;
  udp_peer_end(peer, code);
  conn_publish(conn);
  if (!conn->out.backlog) return;
  backlog_join_stream(conn);
  backlog_pump(conn);
}

Code udp_end_code(const Conn *conn) {
  return conn->close_code < 0 ? CODE_CLOSED : (Code)conn->close_code;
}

static UdpPeer *peer_of(Datagrams *datagrams) {
  return (UdpPeer *)((char *)datagrams - offsetof(UdpPeer, datagrams));
}

static void leave(Datagrams *datagrams) {
  UdpPeer *peer = peer_of(datagrams);
  Conn *conn = peer->conn;
  if (!peer->entry.is_attached) return;
  conn->datagrams = NULL;
  udp_peer_end(peer, udp_end_code(conn));
}

// --- Input ---

static void take_stream(UdpPeer *peer, const UdpArrival *arrival) {
  // Copies the bytes, because passing them up may change the link that contains them.
  Buf *input = &peer->entry.server->input;
  input->size = 0;
  buf_append(input, arrival->bytes, arrival->size);
  for (size_t at = 0; at < input->size && peer->conn; at += PIECE_BYTES) {
    size_t left = input->size - at;
    peer->transport.user->read(peer->conn, input->data + at,
                               left < PIECE_BYTES ? left : PIECE_BYTES);
  }
  if (input->capacity > READ_BUFFER_BYTES) buf_deinit(input);
}

// Drops a packet if the connection takes no input.
static void take_packet(UdpPeer *peer, const Packet *packet) {
  Conn *conn = peer->conn;
  if (!conn || !conn->is_known || !conn_takes_input(conn)) return;
  if (packet->length > conn->in.max_payload)
    conn_fault_at(conn, ERR_TOO_LARGE);
  else
    conn->net->events.unreliable_packet(conn->net->data, conn->self.data, packet);
}

static void take_close(UdpPeer *peer, uint16_t code) {
  if (!peer->conn) return;
  if (peer->entry.is_attached)
    detach(peer, CODE_CLOSED);
  else
    peer->transport.user->read_end(peer->conn,
                                   code == CODE_CLOSED ? UV_EOF : UV_ECONNRESET);
}

static void break_off(UdpPeer *peer) {
  Conn *conn = peer->conn;
  if (!conn) return;
  if (peer->entry.is_attached)
    detach(peer, CODE_PROTOCOL);
  else if (conn->state == CONN_OPEN && conn->is_known)
    conn_fault(conn, CODE_PROTOCOL, "a datagram breaks a rule");
  else
    conn_destroy(conn);
}

// --- Another address ---

static bool is_asked(const UdpPeer *peer, const UdpOrigin *path) {
  UdpOrigin asked;
  origin_of(&peer->asked.remote, &asked);
  return peer->challenge != 0 && origin_is_same(&asked, path);
}

// Sends PATH_CHALLENGE to a new address, after a datagram of `came` bytes from there.
// Repeats the value of an earlier challenge to this address, because the answer to that
// may still arrive.
static void ask_path(UdpPeer *peer, const UdpWay *from, const UdpOrigin *path,
                     size_t came) {
  UdpServer *server = peer->entry.server;
  uint64_t now_ms = net_now_ms(server->net), value = peer->challenge;
  if (peer->challenged_ms && now_ms - peer->challenged_ms < PATH_CHECK_MS) return;
  if (!is_asked(peer, path)) net_random(server->net, &value, sizeof value);
  size_t size = udp_link_produce_challenge(peer->link, now_us(peer), value, came,
                                           egress_room(server));
  if (size == 0) return;
  peer->challenged_ms = now_ms;
  peer->asked = *from;
  peer->challenge = value;
  egress_add(server, peer->socket, from, size);
}

static void take_path(UdpPeer *peer, uint64_t value, const UdpWay *from,
                      const UdpOrigin *path) {
  if (!is_asked(peer, path) || value != peer->challenge) return;
  UdpServer *server = peer->entry.server;
  char text[ADDRESS_SIZE];
  peer->challenge = 0;
  table_remove(&server->table, &peer->entry);
  peer->entry.way = *from;
  peer->entry.path = *path;
  table_add(&server->table, &peer->entry);
  server->totals.moved++;
  address_text(&from->remote, text);
  log_debug("UDP goes to another address", log_str("address", text),
            log_num("port", path->port));
}

static bool take_arrivals(UdpPeer *peer, const UdpWay *from, const UdpOrigin *path) {
  bool is_any = false;
  UdpArrival arrival;
  while (udp_link_next(peer->link, &arrival)) {
    switch (arrival.kind) {
      case UDP_ARRIVAL_PACKET:
        take_packet(peer, &arrival.packet);
        break;
      case UDP_ARRIVAL_STREAM:
        take_stream(peer, &arrival);
        break;
      case UDP_ARRIVAL_PATH_RESPONSE:
        if (from) take_path(peer, arrival.value, from, path);
        break;
      case UDP_ARRIVAL_CLOSE:
        take_close(peer, arrival.code);
        break;
    }
    is_any = true;
  }
  return is_any;
}

// Puts all output that may leave now into datagrams. Returns the time at which more
// output may leave.
static uint64_t produce(UdpPeer *peer) {
  UdpServer *server = peer->entry.server;
  uint64_t time_us = now_us(peer), due_us;
  while ((due_us = udp_link_deadline(peer->link)) <= time_us) {
    size_t size = udp_link_produce(peer->link, time_us, egress_room(server));
    if (size == 0) break;
    egress_add(server, peer->socket, &peer->entry.way, size);
  }
  return due_us;
}

// Returns whether the peer may have work that cannot wait for its timer.
static bool waits_for_more(const UdpPeer *peer, uint64_t due_us) {
  const Conn *conn = peer->conn;
  return !conn || conn->out.backlog || peer->is_writing || peer->is_shut ||
         !peer->passes || !timers_is_set(&peer->timer) ||
         due_us / 1000 + 1 < peer->timer.due_ms;
}

bool udp_peer_receive(UdpPeer *peer, const UdpWay *from, const UdpOrigin *path,
                      uint8_t *bytes, size_t size) {
  uint64_t time_us = now_us(peer);
  UdpTaken taken = udp_link_receive(peer->link, time_us, bytes, size);
  if (taken == UDP_REFUSED) return false;
  if (taken == UDP_BROKEN) {
    udp_touch(peer);
    break_off(peer);
    return true;
  }
  bool is_any = take_arrivals(peer, from, path);  // the datagram may contain a
                                                  // PATH_RESPONSE
  if (taken == UDP_NEWEST && !origin_is_same(path, &peer->entry.path))
    ask_path(peer, from, path, size);
  // Sends a due acknowledgement before the next datagram is read.
  uint64_t due_us = udp_link_deadline(peer->link);
  if (due_us <= time_us) due_us = produce(peer);
  if (is_any || waits_for_more(peer, due_us)) udp_touch(peer);
  return true;
}

// --- Output ---

static bool carries(const Datagrams *datagrams, uint8_t out_flags, uint32_t size) {
  return out_flags & OUT_UNRELIABLE && size <= UDP_LATEST_MAX &&
         peer_of((Datagrams *)datagrams)->passes;
}

// Combines key and tag into 32 bits, because groups (tags) may use the same keys.
// Key 0 stays 0.
static uint32_t short_key(uint64_t key, uint32_t tag) {
  if (key == 0) return 0;
  uint64_t mixed = (key ^ tag) * 0x9e3779b97f4a7c15;
  uint32_t folded = (uint32_t)(mixed >> 32);
  return folded ? folded : 1;
}

static bool is_full(const UdpPeer *peer) {
  return udp_link_queued(peer->link).bytes >= STAGED_BYTES;
}

static bool send_packet(Datagrams *datagrams, const void *packet, uint32_t size,
                        uint64_t key, uint32_t tag) {
  UdpPeer *peer = peer_of(datagrams);
  if (peer->conn->out.backlog && backlog_has_unreliable(peer->conn)) return false;
  if (is_full(peer)) produce(peer);
  if (is_full(peer)) return false;
  udp_link_send(peer->link, packet, size, short_key(key, tag));
  return true;
}

// Sends waiting messages; returns whether any waited.
static bool send_waiting(UdpPeer *peer) {
  bool is_any = false;
  Waiting item;
  const uint8_t *bytes;
  while (peer->conn && !is_full(peer) &&
         (bytes = backlog_pop_unreliable(peer->conn, &item))) {
    udp_link_send(peer->link, bytes, item.size, short_key(item.key, item.tag));
    is_any = true;
  }
  return is_any;
}

// --- The transport of a conn by UDP alone: the stream of the link ---

static UdpPeer *peer_of_transport(Transport *transport) {
  return (UdpPeer *)((char *)transport - offsetof(UdpPeer, transport));
}

static void udp_read_start(Transport *transport) {
  udp_link_unthrottle(peer_of_transport(transport)->link);
  udp_touch(peer_of_transport(transport));
}

static void udp_read_stop(Transport *transport) {
  udp_link_throttle(peer_of_transport(transport)->link);
}

static int udp_try_write(Transport *transport, const uv_buf_t *bufs, unsigned count) {
  UdpPeer *peer = peer_of_transport(transport);
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
  UdpPeer *peer = peer_of_transport(transport);
  if (udp_link_is_closed(peer->link)) return UV_EPIPE;
  size_t taken = udp_link_stream_write(peer->link, bytes, size);
  peer->rest = bytes + taken;
  peer->left = size - taken;
  peer->is_writing = true;
  udp_touch(peer);
  return 0;
}

static void pump(UdpPeer *peer) {
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
  peer_of_transport(transport)->is_shut = true;
  udp_touch(peer_of_transport(transport));
  return true;
}

static void udp_close(Transport *transport) {
  UdpPeer *peer = peer_of_transport(transport);
  udp_peer_end(peer, udp_end_code(peer->conn));
  peer->entry.server->alone_count--;
  list_add(&peer->entry.server->closing, peer);
}

static const TransportKind UDP = {
    .name = TRANSPORT_UDP,
    .read_start = udp_read_start,
    .read_stop = udp_read_stop,
    .try_write = udp_try_write,
    .write = udp_write,
    .shutdown = udp_shutdown,
    .close = udp_close,
};

// --- The end of an iteration ---

static void on_timer(void *data, uint64_t now_ms) {
  UdpPeer *peer = data;
  if (peer->over_ms && now_ms >= peer->over_ms)
    udp_peer_free(peer);
  else
    udp_touch(peer);
}

// Sets the timer, so that the peer is served at `due_us`.
static void arm(UdpPeer *peer, uint64_t due_us) {
  Net *net = peer->entry.server->net;
  uint64_t due_ms = due_us == UDP_NEVER ? UINT64_MAX : due_us / 1000 + 1;
  uint64_t soon_ms = net_now_ms(net) + 1;
  if (due_ms < soon_ms) due_ms = soon_ms;
  if (peer->over_ms && peer->over_ms < due_ms) due_ms = peer->over_ms;
  if (due_ms == UINT64_MAX)
    timers_stop(net->timers, &peer->timer);
  else
    timers_set(net->timers, &peer->timer, due_ms, on_timer, peer);
}

// Checks whether datagrams get through. While they do not get through, the stream
// carries all messages.
static void check_passing(UdpPeer *peer) {
  UdpPassing passing = udp_link_passing(peer->link, now_us(peer));
  if (passing == UDP_GONE && peer->entry.is_attached)
    detach(peer, CODE_RESET);
  else if (passing == UDP_GONE)
    conn_end(peer->conn, END_BROKEN);
  if (!peer->conn || !peer->entry.is_attached) return;
  bool did_pass = peer->passes;
  peer->passes = passing == UDP_PASSES;
  if (peer->passes || !did_pass) return;
  udp_link_drop_queued(peer->link);
  if (!peer->conn->out.backlog) return;
  backlog_join_stream(peer->conn);
  backlog_pump(peer->conn);
}

// Sends queued output. Also checks whether datagrams get through, because steady output
// postpones the timer for this check.
static void flush(Datagrams *datagrams) {
  UdpPeer *peer = peer_of(datagrams);
  uint64_t turn_us = net_now_ms(peer->entry.server->net) * 1000;
  if (peer->passes && udp_link_passing(peer->link, turn_us) != UDP_PASSES)
    udp_touch(peer);
  arm(peer, produce(peer));
}

bool udp_peer_serve(UdpPeer *peer) {
  bool is_any = take_arrivals(peer, NULL, NULL);
  if (peer->conn) check_passing(peer);
  pump(peer);
  produce(peer);
  while (peer->conn && peer->conn->out.backlog && send_waiting(peer)) produce(peer);
  if (peer->conn && peer->conn->out.backlog) backlog_pump(peer->conn);
  bool is_out = peer->is_shut && udp_link_stream_unacknowledged(peer->link) == 0;
  if (peer->conn && is_out) conn_destroy(peer->conn);
  arm(peer, produce(peer));
  if (peer->conn) conn_publish(peer->conn);
  return is_any;
}

// --- The datagrams of a conn ---

static void get_figures(const Datagrams *datagrams, UdpFigures *figures) {
  const UdpPeer *peer = peer_of((Datagrams *)datagrams);
  UdpLinkStats stats = udp_link_stats(peer->link);
  *figures = (UdpFigures){.received = stats.received,
                          .received_bytes = stats.received_bytes,
                          .sent = stats.sent,
                          .sent_bytes = stats.sent_bytes,
                          .lost = stats.lost,
                          .resent_bytes = stats.resent_bytes,
                          .rtt_us = (uint32_t)stats.rtt_us,
                          .passes = peer->passes};
}

void udp_join(UdpPeer *peer, Conn *conn) {
  static const DatagramsOps OPS = {.carries = carries,
                                   .send = send_packet,
                                   .flush = flush,
                                   .leave = leave,
                                   .figures = get_figures};
  peer->datagrams.ops = &OPS;
  peer->conn = conn;
  conn->datagrams = &peer->datagrams;
}

bool udp_is_alone(const Conn *conn) { return conn->transport->kind == &UDP; }

Conn *udp_conn_new(UdpPeer *peer) {
  Conn *conn = mem_zalloc(sizeof *conn);
  peer->transport.kind = &UDP;
  conn_init(conn, peer->entry.server->net, &peer->transport, FRAMING_PACKETS);
  if (!conn_add(conn)) {
    mem_free(conn);
    return NULL;
  }
  udp_join(peer, conn);
  peer->entry.server->alone_count++;
  return conn;
}
