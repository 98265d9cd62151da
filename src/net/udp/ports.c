// The ports: opens and closes them, reads datagrams, finds the connection of each
// datagram, and ends iterations.
#define _GNU_SOURCE  // recvmmsg
#include <errno.h>
#include <netinet/udp.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/counters.h"
#include "net/udp/udp_internal.h"
#include "os/service.h"

enum {
  LOSSES_MS = 100,             // shortest time between two sums of current losses
  READ_BATCH = 64,             // datagrams read at a time
  READ_BATCHES = 8,            // reads in one iteration, for each socket
  READ_DATAGRAM_BYTES = 1536,  // above the largest datagram of this protocol
  // Number of connections with the same channel that are tried for a datagram from an
  // unknown address.
  CHANNEL_TRIES = 4,
};

// The results of one call of the kernel.
struct Ingress {
  struct mmsghdr messages[READ_BATCH];
  struct iovec iovecs[READ_BATCH];
  UdpWay from[READ_BATCH];
  ControlRoom controls[READ_BATCH];
  uint8_t bytes[READ_BATCH][READ_DATAGRAM_BYTES];
};

// --- Datagrams ---

// Gives a datagram to the connection with its address and channel. If none exists,
// tries connections with its channel, whose address may have changed. Returns whether a
// connection took the datagram.
static bool give(UdpSocket *socket, const UdpWay *from, const UdpOrigin *path,
                 uint8_t *bytes, size_t size) {
  const UdpTable *table = &socket->server->table;
  UdpEntry *entry = table_first(table, path);
  for (; entry; entry = table_next(entry)) {
    UdpPeer *peer = udp_peer_of(entry);
    if (memcmp(entry->channel, bytes, UDP_CHANNEL_SIZE) == 0)
      return peer && peer->socket == socket &&
             udp_peer_receive(peer, from, path, bytes, size);
  }
  int tries = 0;
  uint8_t copy[READ_DATAGRAM_BYTES];
  entry = table_first_of(table, bytes);
  for (; entry && tries < CHANNEL_TRIES; entry = table_next_of(entry)) {
    UdpPeer *peer = udp_peer_of(entry);
    if (!peer || peer->socket != socket) continue;
    memcpy(copy, bytes, size);  // a failed attempt wipes the bytes
    if (udp_peer_receive(peer, from, path, copy, size)) return true;
    tries++;
  }
  return false;
}

static void take_datagram(UdpSocket *socket, const UdpWay *from, uint8_t *bytes,
                          size_t size) {
  UdpServer *server = socket->server;
  UdpOrigin path;
  server->totals.received++;
  server->totals.received_bytes += size;
  origin_of(&from->remote, &path);
  if (udp_is_connecting(bytes, size))
    udp_handshake(socket, from, &path, bytes, size);
  else if (size < UDP_CHANNEL_SIZE || !give(socket, from, &path, bytes, size))
    server->totals.refused++;
}

static void take_message(UdpSocket *socket, int index) {
  Ingress *ingress = socket->server->ingress;
  struct mmsghdr *message = &ingress->messages[index];
  UdpWay *from = &ingress->from[index];
  from->local = (struct in6_addr){0};
  if (socket->family != AF_UNSPEC) from->local = local_of(&message->msg_hdr);
  if (message->msg_hdr.msg_flags & MSG_TRUNC)
    socket->server->totals.refused++;
  else
    take_datagram(socket, from, ingress->bytes[index], message->msg_len);
}

static int read_batch(UdpSocket *socket) {
  Ingress *ingress = socket->server->ingress;
  const size_t room = socket->family == AF_UNSPEC ? 0 : sizeof(ControlRoom);
  for (int i = 0; i < READ_BATCH; i++) {
    ingress->iovecs[i] = (struct iovec){ingress->bytes[i], READ_DATAGRAM_BYTES};
    ingress->messages[i].msg_hdr = (struct msghdr){.msg_name = &ingress->from[i].remote,
                                                   .msg_namelen = sizeof(SocketAddress),
                                                   .msg_iov = &ingress->iovecs[i],
                                                   .msg_iovlen = 1,
                                                   .msg_control = &ingress->controls[i],
                                                   .msg_controllen = room};
  }
  int count = recvmmsg(socket->fd, ingress->messages, READ_BATCH, 0, NULL);
  for (int i = 0; i < count; i++) take_message(socket, i);
  return count;
}

// Reads a limited number of datagrams, so that a flood does not delay other work.
static void on_readable(uv_poll_t *poll, int status, int events) {
  UdpSocket *socket = poll->data;
  (void)status, (void)events;
  loop_wake(&socket->server->net->loop);
  for (int i = 0; i < READ_BATCHES && read_batch(socket) == READ_BATCH;) i++;
}

