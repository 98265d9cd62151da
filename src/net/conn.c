// Connections: cutting the byte stream into packets or lines, and closing. How the bytes
// travel is their transport's; what they are when they are no packets is in web*.c.
// Whatever ends a connection from outside is told upwards at the end of the turn, so
// nobody finds a connection gone in the middle of something.
#include "net/conn.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/io_threads/io_threads_calls.h"
#include "net/protocol/http/admin_calls.h"
#include "net/protocol/web_calls.h"
#include "net/udp/udp_calls.h"

Conn *conn_find(const Net *net, ConnId id) { return slots_find(&net->conns, id); }

// --- Input ---

static bool is_unfinished(const Conn *conn) {
  return conn->in.size > 0 || (conn->socket && socket_is_unfinished(conn));
}

void conn_fault(Conn *conn, Code code, const char *text) {
  conn->net->events.fault(conn->net->data, conn->data, code, text);
}

// A short line has no deadline, because it may be typed key by key.
static bool has_deadline(const Conn *conn) {
  if (conn->framing == FRAMING_LINES && !conn->socket)
    return conn->in.size > NET_TYPED_BYTES;
  return is_unfinished(conn);
}

static void on_packet_deadline(void *data, uint64_t now_ms) {
  Conn *conn = data;
  if (conn->state != CONN_OPEN || conn->is_held || !has_deadline(conn)) return;
  uint64_t due_ms = conn->in_since_ms + NET_PACKET_DEADLINE_MS;
  if (now_ms < due_ms) {
    timers_set(conn->net->timers, &conn->timer, due_ms, on_packet_deadline, conn);
    return;
  }
  conn_fault(conn, CODE_IDLE_TIMEOUT,
             conn->framing == FRAMING_LINES
                 ? "a line was begun and not finished within 10 s"
                 : "a packet was begun and not finished within 10 s");
}

void conn_fault_at(Conn *conn, int error) {
  if (error == ERR_TOO_LARGE)
    conn_fault(conn, CODE_PAYLOAD_TOO_LARGE,
               conn->framing == FRAMING_LINES
                   ? "the line is longer than max_payload"
                   : "the packet's payload is larger than max_payload");
  else
    conn_fault(conn, CODE_PROTOCOL, "the packet's header breaks a rule");
}

bool conn_takes_input(const Conn *conn) {
  return conn->state == CONN_OPEN && !conn->is_held && !conn->is_paused &&
         !conn->is_ended;
}

void conn_resume_later(Conn *conn) {
  if (conn->is_resumed) return;
  conn->is_resumed = true;
  list_add(&conn->net->resumed, conn);
}

static void read_start(Conn *conn) { transport_read_start(conn->transport); }

static void read_stop(Conn *conn) { transport_read_stop(conn->transport); }

void conn_pause(Conn *conn) {
  if (conn->state != CONN_OPEN || conn->is_paused) return;
  conn->is_paused = true;
  read_stop(conn);
  conn_resume_later(conn);
}

// Both readers hand up what is whole and return how many bytes that was.
static size_t read_packets(Conn *conn, const uint8_t *bytes, size_t size) {
  Net *net = conn->net;
  size_t done = 0;
  while (conn_takes_input(conn)) {
    Packet packet;
    int64_t taken = packet_read(bytes + done, size - done, conn->max_payload, &packet);
    if (taken < 0) conn_fault_at(conn, (int)taken);
    if (taken <= 0) break;
    done += (size_t)taken;
    net->events.packet(net->data, conn->data, &packet);
  }
  return done;
}

