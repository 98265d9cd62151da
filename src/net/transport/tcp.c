// The libuv TCP transport: listening, accepting, and the bytes of each connection.
#include <fcntl.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/address.h"
#include "net/conn.h"
#include "os/service.h"

enum { LISTEN_BACKLOG = 4096 };

static const char OUT_OF_DESCRIPTORS[] = "out of file descriptors; raise `ulimit -n`";

// A connection and its socket, which are freed together.
typedef struct TcpConn {
  Conn conn;
  Transport transport;
  uv_tcp_t handle;  // handle, whose data is the transport
  bool is_stopped;  // input is not reported, although libuv may still poll
} TcpConn;

// A write that the kernel could not take at once.
typedef struct TcpWrite {
  uv_write_t request;
  Transport *transport;
} TcpWrite;

struct Listener {
  uv_tcp_t tcp;
  Net *net;
  Framing framing;
  bool is_waiting;  // libuv has a connection that is not accepted yet
  Listener *next;
};

static TcpConn *tcp_of(Transport *transport) {
  return (TcpConn *)((char *)transport - offsetof(TcpConn, transport));
}

static uv_stream_t *stream_of(Transport *transport) {
  return (uv_stream_t *)&tcp_of(transport)->handle;
}

// --- The transport ---

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *buf) {
  (void)wanted;
  const TcpConn *tcp = tcp_of(handle->data);
  Net *net = tcp->conn.net;
  loop_wake(&net->loop);
  *buf = uv_buf_init((char *)net->read_buffer,
                     tcp->is_stopped ? 0 : sizeof net->read_buffer);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
  const Transport *transport = stream->data;
  const TransportUser *user = transport->user;
  if (count > 0)
    user->read(transport->user_data, (const uint8_t *)buf->base, (size_t)count);
  else if (count == UV_ENOBUFS)
    uv_read_stop(stream);
  else if (count < 0)
    user->read_end(transport->user_data, (int)count);
  if (count == READ_BUFFER_BYTES && !uv_is_closing((uv_handle_t *)stream))
    transport->user->used_share(transport->user_data);
}

static void tcp_read_start(Transport *transport) {
  tcp_of(transport)->is_stopped = false;
  uv_read_start(stream_of(transport), on_alloc, on_read);
}

// Stops reporting input. Only sets a flag; on_alloc stops libuv's reading when more
// bytes arrive. Most stops end before that, and stopping in libuv costs two system
// calls.
static void tcp_read_stop(Transport *transport) {
  tcp_of(transport)->is_stopped = true;
}

static int tcp_try_write(Transport *transport, const uv_buf_t *bufs, unsigned count) {
  return uv_try_write(stream_of(transport), bufs, count);
}

static void on_written(uv_write_t *request, int status) {
  const Transport *transport = ((TcpWrite *)request)->transport;
  bool is_closing = uv_is_closing((uv_handle_t *)request->handle);
  mem_free(request);
  if (!is_closing) transport->user->written(transport->user_data, status);
}

static int tcp_write(Transport *transport, uint8_t *bytes, size_t size) {
  TcpWrite *write = mem_alloc(sizeof *write);
  uv_buf_t buf = uv_buf_init((char *)bytes, (unsigned)size);
  write->transport = transport;
  int err = uv_write(&write->request, stream_of(transport), &buf, 1, on_written);
  if (err) mem_free(write);
  return err;
}

static bool tcp_shutdown(Transport *transport) {
  uv_os_fd_t fd;
  if (uv_fileno((uv_handle_t *)stream_of(transport), &fd) == 0) shutdown(fd, SHUT_WR);
  return true;
}

static void on_closed(uv_handle_t *handle) {
  const Transport *transport = handle->data;
  transport->user->closed(transport->user_data);
}

static void tcp_close(Transport *transport) {
  uv_close((uv_handle_t *)stream_of(transport), on_closed);
}

static const TransportKind TCP = {
    .name = TRANSPORT_TCP,
    .read_start = tcp_read_start,
    .read_stop = tcp_read_stop,
    .try_write = tcp_try_write,
    .write = tcp_write,
    .shutdown = tcp_shutdown,
    .close = tcp_close,
};

