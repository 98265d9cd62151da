// The life of a connection: its birth, what its transport reports, and its end. See
// ARCHITECTURE.md, "The life of a connection".
#include <assert.h>

#include "base/mem.h"
#include "net/conn.h"

// --- Birth ---

void conn_init(Conn *conn, Net *net, Transport *transport, Framing framing) {
  conn_use(conn, transport);
  conn->self.ops = &LOCAL;
  conn->net = net;
  conn->protocol = net->protocols[framing];
  conn->in.framing = (uint8_t)framing;
  conn->in.max_payload = net->limits.max_payload;
  conn->close_code = -1;
}

bool conn_add(Conn *conn) { return endpoint_add(conn->net, &conn->self); }

void conn_open(Conn *conn, const ConnInfo *info) {
  conn->info = mem_alloc(sizeof *conn->info);
  *conn->info = *info;
  conn->info->since_ms = net_now_ms(conn->net);
  conn->protocol->open(conn);
  if (conn_takes_input(conn)) transport_read_start(conn->transport);
}

static void take_info(Conn *conn, ConnInfo *info) {
  if (info) *info = *conn->info;
  if (conn->is_entered) conn->net->events.leave(conn->net->data, conn->info->address);
  conn->is_entered = false;
  mem_free(conn->info);
  conn->info = NULL;
}

static TransportName name_of(const Conn *conn) {
  if (conn->in.framing == FRAMING_LINES) return TRANSPORT_TEXT;
  return conn->protocol->name ? conn->protocol->name : conn->transport->kind->name;
}

void conn_introduce(Conn *conn, Framing framing) {
  Net *net = conn->net;
  ConnInfo info;
  take_info(conn, &info);
  if (conn->is_refused) net->totals->refused--;
  conn->is_refused = false;
  timers_stop(net->timers, &conn->timer);
  conn->in.framing = (uint8_t)framing;
  info.framing = framing;
  info.transport = name_of(conn);
  conn->out.transport = (uint8_t)info.transport;
  info.is_tls = conn->transport->kind->is_encrypted;
  conn->is_known = true;
  conn->self.data = net->events.open(net->data, conn->self.id, &info);
  if (conn->state == CONN_CLOSING) conn_limit_refused(conn);
  if (conn_takes_input(conn)) transport_read_start(conn->transport);
}

// --- What the transport reports ---

static void on_ready(void *user) {
  Conn *conn = user;
  if (conn->state == CONN_OPEN && conn->protocol->ready) conn->protocol->ready(conn);
}

// Reads and drops the input of a closing connection, because closing with unread input
// would send a reset.
static void on_read(void *user, const uint8_t *bytes, size_t size) {
  Conn *conn = user;
  if (conn->state == CONN_OPEN) conn->protocol->input(conn, bytes, size);
}

static void on_used_share(void *user) { conn_stop(user, STOP_SHARE); }

static void on_read_end(void *user, int status) {
  Conn *conn = user;
  bool is_orderly = status == UV_EOF;
  conn->is_eof = true;
  if (conn->state == CONN_OPEN) {
    InputEnd end = INPUT_ENDS;
    if (is_orderly && conn->protocol->input_end) end = conn->protocol->input_end(conn);
    if (end == INPUT_STAYS)
      transport_read_stop(conn->transport);
    else
      conn_end(conn, !is_orderly        ? END_BROKEN
                     : end == INPUT_CUT ? END_CUT
                                        : END_ORDERLY);
  } else if (!conn->out.backlog || (!is_orderly && status != UV_ECONNABORTED)) {
    conn_destroy(conn);
  }
}

static void on_written(void *user, int status) {
  Conn *conn = user;
  if (!backlog_written(conn, status) && conn->state == CONN_CLOSING) conn_drained(conn);
  conn_publish(conn);
}

static void on_closed(void *user) {
  Conn *conn = user;
  assert(!conn->out.direct.pending && "conn_close flushes before conn_destroy");
  if (conn->is_refused) conn->net->totals->refused--;
  if (conn->protocol->free) conn->protocol->free(conn);
  backlog_free(conn);
  buf_deinit(&conn->in.bytes);
  mem_free(conn->info);
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

void conn_resume(Endpoint *endpoint) {
  Conn *conn = (Conn *)endpoint;
  conn->stops &= (uint8_t)~STOP_SHARE;
  if (!conn_takes_input(conn)) return;
  if (!conn->is_eof) transport_read_start(conn->transport);
  if (conn->protocol->resume) conn->protocol->resume(conn);
}

// --- Death ---

static void on_linger_over(void *data, uint64_t now_ms) {
  (void)now_ms;
  conn_destroy(data);
}

// Flushes the output and makes the id stale. Then the connection lingers until the rest
// of the output has left.
void conn_close(Conn *conn) {
  Net *net = conn->net;
  conn->out.holds = 0;
  flush_conn(conn, PRIORITIES_ALL);
  counter_leave(&conn->self, conn->out.sent);
  if (conn->info) take_info(conn, NULL);
  if (conn->protocol->leave) conn->protocol->leave(conn);
  if (conn->datagrams) conn->datagrams->ops->leave(conn->datagrams);
  group_leave_all(conn);
  conn_count_unfinished(conn, 0);
  if (conn->out.direct.is_dirty) list_remove(&net->dirty_conns, conn);
  endpoint_remove(net, &conn->self);
  conn->state = CONN_CLOSING;
  if (conn->end == END_BROKEN) {
    conn_destroy(conn);
    return;
  }
  timers_set(net->timers, &conn->timer, net_now_ms(net) + NET_LINGER_MS, on_linger_over,
             conn);
  if (!conn->is_eof) transport_read_start(conn->transport);
  if (conn->out.backlog)
    backlog_pump(conn);
  else
    conn_drained(conn);
}

void conn_report_end(Endpoint *endpoint) {
  Conn *conn = (Conn *)endpoint;
  Net *net = conn->net;
  conn->self.listed &= (uint8_t)~LISTED_ENDED;
  if (!conn->is_known) {
    conn_close(conn);
    return;
  }
  if (conn->end == END_SLOW) {
    conn->end = END_NONE;
    conn->out.is_condemned = true;
    conn_fault(conn, CODE_SLOW_CONSUMER, "too many messages wait to be read");
    return;
  }
  bool is_reset = conn->end == END_BROKEN || conn->end == END_CUT;
  Code code = is_reset ? CODE_RESET : CODE_CLOSED;
  if (net->events.ending) {
    conn->self.listed |= LISTED_ENDED;  // set until net_end, so that the connection
                                        // takes no input
    net->events.ending(net->data, conn->self.data, code);
    return;
  }
  conn_close(conn);
  net->events.close(net->data, conn->self.data, code);
}
