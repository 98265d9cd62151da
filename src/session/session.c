// The table of peers, what net reports about them, and the one way a peer ends. Peers begin
// in handshake.c; keepalive.c has their deadlines.

#include "session/session.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/address.h"
#include "net/udp.h"
#include "session/internal.h"
#include "wire/line.h"

Session *session_new(const SessionLimits *limits, const SessionEvents *events,
                     void *data) {
  Session *session = mem_zalloc(sizeof *session);
  session->limits = *limits;
  session->events = *events;
  session->data = data;
  names_init(&session->addresses);
  peer_names_init(session);
  return session;
}

void session_attach(Session *session, Net *net) { session->net = net; }

void peer_free(Session *session, Peer *peer) {
  assert(peer->rooms == NULL);
  resume_end(session, peer);
  timers_stop(net_timers(session->net), &peer->timer);
  net_close_account(&peer->account);
  slots_remove(&session->peers, peer->id);
  mem_free(peer->token);
  mem_free(peer);
}

void session_free(Session *session) {
  Peer *peer;
  for (uint32_t cursor = 0; (peer = session_next(session, &cursor));)
    peer_free(session, peer);
  slots_deinit(&session->peers);
  names_deinit(&session->addresses);
  peer_names_deinit(session);
  buf_deinit(&session->scratch);
  buf_deinit(&session->line);
  mem_free(session->dev_error);
  mem_free(session);
}

void session_set_limits(Session *session, const SessionLimits *limits) {
  bool was_pinged = session->limits.ping_interval_ms > 0;
  session->limits = *limits;
  if (!session->net) return;
  Peer *peer;
  for (uint32_t cursor = 0; (peer = session_next(session, &cursor));)
    if (peer->state != PEER_CLOSED) keepalive_refresh(session, peer, was_pinged);
}

Peer *session_find(const Session *session, uint32_t peer) {
  return slots_find(&session->peers, peer);
}

Peer *session_next(const Session *session, uint32_t *cursor) {
  return slots_next(&session->peers, cursor);
}

double session_latency_ms(const Session *session) {
  uint64_t sum_us = 0;
  uint32_t count = 0;
  const Peer *peer;
  for (uint32_t cursor = 0; (peer = session_next(session, &cursor));) {
    if (peer->state != PEER_CONNECTED || peer->latency_us == 0) continue;
    sum_us += peer->latency_us;
    count++;
  }
  return count > 0 ? (double)sum_us / count / 1000 : 0;
}

NetSent session_sent(const Session *session, const Peer *peer) {
  NetSent now = net_sent(session->net, peer->conn), before = peer->account.sent;
  return (NetSent){before.packets + now.packets, before.bytes + now.bytes};
}

uint32_t session_count(const Session *session) { return session->connected; }

SessionStats session_stats(const Session *session) {
  SessionStats stats = session->stats;
  stats.suspended_now = session->suspended;
  stats.kept_bytes = session->kept_bytes;
  return stats;
}

uint32_t session_count_address(Session *session, const char *address, int change) {
  char network[ADDRESS_SIZE];
  address_network(address, network);
  return names_add(&session->addresses, network, strlen(network), change);
}

// --- The end of a peer ---

static void uncount(Session *session, const Peer *peer, Code code) {
  if (peer->state != PEER_HANDSHAKE) session->json -= peer_form(peer) != FORM_SCHEMA;
  if (peer->state == PEER_SUSPENDED) {  // the end of its connection is counted already
    session->suspended--;
    return;
  }
  if (peer->state == PEER_CONNECTING) session->connecting--;
  if (peer->state == PEER_CONNECTED) session->connected--;
  session->open--;
  session->stats.ended[code]++;
}

static void send_closing(Session *session, const Peer *peer, const Ending *ending) {
  if (peer->state == PEER_SUSPENDED) return;
  if (ending->text)
    send_ending(session, peer->conn, peer->framing, CONTROL_CLOSING, NULL, ending);
  // The transport ends in order when the server stops.
  Code code = ending->code == CODE_UNAVAILABLE ? CODE_CLOSED : ending->code;
  net_end(session->net, peer->conn, code, ending->text);
}