// --- Accepting ---

// Logs a warning, at most once a second.
static void warn_accept(Net *net, const char *error) {
  uint64_t now_ms = net_now_ms(net);
  if (net->accept_warned_ms && now_ms - net->accept_warned_ms < 1000) return;
  net->accept_warned_ms = now_ms;
  log_warn("connections cannot be accepted", log_str("error", error));
}

// Warns when the kernel returns the highest descriptor, which is the last free one.
// Later warnings are impossible: libuv uses a spare descriptor to accept and close
// connections, and reports nothing.
static void warn_if_last(Net *net, const uv_tcp_t *handle) {
  uv_os_fd_t fd;
  if (uv_fileno((const uv_handle_t *)handle, &fd) == 0 &&
      (uint64_t)fd + 1 >= net->descriptors)
    warn_accept(net, OUT_OF_DESCRIPTORS);
}

static void read_address(const uv_tcp_t *handle, ConnInfo *info) {
  SocketAddress peer = {
      .any = {.sa_family = AF_UNSPEC}};  // the peer may have disconnected already
  int size = sizeof peer;
  uv_tcp_getpeername(handle, &peer.any, &size);
  address_text(&peer, info->address);
  info->port = address_port(&peer);
}

static TcpConn *make_conn(Net *net, Framing framing) {
  TcpConn *tcp = mem_zalloc(sizeof *tcp);
  tcp->transport.kind = &TCP;
  conn_init(&tcp->conn, net, &tcp->transport, framing);
  uv_tcp_init(&net->loop.uv, &tcp->handle);
  tcp->handle.data = &tcp->transport;
  return tcp;
}

static void accept_conn(Listener *listener) {
  Net *net = listener->net;
  TcpConn *tcp = make_conn(net, listener->framing);
  Conn *conn = &tcp->conn;
  int err = uv_accept((uv_stream_t *)&listener->tcp, (uv_stream_t *)&tcp->handle);
  ConnInfo info = {.framing = listener->framing};
  if (!err) read_address(&tcp->handle, &info);
  if (err || !net_accepts(net, &info) || !conn_add(conn)) {
    conn_destroy(conn);
    return;
  }
  warn_if_last(net, &tcp->handle);
  uv_tcp_nodelay(&tcp->handle, 1);
  conn_open(conn, &info);
}

// --- Accepting for a remote ---

static void on_taken(uv_handle_t *handle) { mem_free(handle); }

// Returns a duplicate of the handle's descriptor, because a handle cannot move to
// another loop. Returns a negative error if that fails or the connection may not stay.
static int take_descriptor(Net *net, const uv_tcp_t *handle, ConnInfo *info) {
  uv_os_fd_t fd;
  int err = uv_fileno((const uv_handle_t *)handle, &fd);
  if (err) return err;
  warn_if_last(net, handle);
  read_address(handle, info);
  if (!net_accepts(net, info)) return ERR_INVALID;
  fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) warn_accept(net, OUT_OF_DESCRIPTORS);
  return fd;
}

typedef struct Adopt {
  uv_os_fd_t fd;
  ConnInfo info;
} Adopt;

static bool adopt(Net *net, const Adopt *given) {
  TcpConn *tcp = make_conn(net, given->info.framing);
  int err = uv_tcp_open(&tcp->handle, given->fd);
  if (err) close(given->fd);
  if (err || net->is_stopping || !conn_add(&tcp->conn)) {
    conn_destroy(&tcp->conn);
    return false;
  }
  uv_tcp_nodelay(&tcp->handle, 1);
  conn_open(&tcp->conn, &given->info);
  return true;
}

static void run_adopt(Net *net, const void *body) {
  const Adopt *given = body;
  bool has_entered = given->info.framing == FRAMING_SNIFF && !given->info.refusal;
  if (!adopt(net, given) && has_entered)
    net->events.leave(net->data, given->info.address);
}

static void drop_adopt(const void *body) { close(((const Adopt *)body)->fd); }

