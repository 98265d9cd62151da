// Unidentified connections. The first bytes choose the protocol that replaces this one.
#include "net/protocol/protocols.h"

#include "net/protocol/http/admin_port.h"
#include "net/protocol/http/site.h"

static void set_timer(Conn *conn, uint64_t due_ms, TimerCallback *callback) {
  if (due_ms > 0)
    timers_set(conn->net->timers, &conn->timer, due_ms, callback, conn);
  else
    timers_stop(conn->net->timers, &conn->timer);
}

// Puts TLS around the transport if the first bytes are a TLS hello; returns whether
// they are. TLS has its own deadline for the handshake.
static bool take_tls(Conn *conn, uint64_t due_ms, const uint8_t *bytes, size_t size) {
  Transport *below = conn->transport;
  if (bytes[0] != TLS_FIRST_BYTE || below->kind->is_encrypted) return false;
  Transport *tls = conn->net->encrypt(conn->net, below, conn->info->address, due_ms);
  if (!tls) {
    conn_end(conn, END_BROKEN);
    return true;
  }
  set_timer(conn, 0, NULL);
  conn_use(conn, tls);
  below->user->read(below->user_data, bytes, size);
  return true;
}

// --- The game's port ---

static void become_packets(Conn *conn) {
  conn->in.framing = FRAMING_PACKETS;
  conn_speak(conn, &NATIVE);
}

// Treats a silent connection as a native client, so that it can read the reason of its
// end.
static void on_silence(void *data, uint64_t now_ms) {
  (void)now_ms;
  Conn *conn = data;
  if (conn->protocol == &SNIFF)
    become_packets(conn);
  else
    conn_introduce(conn, FRAMING_PACKETS);
}

void sniff_await(Conn *conn) {
  uint32_t timeout_ms =
      conn->is_refused ? SNIFF_REFUSED_MS : conn->net->limits.handshake_timeout_ms;
  set_timer(conn, timeout_ms > 0 ? conn->info->since_ms + timeout_ms : 0, on_silence);
}

// Begins a connection to the game's port. A refused connection gets the refusal in its
// own protocol, as soon as that is known. If too many refused connections exist, it
// counts as a native client at once.
static void open_game(Conn *conn) {
  Net *net = conn->net;
  const char *refusal = conn->info->refusal;
  if (!refusal) refusal = net->events.enter(net->data, conn->info->address);
  conn->is_refused = refusal != NULL;
  conn->is_entered = !conn->is_refused;
  if (conn->is_refused && ++net->totals->refused > REFUSED_MAX)
    become_packets(conn);
  else
    sniff_await(conn);
}

// Chooses the protocol by the first byte. HTTP begins with a method in capitals. A
// packet begins with its channel, which is 0 for HELLO.
static void input_game(Conn *conn, const uint8_t *bytes, size_t size) {
  uint64_t due_ms = timers_is_set(&conn->timer) ? conn->timer.due_ms : 0;
  if (take_tls(conn, due_ms, bytes, size)) return;
  if (bytes[0] >= 'A' && bytes[0] <= 'Z')
    http_begin(conn, &SITE, &web_of(conn->net)->server);
  else
    become_packets(conn);
  if (conn->state == CONN_OPEN) conn->protocol->input(conn, bytes, size);
}

const Protocol SNIFF = {.open = open_game, .ready = sniff_await, .input = input_game};

// --- The admin listener ---

static void on_idle(void *data, uint64_t now_ms) {
  (void)now_ms;
  conn_close(data);
}

static void await_request(Conn *conn) {
  set_timer(conn, conn->info->since_ms + HTTP_KEEP_ALIVE_MS, on_idle);
}

static void open_admin(Conn *conn) {
  NetTotals *totals = conn->net->totals;
  conn->is_refused = ++conn->net->admin->conn_count > ADMIN_CONNS_MAX;
  if (!conn->is_refused || ++totals->refused <= REFUSED_MAX) {
    await_request(conn);
    return;
  }
  conn_close(conn);
  conn_destroy(conn);
}

static void input_admin(Conn *conn, const uint8_t *bytes, size_t size) {
  uint32_t head_ms = conn->net->limits.handshake_timeout_ms;
  uint64_t due_ms = conn->info->since_ms + (head_ms > 0 ? head_ms : HTTP_BODY_MS);
  if (take_tls(conn, due_ms, bytes, size)) return;
  conn->info->since_ms = net_now_ms(conn->net);
  http_begin(conn, &ADMIN, &conn->net->admin->server);
  HTTP.input(conn, bytes, size);
}

static void leave_admin(Conn *conn) { conn->net->admin->conn_count--; }

const Protocol SNIFF_ADMIN = {
    .open = open_admin,
    .ready = await_request,
    .input = input_admin,
    .leave = leave_admin,
};
