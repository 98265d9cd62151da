// Connections: accepting, cutting the byte stream into packets or lines, and closing.
// Whatever ends a connection from outside is told upwards at the end of the turn, so
// nobody finds a connection gone in the middle of something.
#include "net/internal.h"

#include <string.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/mem.h"

Conn *conn_find(const Net *net, ConnId id) { return slots_find(&net->conns, id); }

// --- Input ---

static void on_packet_deadline(void *data, uint64_t now_ms) {
  Conn *conn = data;
  if (conn->state != CONN_OPEN || conn->is_held || conn->in.size == 0) return;
  uint64_t due_ms = conn->in_since_ms + NET_PACKET_DEADLINE_MS;
  if (now_ms < due_ms) {
    timers_set(&conn->net->timers, &conn->timer, due_ms, on_packet_deadline, conn);
    return;
  }
  conn->net->events.fault(conn->net->data, conn->data, CODE_PROTOCOL,
                          "a packet was begun and not finished within 10 s");
}

static void fault(Conn *conn, int error) {
  Net *net = conn->net;
  if (error == ERR_TOO_LARGE)
    net->events.fault(net->data, conn->data, CODE_PAYLOAD_TOO_LARGE,
                      conn->framing == FRAMING_LINES
                          ? "the line is longer than max_payload"
                          : "the packet's payload is larger than max_payload");
  else
    net->events.fault(net->data, conn->data, CODE_PROTOCOL,
                      "the packet's header breaks a rule");
}

static bool takes_input(const Conn *conn) {
  return conn->state == CONN_OPEN && !conn->is_held && !conn->is_paused &&
         !conn->is_ended;
}

static void resume_later(Conn *conn) {
  if (conn->is_resumed) return;
  conn->is_resumed = true;
  list_add(&conn->net->resumed, conn);
}

void conn_pause(Conn *conn) {
  if (conn->state != CONN_OPEN || conn->is_paused) return;
  conn->is_paused = true;
  uv_read_stop((uv_stream_t *)&conn->tcp);
  resume_later(conn);
}

// Both readers hand up what is whole and return how many bytes that was.
static size_t read_packets(Conn *conn, const uint8_t *bytes, size_t size) {
  Net *net = conn->net;
  size_t done = 0;
  while (takes_input(conn)) {
    Packet packet;
    int64_t taken = packet_read(bytes + done, size - done, conn->max_payload, &packet);
    if (taken < 0) fault(conn, (int)taken);
    if (taken <= 0) break;
    done += (size_t)taken;
    net->events.packet(net->data, conn->data, &packet);
  }
  return done;
}

static size_t read_lines(Conn *conn, const uint8_t *bytes, size_t size) {
  Net *net = conn->net;
  size_t done = 0;
  while (takes_input(conn)) {
    const uint8_t *start = bytes + done;
    size_t left = size - done;
    const uint8_t *end = memchr(start + conn->scanned, '\n', left - conn->scanned);
    size_t length = end ? (size_t)(end - start) : left;
    if (length > 0 && start[length - 1] == '\r') length--;
    conn->scanned = end ? 0 : (uint32_t)left;
    if (length > conn->max_payload) {
      fault(conn, ERR_TOO_LARGE);
      break;
    }
    if (!end) break;
    done += (size_t)(end - start) + 1;
    net->events.line(net->data, conn->data, (const char *)start, length);
  }
  return done;
}

static size_t read_bytes(Conn *conn, const uint8_t *bytes, size_t size) {
  return conn->framing == FRAMING_LINES ? read_lines(conn, bytes, size)
                                        : read_packets(conn, bytes, size);
}

// After input: memory that is not needed is given back, and a packet that was begun
// (`is_new`: only now) has a deadline.
static void settle_input(Conn *conn, bool is_new) {
  if (conn->state != CONN_OPEN) return;
  if (conn->in.size == 0) {
    buf_deinit(&conn->in);
    return;
  }
  if (is_new) conn->in_since_ms = net_now_ms(conn->net);
  if (conn->framing == FRAMING_PACKETS && !timers_is_set(&conn->timer))
    timers_set(&conn->net->timers, &conn->timer,
               conn->in_since_ms + NET_PACKET_DEADLINE_MS, on_packet_deadline, conn);
}