static size_t read_lines(Conn *conn, const uint8_t *bytes, size_t size) {
  Net *net = conn->net;
  size_t done = 0;
  while (conn_takes_input(conn)) {
    const uint8_t *start = bytes + done;
    size_t left = size - done;
    const uint8_t *end = memchr(start + conn->scanned, '\n', left - conn->scanned);
    size_t length = end ? (size_t)(end - start) : left;
    if (length > 0 && start[length - 1] == '\r') length--;
    conn->scanned = end ? 0 : (uint32_t)left;
    if (length > conn->max_payload) {
      conn_fault_at(conn, ERR_TOO_LARGE);
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

void conn_settle(Conn *conn, bool is_new) {
  if (conn->state != CONN_OPEN) return;
  buf_trim(&conn->in);
  // The deadline of a line starts when the line becomes longer than people type.
  bool was_typed =
      conn->framing == FRAMING_LINES && conn->unfinished_bytes <= NET_TYPED_BYTES;
  if (is_new || (was_typed && !conn->socket)) conn->in_since_ms = net_now_ms(conn->net);
  if (has_deadline(conn) && !timers_is_set(&conn->timer))
    timers_set(conn->net->timers, &conn->timer,
               conn->in_since_ms + NET_PACKET_DEADLINE_MS, on_packet_deadline, conn);
  unfinished_count(conn);
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
  conn_settle(conn, was_empty || done > 0);
}

// The last line of a text peer may lack its end.
static void take_last_line(Conn *conn) {
  if (conn->framing != FRAMING_LINES || conn->socket || conn->in.size == 0 ||
      !conn_takes_input(conn))
    return;
  static const uint8_t newline = '\n';
  take_input(conn, &newline, 1);
}

void conn_input(Conn *conn, const uint8_t *bytes, size_t size) {
  switch ((Protocol)conn->protocol) {
    case PROTOCOL_NATIVE:
      take_input(conn, bytes, size);
      break;
    case PROTOCOL_SNIFF:
      web_sniff(conn, bytes, size);
      break;
    case PROTOCOL_HTTP:
      http_input(conn, bytes, size);
      break;
    case PROTOCOL_WEBSOCKET:
      socket_input(conn, bytes, size);
      break;
    case PROTOCOL_ADMIN:
      admin_input(conn, bytes, size);
      break;
  }
}

// What ends where it may not: a packet, or a WebSocket without a close frame.
static bool ends_early(const Conn *conn) {
  if (conn->socket) return !socket_is_over(conn);
  return conn->framing == FRAMING_PACKETS && conn->in.size > 0;
}

void conn_hold(Conn *conn) {
  conn->is_held = true;
  read_stop(conn);
}

void conn_release(Conn *conn) {
  if (!conn->is_held) return;
  conn->is_held = false;
  conn->in_since_ms = net_now_ms(conn->net);  // the other side could not finish before
  conn_resume_later(conn);
}

void net_hold(Net *net, ConnId id) {
  Conn *conn = conn_find(net, id);
  if (conn && conn->servicer)
    client_hold(conn);
  else if (conn)
    conn_hold(conn);
}

void net_release(Net *net, ConnId id) {
  Conn *conn = conn_find(net, id);
  if (conn && conn->servicer)
    client_release(conn);
  else if (conn)
    conn_release(conn);
}

static void resume_input(Conn *conn) {
  if (conn->http) http_resume(conn);
  if (conn->socket) socket_resume(conn);
  if (conn->admin) admin_resume(conn);
  if (conn->protocol != PROTOCOL_NATIVE || conn->in.size == 0) return;
  size_t done = read_bytes(conn, conn->in.data, conn->in.size);
  buf_consume(&conn->in, done);
  conn_settle(conn, done > 0);
}

void conn_resume(Conn *conn) {
  if (conn->servicer) {
    client_resume(conn);
    return;
  }
  conn->is_paused = false;
  if (!conn_takes_input(conn)) return;
  if (!conn->is_eof) read_start(conn);
  resume_input(conn);
}

// --- Birth ---

void conn_init(Conn *conn, Net *net, Transport *transport, Framing framing) {
  conn_use(conn, transport);
  conn->net = net;
  conn->framing = (uint8_t)framing;
  conn->protocol = framing == FRAMING_SNIFF   ? PROTOCOL_SNIFF
                   : framing == FRAMING_ADMIN ? PROTOCOL_ADMIN
                                              : PROTOCOL_NATIVE;
  conn->max_payload = net->limits.max_payload;
}

bool conn_add(Conn *conn) {
  conn->id = slots_add(&conn->net->conns, conn);
  return conn->id != 0;
}

// One that was closed as it came has a while to read why, unless so many have that they
// would use up the descriptors.
void conn_limit_refused(Conn *conn) {
  if (!conn->is_refused) conn->net->totals->refused++;
  conn->is_refused = true;
  if (conn->net->totals->refused > REFUSED_MAX) conn_destroy(conn);
}

static const char *transport_name(const Conn *conn) {
  if (conn->framing == FRAMING_LINES) return "text";
  if (udp_is_alone(conn)) return "udp";
  return conn->socket ? "ws" : "tcp";
}

static void make_known(Conn *conn, ConnInfo *info) {
  Net *net = conn->net;
  info->framing = (Framing)conn->framing;
  info->transport = transport_name(conn);
  info->is_tls = conn->transport->kind->is_encrypted;
  conn->is_known = true;
  conn->data = net->events.open(net->data, conn->id, info);
  if (conn->state == CONN_CLOSING) conn_limit_refused(conn);
  if (conn_takes_input(conn)) read_start(conn);
}

void conn_introduce(Conn *conn, Framing framing) {
  ConnInfo info = *conn->visitor;
  web_leave(conn);
  if (conn->is_refused) conn->net->totals->refused--;
  conn->is_refused = false;
  timers_stop(conn->net->timers, &conn->timer);
  conn->framing = (uint8_t)framing;
  if (!conn->socket) conn->protocol = PROTOCOL_NATIVE;
  make_known(conn, &info);
}

void conn_open(Conn *conn, const ConnInfo *told) {
  ConnInfo info = *told;
  info.since_ms = net_now_ms(conn->net);
  if (conn->protocol == PROTOCOL_SNIFF)
    web_enter(conn, &info);
  else if (conn->protocol == PROTOCOL_ADMIN)
    admin_enter(conn, &info);
  else
    make_known(conn, &info);
}

// --- Output ---

void conn_write_now(Conn *conn, const uint8_t *bytes, size_t size) {
  int written = UV_EAGAIN;
  uv_buf_t buf = uv_buf_init((char *)bytes, (unsigned)size);
  if (!conn->backlog) written = transport_try_write(conn->transport, &buf, 1);
  if (written < 0 && written != UV_EAGAIN) {
    conn_end(conn, written);
    return;
  }
  size_t done = written > 0 ? (size_t)written : 0;
  if (done == size) return;
  backlog_take_rest(conn, bytes + done, size - done);
  backlog_pump(conn);
}

NetSent conn_queued(const Conn *conn) {
  if (!conn->backlog) return (NetSent){0};
  return (NetSent){conn->backlog->droppable + conn->backlog->kept,
                   conn->backlog->bytes};
}

// --- Death ---

void conn_destroy(Conn *conn) {
  if (conn->state == CONN_CLOSED) return;
  conn->state = CONN_CLOSED;
  timers_stop(conn->net->timers, &conn->timer);
  transport_close(conn->transport);
}

static void on_linger_over(void *data, uint64_t now_ms) {
  (void)now_ms;
  conn_destroy(data);
}

void conn_drained(Conn *conn) {
  if (conn->socket && socket_finish(conn)) return;
  // The other side closes when it has read everything.
  if (transport_shutdown(conn->transport) && conn->is_eof) conn_destroy(conn);
}

// From here on the layer above does not know the connection any more.
void conn_close(Conn *conn) {
  Net *net = conn->net;
  flush_conn(conn, PRIORITIES_ALL);
  account_add(conn, conn->sent);
  account_leave(conn);
  conn->published = NULL;
  web_leave(conn);
  if (conn->admin) admin_leave(conn);
  if (conn->udp) udp_leave(conn);
  group_leave_all(conn);
  unfinished_forget(conn);
  slots_remove(&net->conns, conn->id);
  if (conn->direct.is_dirty) list_remove(&net->dirty_conns, conn);
  if (conn->is_ended) list_remove(&net->ended, conn);
  if (conn->is_resumed) list_remove(&net->resumed, conn);
  if (conn->is_reported) list_remove(&net->dropping, conn);
  conn->state = CONN_CLOSING;
  if (conn->is_broken) {
    conn_destroy(conn);
    return;
  }
  timers_set(net->timers, &conn->timer, net_now_ms(net) + NET_LINGER_MS, on_linger_over,
             conn);
  if (!conn->is_eof) read_start(conn);
  if (conn->backlog)
    backlog_pump(conn);
  else
    conn_drained(conn);
}

void net_close(Net *net, ConnId id) { net_end(net, id, CODE_CLOSED, NULL); }

void net_end(Net *net, ConnId id, Code code, const char *text) {
  Conn *conn = conn_find(net, id);
  if (!conn) return;
  if (conn->servicer) {
    client_end(conn, code, text);
    return;
  }
  if (conn->socket) socket_set_end(conn, code, text);
  if (conn->udp) udp_set_end(conn, code);
  conn_close(conn);
}

void conn_end(Conn *conn, int error) {
  if (conn->state == CONN_CLOSING && error) conn_destroy(conn);
  if (conn->state != CONN_OPEN) return;
  if (!conn->is_slow && error) conn->is_broken = true;
  if (conn->is_ended) return;
  conn->is_ended = true;
  read_stop(conn);
  list_add(&conn->net->ended, conn);
}

void conn_tell_end(Conn *conn) {
  Net *net = conn->net;
  conn->is_ended = false;
  if (conn->servicer) {
    client_tell_end(conn);
    return;
  }
  if (!conn->is_known) {
    conn_close(conn);
    return;
  }
  if (conn->is_slow && !conn->is_broken) {
    conn->is_slow = false;
    conn->is_condemned = true;
    net->events.fault(net->data, conn->data, CODE_SLOW_CONSUMER,
                      "too many messages wait to be read");
    return;
  }
  Code code = conn->is_broken || conn->is_cut ? CODE_RESET : CODE_CLOSED;
  // The main thread of a servicer may have an answer for it, and ends it then.
  if (net->servicer)
    conn->is_ended = true;
  else
    conn_close(conn);
  net->events.close(net->data, conn->data, code);
}

// --- What the transport reports ---

static void on_ready(void *user) {
  Conn *conn = user;
  if (conn->state != CONN_OPEN) return;
  if (conn->admin)
    admin_ready(conn);
  else
    web_ready(conn);
}

static void on_read(void *user, const uint8_t *bytes, size_t size) {
  Conn *conn = user;
  // A closing connection's input is read and thrown away, so that closing sends no
  // reset.
  if (conn->state == CONN_OPEN) conn_input(conn, bytes, size);
}

static void on_used_share(void *user) { conn_pause(user); }

static void on_read_end(void *user, int status) {
  Conn *conn = user;
  read_stop(conn);
  conn->is_eof = true;
  if (conn->state == CONN_OPEN) {
    if (status == UV_EOF && conn->http && http_outlives_end(conn)) return;
    if (status == UV_EOF && conn->admin && admin_outlives_end(conn)) return;
    if (status == UV_EOF) take_last_line(conn);
    conn->is_cut = ends_early(conn);
    conn_end(conn, status == UV_EOF ? 0 : UV_ECONNRESET);
  } else if (!conn->backlog || (status != UV_EOF && status != UV_ECONNABORTED)) {
    conn_destroy(conn);
  }
}

static void on_backlog_written(Conn *conn, int status) {
  conn->backlog->is_writing = false;
  conn->backlog->writing.size = 0;
  if (status == 0)
    backlog_pump(conn);
  else if (conn->state == CONN_OPEN)
    conn_end(conn, status);
  else
    conn_destroy(conn);
  if (conn->published) conn_publish(conn);
}

static void on_written(void *user, int status) {
  Conn *conn = user;
  if (conn->backlog && conn->backlog->is_writing)
    on_backlog_written(conn, status);
  else if (conn->state == CONN_CLOSING)
    conn_drained(conn);
}

static void on_closed(void *user) {
  Conn *conn = user;
  if (conn->is_refused) conn->net->totals->refused--;
  for (uint8_t i = 0; i < PRIORITY_COUNT; i++)
    frame_release(conn->net, &conn->direct, i);
  backlog_free(conn);
  http_free(conn);
  socket_free(conn);
  admin_free(conn);
  udp_conn_free(conn);
  mem_free(conn->visitor);
  buf_deinit(&conn->in);
  mem_free(conn);
}

void conn_use(Conn *conn, Transport *transport) {
  static const TransportUser USER = {
      .ready = on_ready,
      .read = on_read,
      .used_share = on_used_share,
      .read_end = on_read_end,
      .written = on_written,
      .closed = on_closed,
  };
  conn->transport = transport;
  transport->user = &USER;
  transport->user_data = conn;
}
