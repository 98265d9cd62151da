// The libuv TCP transport: listening, accepting, and the bytes of each connection.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/address.h"
#include "net/conn.h"
#include "net/io_threads/io_threads_calls.h"
#include "net/transport/tls_calls.h"

enum { LISTEN_BACKLOG = 4096 };

static const char OUT_OF_DESCRIPTORS[] = "out of file descriptors; raise `ulimit -n`";

typedef struct TcpConn {
  Conn conn;
  uv_tcp_t handle;  // its data is the conn
  bool is_stopped;  // reads nothing, even where libuv was not told to stop
} TcpConn;

struct Listener {
  uv_tcp_t tcp;
  Net *net;
  Framing framing;
  Listener *next;
};

static uv_stream_t *stream_of(Conn *conn) {
  return (uv_stream_t *)&((TcpConn *)conn)->handle;
}

// --- The transport ---

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *buf) {
  (void)wanted;
  const TcpConn *tcp = handle->data;
  Net *net = tcp->conn.net;
  *buf = uv_buf_init((char *)net->read_buffer,
                     tcp->is_stopped ? 0 : sizeof net->read_buffer);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
  if (count > 0)
    conn_read(stream->data, (const uint8_t *)buf->base, (size_t)count);
  else if (count == UV_ENOBUFS)
    uv_read_stop(stream);
  else if (count < 0)
    conn_read_end(stream->data, (int)count);
}

static void tcp_read_start(Conn *conn) {
  ((TcpConn *)conn)->is_stopped = false;
  uv_read_start(stream_of(conn), on_alloc, on_read);
}

// libuv stops when further bytes have come. Most stops end before that, and each that
// libuv is told of costs two system calls.
static void tcp_read_stop(Conn *conn) { ((TcpConn *)conn)->is_stopped = true; }

static int tcp_try_write(Conn *conn, const uv_buf_t *bufs, unsigned count) {
  return uv_try_write(stream_of(conn), bufs, count);
}

static void on_written(uv_write_t *request, int status) {
  conn_written(request->data, status);
}

static int tcp_write(Conn *conn, uint8_t *bytes, size_t size) {
  uv_write_t *request = conn->tls ? tls_request(conn) : &conn->backlog->request;
  request->data = conn;
  uv_buf_t buf = uv_buf_init((char *)bytes, (unsigned)size);
  return uv_write(request, stream_of(conn), &buf, 1, on_written);
}

static bool tcp_shutdown(Conn *conn) {
  uv_os_fd_t fd;
  if (uv_fileno((uv_handle_t *)stream_of(conn), &fd) != 0) return false;
  shutdown(fd, SHUT_WR);
  return true;
}

static void on_closed(uv_handle_t *handle) { conn_free(handle->data); }

static void tcp_close(Conn *conn) {
  uv_close((uv_handle_t *)stream_of(conn), on_closed);
}

static const Transport TCP = {
    .read_start = tcp_read_start,
    .read_stop = tcp_read_stop,
    .try_write = tcp_try_write,
    .write = tcp_write,
    .shutdown = tcp_shutdown,
    .close = tcp_close,
};

// --- Accepting ---

// Descriptors are given out from the lowest, so the highest is given out last. While
// none is left, libuv accepts and closes by means of a spare one and says nothing of
// it.
static void warn_if_last(Net *net, const uv_tcp_t *handle) {
  uv_os_fd_t fd;
  if (uv_fileno((const uv_handle_t *)handle, &fd) == 0 &&
      (uint64_t)fd + 1 >= net->descriptors)
    net_warn_accept(net, OUT_OF_DESCRIPTORS);
}

static void read_address(const uv_tcp_t *handle, char text[ADDRESS_SIZE]) {
  SocketAddress peer = {.any = {.sa_family = AF_UNSPEC}};  // it may be gone already
  int size = sizeof peer;
  uv_tcp_getpeername(handle, &peer.any, &size);
  address_text(&peer, text);
}

static TcpConn *make_conn(Net *net, Framing framing) {
  TcpConn *tcp = mem_zalloc(sizeof *tcp);
  conn_init(&tcp->conn, net, &TCP, framing);
  uv_tcp_init(&net->loop.uv, &tcp->handle);
  tcp->handle.data = &tcp->conn;
  return tcp;
}

static void accept_conn(Listener *listener) {
  Net *net = listener->net;
  TcpConn *tcp = make_conn(net, listener->framing);
  Conn *conn = &tcp->conn;
  int err = uv_accept((uv_stream_t *)&listener->tcp, (uv_stream_t *)&tcp->handle);
  if (err || !conn_add(conn)) {
    conn_destroy(conn);
    return;
  }
  warn_if_last(net, &tcp->handle);
  uv_tcp_nodelay(&tcp->handle, 1);
  ConnInfo info = {.framing = listener->framing};
  read_address(&tcp->handle, info.address);
  conn_open(conn, &info);
}

// --- Accepting for another thread ---

static void on_taken(uv_handle_t *handle) { mem_free(handle); }

// A handle cannot leave its loop, but its descriptor can be had once more.
static int take_descriptor(Net *net, const uv_tcp_t *handle, ConnInfo *info) {
  uv_os_fd_t fd;
  int err = uv_fileno((const uv_handle_t *)handle, &fd);
  if (err) return err;
  warn_if_last(net, handle);
  read_address(handle, info->address);
  fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) net_warn_accept(net, OUT_OF_DESCRIPTORS);
  return fd;
}

static void accept_for_servicer(Listener *listener) {
  Net *net = listener->net;
  uv_tcp_t *handle = mem_alloc(sizeof *handle);
  uv_tcp_init(&net->loop.uv, handle);
  handle->data = NULL;
  ConnInfo info = {.framing = listener->framing};
  int fd = uv_accept((uv_stream_t *)&listener->tcp, (uv_stream_t *)handle);
  if (fd == 0) fd = take_descriptor(net, handle, &info);
  uv_close((uv_handle_t *)handle, on_taken);
  if (fd >= 0) servicers_adopt(net, fd, &info);
}

bool tcp_adopt(Net *net, uv_os_fd_t fd, const ConnInfo *info) {
  TcpConn *tcp = make_conn(net, info->framing);
  int err = uv_tcp_open(&tcp->handle, fd);
  if (err) close(fd);
  if (err || !conn_add(&tcp->conn)) {
    conn_destroy(&tcp->conn);
    return false;
  }
  uv_tcp_nodelay(&tcp->handle, 1);
  conn_open(&tcp->conn, info);
  return true;
}

// --- Listening ---

static void on_connection(uv_stream_t *server, int status) {
  Listener *listener = server->data;
  Net *net = listener->net;
  if (status != 0)
    net_warn_accept(net, uv_strerror(status));
  else if (net->servicers && listener->framing != FRAMING_ADMIN)
    accept_for_servicer(listener);
  else
    accept_conn(listener);
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
  err = uv_tcp_bind(&listener->tcp, &address.any, 0);
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