// What is not whole waits in `in`, which grows with the bytes received, never with a
// length field.
static void take_input(Conn *conn, const uint8_t *bytes, size_t size) {
  bool was_empty = conn->in.size == 0;
  size_t done;
  if (was_empty) {
    done = read_bytes(conn, bytes, size);
    if (done < size) buf_append(&conn->in, bytes + done, size - done);
  } else {
    buf_append(&conn->in, bytes, size);
    done = read_bytes(conn, conn->in.data, conn->in.size);
    buf_consume(&conn->in, done);
  }
  settle_input(conn, was_empty || done > 0);
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *buf) {
  (void)wanted;
  Net *net = ((Conn *)handle->data)->net;
  *buf = uv_buf_init((char *)net->read_buffer, sizeof net->read_buffer);
}

// The last line of a text peer may lack its end.
static void take_last_line(Conn *conn) {
  if (conn->framing != FRAMING_LINES || conn->in.size == 0 || !takes_input(conn))
    return;
  static const uint8_t newline = '\n';
  take_input(conn, &newline, 1);
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
  Conn *conn = stream->data;
  if (count > 0) {
    // A closing connection's input is read and thrown away, so that closing sends no
    // reset.
    if (conn->state != CONN_OPEN) return;
    take_input(conn, (const uint8_t *)buf->base, (size_t)count);
    if (count == READ_BUFFER_BYTES) conn_pause(conn);
    return;
  }
  if (count == 0) return;
  uv_read_stop(stream);
  conn->is_eof = true;
  if (conn->state == CONN_OPEN) {
    if (count == UV_EOF) take_last_line(conn);
    bool is_cut = conn->framing == FRAMING_PACKETS && conn->in.size > 0;
    conn_end(conn, count == UV_EOF && !is_cut ? 0 : UV_ECONNRESET);
  } else if (!conn->backlog || count != UV_EOF) {
    conn_destroy(conn);
  }
}

void net_hold(Net *net, ConnId id) {
  Conn *conn = conn_find(net, id);
  if (!conn) return;
  conn->is_held = true;
  uv_read_stop((uv_stream_t *)&conn->tcp);
}

void net_release(Net *net, ConnId id) {
  Conn *conn = conn_find(net, id);
  if (!conn || !conn->is_held) return;
  conn->is_held = false;
  resume_later(conn);
}

void conn_resume(Conn *conn) {
  conn->is_paused = false;
  if (!takes_input(conn)) return;
  uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read);
  if (conn->in.size == 0) return;
  size_t done = read_bytes(conn, conn->in.data, conn->in.size);
  buf_consume(&conn->in, done);
  settle_input(conn, true);
}

// --- Birth ---

static void on_closed(uv_handle_t *handle) {
  Conn *conn = handle->data;
  if (conn->is_refused) conn->net->refused_count--;
  for (uint8_t i = 0; i < PRIORITY_COUNT; i++)
    frame_release(conn->net, &conn->direct, i);
  backlog_free(conn);
  buf_deinit(&conn->in);
  mem_free(conn);
}

// Descriptors are given out from the lowest, so the highest is given out last. While
// none is left, libuv accepts and closes by means of a spare one and says nothing of
// it.
static void warn_if_last(Conn *conn) {
  uv_os_fd_t fd;
  if (uv_fileno((uv_handle_t *)&conn->tcp, &fd) == 0 &&
      (uint64_t)fd + 1 >= conn->net->descriptors)
    net_warn_accept(conn->net, "out of file descriptors; raise `ulimit -n`");
}

static void read_address(const Conn *conn, char address[ADDRESS_SIZE]) {
  struct sockaddr_storage peer;
  int size = sizeof peer;
  strcpy(address, "unknown");
  if (uv_tcp_getpeername(&conn->tcp, (struct sockaddr *)&peer, &size)) return;
  uv_ip_name((struct sockaddr *)&peer, address, ADDRESS_SIZE);
  // A client that came over IPv4 to an IPv6 socket is known by its IPv4 address.
  if (strncmp(address, "::ffff:", 7) == 0 && strchr(address, '.'))
    memmove(address, address + 7, strlen(address + 7) + 1);
}