// --- The end of an iteration ---

static void on_closed(uv_handle_t *handle) {
  UdpSocket *socket = handle->data;
  close(socket->fd);
  socket->fd = -1;
}

static void close_ports(UdpServer *server) {
  for (uint32_t i = 0; i < server->socket_count; i++) {
    uv_handle_t *handle = (uv_handle_t *)&server->sockets[i].poll;
    if (!uv_is_closing(handle)) uv_close(handle, on_closed);
  }
}

static void free_closing(UdpServer *server) {
  while (server->closing.count > 0) {
    const UdpPeer *peer = server->closing.items[--server->closing.count];
    peer->transport.user->closed(peer->transport.user_data);
  }
}

static bool end_iteration(NetPart *part) {
  UdpServer *server = (UdpServer *)part;
  bool is_more = false;
  List touched = server->touched;
  server->touched = (List){0};
  for (uint32_t i = 0; i < touched.count; i++) {
    UdpPeer *peer = touched.items[i];
    is_more |= udp_peer_serve(peer);
    peer->is_touched = false;
  }
  list_deinit(&touched);
  egress_send(server);
  free_closing(server);
  if (server->is_stopping && server->alone_count == 0) close_ports(server);
  return is_more || server->touched.count > 0;
}

// --- Counters ---

static void add_losses(void *data, UdpEntry *entry) {
  UdpTotals *losses = data;
  const UdpPeer *peer = udp_peer_of(entry);
  if (!peer) return;  // the remote counts this connection
  UdpLinkStats stats = udp_link_stats(peer->link);
  losses->lost += stats.lost;
  losses->resent_bytes += stats.resent_bytes;
}

static void add_counters(const NetPart *part, NetCounters *counters) {
  UdpServer *server = (UdpServer *)part;
  uint64_t now_ms = net_now_ms(server->net);
  if (now_ms - server->losses_ms >= LOSSES_MS) {
    server->losses = (UdpTotals){0};
    table_visit(&server->table, add_losses, &server->losses);
    server->losses_ms = now_ms;
  }
  counters_add(counters, &(NetCounters){.udp = server->totals});
  counters_add(counters, &(NetCounters){.udp = server->losses});
}

// --- Opening and closing ---

// Returns whether the kernel can split messages into datagrams.
static bool can_segment(int fd) {
  int size = 0;
  return setsockopt(fd, SOL_UDP, UDP_SEGMENT, &size, sizeof size) == 0;
}

static bool is_any(const SocketAddress *address) {
  if (address->any.sa_family == AF_INET6)
    return IN6_IS_ADDR_UNSPECIFIED(&address->v6.sin6_addr);
  return address->v4.sin_addr.s_addr == htonl(INADDR_ANY);
}

// Returns an unbound socket or an error.
static int make_socket(int family) {
  int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  return fd >= 0 ? fd : -errno;
}

// Returns the descriptor or an error. If the port is 0, stores the port that was
// chosen. Sets `family` as in UdpSocket.
static int bind_port(const Loop *loop, const char *host, uint16_t *port,
                     uint8_t *family) {
  SocketAddress address;
  socklen_t size = sizeof address;
  int err = address_resolve(host, *port, SOCK_DGRAM, &address);
  if (err) return err;
  int taken = service_take_socket(loop, SOCK_DGRAM, &address.any);
  int fd = taken >= 0 ? taken : make_socket(address.any.sa_family);
  if (fd < 0) return fd;
  int bytes = SOCKET_BYTES;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  if ((taken < 0 && bind(fd, &address.any, size) != 0) ||
      getsockname(fd, &address.any, &size) != 0) {
    err = -errno;
    close(fd);
    return err;
  }
  *port = address_port(&address);
  *family = (uint8_t)(is_any(&address) ? address.any.sa_family : AF_UNSPEC);
  return fd;
}

static UdpSocket socket_at(UdpServer *server, const UdpPort *port) {
  return (UdpSocket){.server = server,
                     .fd = port->fd,
                     .port = port->port,
                     .family = port->family,
                     .first = -1,
                     .last = -1};
}

static void close_bound(UdpServer *server) {
  for (uint32_t i = 0; i < server->socket_count; i++) close(server->sockets[i].fd);
  mem_free(server->sockets);
  mem_free(server);
}