void peer_end(Session *session, Peer *peer, const char *message, Code code,
              const char *text) {
  bool was_there = peer_has_session(peer);
  assert(peer->state != PEER_CLOSED && (unsigned)code < SESSION_CODES);
  uncount(session, peer, code);
  session_count_address(session, peer->address, -1);
  peer_names_drop(session, peer);
  timers_stop(net_timers(session->net), &peer->timer);
  resume_end(session, peer);
  peer->state = PEER_CLOSED;
  peer->conn = 0;
  log_info(message, log_num("peer", peer->id),
           log_bytes("name", peer->name, peer->name_size),
           log_str("address", peer->address), log_str("reason", code_name(code)),
           text ? log_str("text", text) : (LogField){0});
  if (was_there)
    session->events.disconnect(session->data, peer, code);
  else
    peer_free(session, peer);
}

void peer_lose(Session *session, Peer *peer, Code code, const char *text) {
  bool can_wait = peer->state == PEER_CONNECTED && peer->is_resumable &&
                  session->limits.resume_timeout_ms > 0;
  if (text) send_closing(session, peer, &(Ending){code, text, 0});
  if (can_wait)
    resume_suspend(session, peer, code);
  else
    peer_end(session, peer, "disconnected", code, text);
}

static void end_peer(Session *session, Peer *peer, const Ending *ending) {
  if (peer->state == PEER_CLOSED) return;
  send_closing(session, peer, ending);
  peer_end(session, peer, "disconnected", ending->code, ending->text);
}

void session_kick(Session *session, Peer *peer, Code code, const char *text) {
  end_peer(session, peer, &(Ending){code, text, 0});
}

bool session_knows_schema(const Session *session, uint64_t hash) {
  const Peer *peer;
  for (uint32_t cursor = 0; (peer = session_next(session, &cursor));)
    if (peer->state != PEER_CLOSED && peer->protocol_hash == hash) return true;
  return false;
}

bool session_has_json(const Session *session) { return session->json > 0; }

void session_set_hashes(Session *session, const uint64_t *hashes, uint32_t count) {
  assert(count <= SESSION_HASHES);
  if (count > 0) memcpy(session->hashes, hashes, count * sizeof *hashes);
  session->hash_count = count;
  net_set_hashes(session->net, hashes, count);
  Peer *peer;
  for (uint32_t cursor = 0; (peer = session_next(session, &cursor));)
    if (peer->state != PEER_CLOSED && !handshake_knows(session, peer->protocol_hash))
      session_kick(session, peer, CODE_CLOSED,
                   "the game's messages have changed; connect again");
}

void session_forget(Session *session, Peer *peer) {
  assert(peer->state == PEER_CLOSED);
  peer_free(session, peer);
}

void session_shutdown(Session *session) {
  static const Ending STOP = {CODE_UNAVAILABLE, SHUTTING_DOWN_TEXT, STOP_RETRY_S};
  session->is_down = true;
  Peer *peer;
  for (uint32_t cursor = 0; (peer = session_next(session, &cursor));)
    end_peer(session, peer, &STOP);
}

// --- What net reports ---

static void malformed(Session *session, Peer *peer, const char *what) {
  session_kick(session, peer, CODE_PROTOCOL, what);
}

static void on_ping(Session *session, Peer *peer, const Packet *packet) {
  uint64_t value;
  if (control_read_u64(packet, &value) < 0) {
    malformed(session, peer, "malformed PING");
    return;
  }
  Buf pong = {.data = (uint8_t *)packet->payload, .size = packet->length};
  send_control(session, peer, CONTROL_PONG, packet, &pong);
}