// Passes a connection to a remote. Calls events.enter on this thread, because the layer
// above counts the connections of all remotes.
static void accept_for_remote(Listener *listener) {
  static const RemoteCall ADOPT = {.run = run_adopt, .drop = drop_adopt};
  Net *net = listener->net;
  uv_tcp_t *handle = mem_alloc(sizeof *handle);
  uv_tcp_init(&net->loop.uv, handle);
  handle->data = NULL;
  ConnInfo info = {.framing = listener->framing};
  int fd = uv_accept((uv_stream_t *)&listener->tcp, (uv_stream_t *)handle);
  if (fd == 0) fd = take_descriptor(net, handle, &info);
  uv_close((uv_handle_t *)handle, on_taken);
  if (fd < 0) return;
  if (info.framing == FRAMING_SNIFF)
    info.refusal = net->events.enter(net->data, info.address);
  Remote *remote = net_pick_remote(net);
  remote->ops->give(remote);
  Adopt *given = remote->ops->post(remote, &ADOPT, sizeof *given);
  *given = (Adopt){.fd = fd, .info = info};
}

// --- Listening ---

// Accepts a connection. If events.accept has no time left, leaves it to libuv, which
// then stops listening until tcp_accept_waiting takes it.
static void accept_next(Listener *listener) {
  const Net *net = listener->net;
  listener->is_waiting = !net_may_accept(net);
  if (listener->is_waiting) return;
  if (net->remote_count > 0 && listener->framing != FRAMING_ADMIN)
    accept_for_remote(listener);
  else
    accept_conn(listener);
}

bool tcp_accept_waiting(Net *net) {
  bool is_any = false;
  for (Listener *listener = net->listeners; listener; listener = listener->next) {
    if (listener->is_waiting) accept_next(listener);
    is_any |= listener->is_waiting;
  }
  return is_any;
}

static void on_connection(uv_stream_t *server, int status) {
  Listener *listener = server->data;
  loop_wake(&listener->net->loop);
  if (status == 0)
    accept_next(listener);
  else
    warn_accept(listener->net, uv_strerror(status));
}

static void on_listener_closed(uv_handle_t *handle) { mem_free(handle->data); }

static int bound_port(const uv_tcp_t *tcp, uint16_t *port) {
  SocketAddress address;
  int size = sizeof address;
  int err = uv_tcp_getsockname(tcp, &address.any, &size);
  if (err) return err;
  *port = address_port(&address);
  return 0;
}

int net_listen(Net *net, const char *host, uint16_t *port, Framing framing) {
  SocketAddress address;
  int err = address_resolve(host, *port, SOCK_STREAM, &address);
  if (err) return err;
  Listener *listener = mem_zalloc(sizeof *listener);
  *listener = (Listener){.net = net, .framing = framing};
  uv_tcp_init(&net->loop.uv, &listener->tcp);
  listener->tcp.data = listener;
  int fd = service_take_socket(&net->loop, SOCK_STREAM, &address.any);
  err = fd >= 0 ? uv_tcp_open(&listener->tcp, fd)
                : uv_tcp_bind(&listener->tcp, &address.any, 0);
  if (!err)
    err = uv_listen((uv_stream_t *)&listener->tcp, LISTEN_BACKLOG, on_connection);
  if (!err) err = bound_port(&listener->tcp, port);
  if (err) {
    uv_close((uv_handle_t *)&listener->tcp, on_listener_closed);
    return err;
  }
  listener->next = net->listeners;
  net->listeners = listener;
  return 0;
}

void net_unlisten(Net *net) {
  while (net->listeners) {
    Listener *listener = net->listeners;
    net->listeners = listener->next;
    uv_close((uv_handle_t *)&listener->tcp, on_listener_closed);
  }
}

// --- The end of the loop ---

// Destroys the connection of a handle. The search visits handles, because closing
// connections have no id.
static void destroy(uv_handle_t *handle, void *data) {
  (void)data;
  if (handle->type == UV_TCP && !uv_is_closing(handle))
    conn_destroy(&tcp_of(handle->data)->conn);
}

void tcp_destroy_all(Net *net) { uv_walk(&net->loop.uv, destroy, NULL); }