// Binds all ports. If this fails, stores the error and the failed port, and returns
// NULL.
static UdpServer *bind_all(const Loop *loop, const char *host, uint16_t *port,
                           uint32_t count, int *err) {
  UdpServer *server = mem_zalloc(sizeof *server);
  server->sockets = mem_zalloc(count * sizeof *server->sockets);
  for (uint32_t i = 0; i < count; i++) {
    uint16_t wanted = i == 0 ? *port : (uint16_t)(server->sockets[0].port + i);
    uint8_t family = AF_UNSPEC;
    int fd = wanted < i ? ERR_INVALID : bind_port(loop, host, &wanted, &family);
    if (fd < 0) {
      *port = wanted;
      *err = fd;
      close_bound(server);
      return NULL;
    }
    server->sockets[i] =
        socket_at(server, &(UdpPort){.fd = fd, .port = wanted, .family = family});
    local_ask(&server->sockets[i]);
    server->socket_count++;
  }
  *port = server->sockets[0].port;
  return server;
}

// Accepts no more connections. The ports close after the last connection by UDP alone.
static void stop(NetPart *part) { ((UdpServer *)part)->is_stopping = true; }

// Ends all connections.
static void end(NetPart *part) {
  UdpServer *server = (UdpServer *)part;
  for (UdpEntry *entry; (entry = table_any(&server->table));) {
    UdpPeer *peer = udp_peer_of(entry);
    if (!peer) {
      udp_free_proxy((UdpProxy *)entry);
      continue;
    }
    if (peer->conn && !entry->is_attached) conn_destroy(peer->conn);
    if (peer->conn) peer->conn->datagrams = NULL;
    free_closing(server);
    udp_peer_free(peer);
  }
  close_ports(server);
}

static void free_server(NetPart *part) {
  UdpServer *server = (UdpServer *)part;
  table_deinit(&server->table);
  list_deinit(&server->touched);
  list_deinit(&server->closing);
  buf_deinit(&server->input);
  udp_free_offers(server);
  mem_free(server->egress);
  mem_free(server->ingress);
  mem_free(server->remote_ports);
  mem_free(server->sockets);
  mem_free(server);
}

static void serve(Net *net, UdpServer *server) {
  static const NetPartOps PART = {.end_iteration = end_iteration,
                                  .stop = stop,
                                  .end = end,
                                  .free = free_server,
                                  .add_counters = add_counters};
  server->net = net;
  server->egress = egress_new();
  server->ingress = mem_zalloc(sizeof *server->ingress);
  server->has_segments = can_segment(server->sockets[0].fd);
  uint8_t seed[UDP_KEY_SIZE];
  net_random(net, seed, sizeof seed);
  udp_cookies_init(&server->cookies, seed, net_clock_us(net));
  table_init(&server->table, net);
  for (uint32_t i = 0; i < server->socket_count; i++) {
    UdpSocket *socket = &server->sockets[i];
    uv_poll_init(&net->loop.uv, &socket->poll, socket->fd);
    socket->poll.data = socket;
    uv_poll_start(&socket->poll, UV_READABLE, on_readable);
  }
  net->udp = server;
  net->udp_offer = udp_offer;
  net_add_part(net, &server->part, &PART);
}

// Serves a port of another Net, and owns its descriptor from now on.
static void run_take(Net *net, const void *body) {
  const UdpPort *port = body;
  UdpServer *server = mem_zalloc(sizeof *server);
  server->sockets = mem_zalloc(sizeof *server->sockets);
  server->sockets[0] = socket_at(server, port);
  server->socket_count = 1;
  memcpy(server->secret, port->secret, sizeof server->secret);
  serve(net, server);
}

static void drop_port(const void *body) { close(((const UdpPort *)body)->fd); }

int net_udp_open(Net *net, const char *host, uint16_t *port, uint32_t count) {
  static const RemoteCall TAKE = {.run = run_take, .drop = drop_port};
  uint32_t others = net->remote_count;
  int err = udp_keys_init();
  UdpServer *server =
      err ? NULL : bind_all(&net->loop, host, port, count + others, &err);
  if (!server) return err;
  server->socket_count = count;
  net_random(net, server->secret, sizeof server->secret);
  server->remote_ports = mem_zalloc((others + 1) * sizeof *server->remote_ports);
  for (uint32_t i = 0; i < others; i++) {
    const UdpSocket *socket = &server->sockets[count + i];
    Remote *remote = net->remotes[i];
    UdpPort *given = remote->ops->post(remote, &TAKE, sizeof *given);
    *given =
        (UdpPort){.fd = socket->fd, .port = socket->port, .family = socket->family};
    memcpy(given->secret, server->secret, sizeof given->secret);
    server->remote_ports[i] = socket->port;
  }
  serve(net, server);
  return 0;
}
