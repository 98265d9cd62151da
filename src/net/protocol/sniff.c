// The web part: its options, and who comes to a port that serves more than packets. Until
// the first byte has told what he speaks, and as long as that is HTTP, he is a visitor:
// counted, but no peer.
#include "net/web.h"

#include <assert.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "net/io_threads/io_threads_calls.h"
#include "net/protocol/native.h"
#include "net/protocol/web_internal.h"
#include "net/transport/tls_calls.h"

// --- Options ---

Web *web_of(Net *net) {
  if (net->web) return net->web;
  net->web = mem_zalloc(sizeof *net->web);
  net_set_schema(net, NULL, 0);
  return net->web;
}

static void set_version(HttpVersion *version, const void *bytes, size_t size) {
  uint64_t hash = hash_bytes(NULL, bytes, size);
  snprintf(version->tag, sizeof version->tag, "\"%016llx\"", (unsigned long long)hash);
}

static void set_text(char **text, const char *value) {
  char *copy = value ? mem_strdup(value) : NULL;
  mem_free(*text);
  *text = copy;
}

void net_set_web(Net *net, const WebOptions *options) {
  Web *web = web_of(net);
  set_text(&web->name, options->name);
  set_text(&web->folder, options->folder);
  set_text(&web->origins, options->origins);
  set_text(&web->hosts, options->hosts);
  web->is_watched = options->is_watched;
  for (int i = 0; options->modules && options->modules[i].name; i++) {
    assert(i < WEB_MODULES_MAX);
    const WebModule *module = &options->modules[i];
    web->modules[i] = *module;
    set_version(&web->module_versions[i], module->text, module->size);
  }
  if (net->servicers) servicers_share_web(net);
}

void net_set_schema(Net *net, const char *text, size_t size) {
  static const char NONE[] = "export const schema = null;\n";
  Web *web = web_of(net);
  web->schema.size = 0;
  if (size > 0)
    buf_append(&web->schema, text, size);
  else
    buf_append(&web->schema, NONE, sizeof NONE - 1);
  set_version(&web->schema_version, web->schema.data, web->schema.size);
  if (net->servicers) servicers_share_schema(net);
}

WebStats net_web_stats(const Net *net) {
  WebStats own = net->web ? net->web->stats : (WebStats){0};
  WebStats others = servicers_figures(net).web;
  return (WebStats){.requests = own.requests + others.requests,
                    .refused = own.refused + others.refused,
                    .upgraded = own.upgraded + others.upgraded,
                    .stalled = own.stalled + others.stalled};
}

void web_free(Net *net) {
  Web *web = net->web;
  if (!web) return;
  for (uint32_t i = 0; i < web->readers.count; i++)
    ws_reader_free(web->readers.items[i]);
  list_deinit(&web->readers);
  buf_deinit(&web->scratch);
  buf_deinit(&web->schema);
  mem_free(web->name);
  mem_free(web->folder);
  mem_free(web->origins);
  mem_free(web->hosts);
  mem_free(web);
  net->web = NULL;
}

// --- Visitors ---

static void become_packets(Conn *conn) {
  conn->in.framing = FRAMING_PACKETS;
  conn_speak(conn, &NATIVE);
}

// One that says nothing is taken for a client, which is then told what is wrong with
// that.
static void on_silence(void *data, uint64_t now_ms) {
  (void)now_ms;
  Conn *conn = data;
  if (conn->protocol == &SNIFF)
    become_packets(conn);
  else
    conn_introduce(conn, FRAMING_PACKETS);
}

// Who may not stay is told so in his own language, once it is known, if there are not too
// many of them.
static void refuse(Conn *conn) {
  Net *net = conn->net;
  conn->is_refused = true;
  if (++net->totals->refused > REFUSED_MAX)
    become_packets(conn);
  else
    timers_set(net->timers, &conn->timer, net_now_ms(net) + WEB_REFUSE_WAIT_MS,
               on_silence, conn);
}

void web_await(Conn *conn) {
  Net *net = conn->net;
  uint32_t timeout_ms = net->limits.handshake_timeout_ms;
  if (timeout_ms > 0)
    timers_set(net->timers, &conn->timer, conn->info->since_ms + timeout_ms, on_silence,
               conn);
  else
    timers_stop(net->timers, &conn->timer);
}

static void enter(Conn *conn) {
  Net *net = conn->net;
  const char *why = net->events.enter(net->data, conn->info->address);
  conn->is_entered = why == NULL;
  if (why)
    refuse(conn);
  else
    web_await(conn);
}

void web_begin_tls(Conn *conn, const char *address, uint64_t due_ms,
                   const uint8_t *bytes, size_t size) {
  Transport *below = conn->transport;
  Transport *tls = tls_wrap(conn->net, below, address, due_ms);
  if (!tls) {
    conn_end(conn, END_BROKEN);
    return;
  }
  timers_stop(conn->net->timers, &conn->timer);  // the handshake has one of its own
  conn_use(conn, tls);
  below->user->read(below->user_data, bytes, size);
}

static void ready(Conn *conn) {
  if (conn->is_refused)
    timers_set(conn->net->timers, &conn->timer, conn->timer.due_ms, on_silence, conn);
  else
    web_await(conn);
}

// TLS begins with a record of its handshake, HTTP with a method, in capitals; a packet
// with a channel, and the first is that of HELLO, 0.
static void input(Conn *conn, const uint8_t *bytes, size_t size) {
  if (bytes[0] == TLS_FIRST_BYTE && !conn->transport->kind->is_encrypted) {
    uint64_t due_ms = timers_is_set(&conn->timer) ? conn->timer.due_ms : 0;
    web_begin_tls(conn, conn->info->address, due_ms, bytes, size);
    return;
  }
  if (bytes[0] >= 'A' && bytes[0] <= 'Z')
    conn_speak(conn, &HTTP);
  else
    become_packets(conn);
  if (conn->state == CONN_OPEN) conn->protocol->input(conn, bytes, size);
}

const Protocol SNIFF = {.open = enter, .ready = ready, .input = input};