// One that was closed as it came has a while to read why, unless so many have that they
// would use up the descriptors.
static void limit_refused(Conn *conn) {
  conn->is_refused = true;
  if (++conn->net->refused_count > REFUSED_MAX) conn_destroy(conn);
}

void conn_accept(Listener *listener) {
  Net *net = listener->net;
  Conn *conn = mem_zalloc(sizeof *conn);
  conn->net = net;
  conn->framing = listener->framing;
  conn->max_payload = net->limits.max_payload;
  uv_tcp_init(&net->loop, &conn->tcp);
  conn->tcp.data = conn;
  int err = uv_accept((uv_stream_t *)&listener->tcp, (uv_stream_t *)&conn->tcp);
  if (!err) conn->id = slots_add(&net->conns, conn);
  if (!conn->id) {
    conn_destroy(conn);
    return;
  }
  warn_if_last(conn);
  uv_tcp_nodelay(&conn->tcp, 1);
  ConnInfo info = {.framing = listener->framing};
  read_address(conn, info.address);
  conn->data = net->events.open(net->data, conn->id, &info);
  if (conn->state == CONN_CLOSING) limit_refused(conn);
  if (takes_input(conn)) uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read);
}

// --- Death ---

void conn_destroy(Conn *conn) {
  if (conn->state == CONN_CLOSED) return;
  conn->state = CONN_CLOSED;
  timers_stop(&conn->net->timers, &conn->timer);
  uv_close((uv_handle_t *)&conn->tcp, on_closed);
}

static void on_linger_over(void *data, uint64_t now_ms) {
  (void)now_ms;
  conn_destroy(data);
}

void conn_drained(Conn *conn) {
  uv_os_fd_t fd;
  if (conn->is_eof || uv_fileno((uv_handle_t *)&conn->tcp, &fd) != 0)
    conn_destroy(conn);
  else
    shutdown(fd, SHUT_WR);  // the other side closes when it has read everything
}

// From here on the layer above does not know the connection any more.
static void begin_close(Conn *conn, bool is_writable) {
  Net *net = conn->net;
  if (is_writable) flush_conn(conn, PRIORITIES_ALL);
  group_leave_all(conn);
  slots_remove(&net->conns, conn->id);
  if (conn->direct.is_dirty) list_remove(&net->dirty_conns, conn);
  if (conn->is_ended) list_remove(&net->ended, conn);
  if (conn->is_resumed) list_remove(&net->resumed, conn);
  if (conn->is_reported) list_remove(&net->dropping, conn);
  conn->state = CONN_CLOSING;
  if (!is_writable || conn->end_error) {
    conn_destroy(conn);
    return;
  }
  timers_set(&net->timers, &conn->timer, net_now_ms(net) + NET_LINGER_MS,
             on_linger_over, conn);
  if (!conn->is_eof) uv_read_start((uv_stream_t *)&conn->tcp, on_alloc, on_read);
  if (conn->backlog)
    backlog_pump(conn);
  else
    conn_drained(conn);
}

void net_close(Net *net, ConnId id) {
  Conn *conn = conn_find(net, id);
  if (conn) begin_close(conn, true);
}

void conn_end(Conn *conn, int error) {
  if (conn->state == CONN_CLOSING && error) conn_destroy(conn);
  if (conn->state != CONN_OPEN) return;
  if (!conn->is_slow && error) conn->end_error = error;
  if (conn->is_ended) return;
  conn->is_ended = true;
  uv_read_stop((uv_stream_t *)&conn->tcp);
  list_add(&conn->net->ended, conn);
}

void conn_tell_end(Conn *conn) {
  Net *net = conn->net;
  conn->is_ended = false;
  if (conn->is_slow && !conn->end_error) {
    conn->is_slow = false;
    net->events.fault(net->data, conn->data, CODE_SLOW_CONSUMER,
                      "too many messages wait to be read");
    return;
  }
  Code code = conn->end_error ? CODE_RESET : CODE_CLOSED;
  begin_close(conn, !conn->end_error);
  net->events.close(net->data, conn->data, code);
}