static void on_pong(Session *session, Peer *peer, const Packet *packet) {
  uint64_t value;
  if (control_read_u64(packet, &value) < 0) {
    malformed(session, peer, "malformed PONG");
    return;
  }
  keepalive_pong(peer, value);
}

static void on_bye(Session *session, Peer *peer, const Packet *packet) {
  if (control_read_empty(packet) < 0) {
    malformed(session, peer, "malformed BYE");
    return;
  }
  session_kick(session, peer, CODE_CLOSED, NULL);
}

// Returns whether the packet was one for the session itself.
static bool on_own_control(Session *session, Peer *peer, const Packet *packet) {
  switch (packet->type) {
    case CONTROL_HELLO:
      malformed(session, peer, "a second HELLO");
      return true;
    case CONTROL_PING:
      on_ping(session, peer, packet);
      return true;
    case CONTROL_PONG:
      on_pong(session, peer, packet);
      return true;
    case CONTROL_ACK:
      stream_ack(session, peer, packet);
      return true;
    case CONTROL_BYE:
      on_bye(session, peer, packet);
      return true;
    default:
      return false;
  }
}

static bool note(Session *session, Peer *peer, uint64_t bytes, bool is_reliable) {
  keepalive_note(session, peer, bytes);
  if (throttle_note(session, peer, is_reliable)) return true;
  session_kick(session, peer, CODE_RATE_LIMITED,
               "more packets than the rate limit allows");
  return false;
}

static void on_packet(void *data, void *conn_data, const Packet *packet) {
  Session *session = data;
  Peer *peer = conn_data;
  bool is_reliable = packet->flags & PACKET_RELIABLE;
  if (!note(session, peer, PACKET_HEADER_SIZE + (uint64_t)packet->length, is_reliable))
    return;
  if (peer->state == PEER_HANDSHAKE) {
    handshake_packet(session, peer, packet);
    return;
  }
  if (is_reliable) stream_receive(session, peer, packet);
  // The peer knows the token of its last WELCOME, so the one before is used up.
  peer->has_last_token = false;
  if (packet->channel != CHANNEL_CONTROL || !on_own_control(session, peer, packet))
    session->events.packet(session->data, peer, packet);
}

// Packets by UDP that come before the peer is connected are lost.
static void on_unreliable_packet(void *data, void *conn_data, const Packet *packet) {
  const Peer *peer = conn_data;
  if (peer->state == PEER_CONNECTED) on_packet(data, conn_data, packet);
}

// A page in a browser can send a request to any port; its lines are no text peer's.
static void on_line(void *data, void *conn_data, const char *text, size_t size) {
  Session *session = data;
  Peer *peer = conn_data;
  if (!note(session, peer, size + 1, false)) return;
  if (peer->packets_in == 1 && line_is_http_request(text, size))
    session_kick(session, peer, CODE_PROTOCOL,
                 "an HTTP request, where lines of text are taken");
  else
    session->events.line(session->data, peer, text, size);
}

static void on_fault(void *data, void *conn_data, Code code, const char *text) {
  if (code == CODE_IDLE_TIMEOUT)
    peer_lose(data, conn_data, code, text);
  else
    session_kick(data, conn_data, code, text);
}

static void on_drops(void *data, void *conn_data, uint32_t tag, uint32_t dropped,
                     uint32_t queued) {
  Session *session = data;
  Peer *peer = conn_data;
  peer->dropped += dropped;
  if (peer->state == PEER_CONNECTED)
    session->events.drops(session->data, peer, tag, dropped, queued);
}

static void on_close(void *data, void *conn_data, Code code) {
  peer_lose(data, conn_data, code, NULL);
}

NetEvents session_net_events(void) {
  return (NetEvents){
      .enter = handshake_enter,
      .leave = handshake_leave,
      .open = handshake_open,
      .packet = on_packet,
      .loose_packet = on_unreliable_packet,
      .refuse = handshake_fault,
      .line = on_line,
      .fault = on_fault,
      .drops = on_drops,
      .close = on_close,
  };
}
