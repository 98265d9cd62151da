// The Session itself, and the events of net. Peers begin in handshake.c and end in end.c;
// keepalive.c has their deadlines.

#include "session/session.h"

#include <assert.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "session/internal.h"
#include "wire/line.h"

Session *session_new(const SessionLimits *limits, const SessionEvents *events,
                     void *data) {
  Session *session = mem_zalloc(sizeof *session);
  session->limits = *limits;
  session->events = *events;
  session->data = data;
  session->on_deadline = keepalive_on_deadline;
  names_init(&session->addresses);
  peer_names_init(session);
  return session;
}

void session_attach(Session *session, Net *net) {
  session->net = net;
  net_random(net, session->token_key, sizeof session->token_key);
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
    if (peer->state != PEER_CLOSED && !peer->is_bot)
      deadline_refresh(session, peer, was_pinged);
}

void session_set_hashes(Session *session, const uint64_t *hashes, uint32_t count) {
  assert(count <= SESSION_HASHES);
  if (count > 0) memcpy(session->hashes, hashes, count * sizeof *hashes);
  session->hash_count = count;
  net_set_hashes(session->net, hashes, count);
  Peer *peer;
  for (uint32_t cursor = 0; (peer = session_next(session, &cursor));)
    if (peer->state != PEER_CLOSED && !peer->is_bot &&
        !handshake_knows(session, peer->protocol_hash))
      session_kick(session, peer, CODE_CLOSED,
                   "the game's messages have changed; connect again");
}

// --- Reports of net ---

// Handles a control packet for the session itself; returns false for all others.
static bool on_own_control(Session *session, Peer *peer, const Packet *packet) {
  Buf payload = {.data = (uint8_t *)packet->payload, .size = packet->length};
  const char *fault = NULL;
  uint64_t value;
  switch (packet->type) {
    case CONTROL_HELLO:
      fault = "a second HELLO";
      break;
    case CONTROL_PING:
      if (control_read_u64(packet, &value) < 0)
        fault = "malformed PING";
      else
        send_control(session, peer, CONTROL_PONG, packet, &payload);
      break;
    case CONTROL_PONG:
      if (control_read_u64(packet, &value) < 0)
        fault = "malformed PONG";
      else
        keepalive_pong(peer, value);
      break;
    case CONTROL_ACK:
      stream_ack(session, peer, packet);
      break;
    case CONTROL_SIGN_IN:
      sign_in_packet(session, peer, packet);
      break;
    case CONTROL_BYE:
      if (control_read_empty(packet) < 0)
        fault = "malformed BYE";
      else
        session_kick(session, peer, CODE_CLOSED, NULL);
      break;
    default:
      return false;
  }
  if (fault) session_kick(session, peer, CODE_PROTOCOL, fault);
  return true;
}

static bool note(Session *session, Peer *peer, uint8_t transport, uint64_t bytes,
                 bool is_reliable) {
  keepalive_note(session, peer, (TransportName)transport, bytes);
  if (throttle_note(session, peer, is_reliable)) return true;
  session_kick(session, peer, CODE_RATE_LIMITED,
               "more packets than the rate limit allows");
  return false;
}

static void take_packet(Session *session, Peer *peer, uint8_t transport,
                        const Packet *packet) {
  bool is_reliable = packet->flags & PACKET_RELIABLE;
  uint64_t bytes = PACKET_HEADER_SIZE + (uint64_t)packet->length;
  if (!note(session, peer, transport, bytes, is_reliable)) return;
  if (peer->state == PEER_HANDSHAKE) {
    if (packet->channel == CHANNEL_CONTROL && packet->type == CONTROL_SIGN_IN)
      sign_in_packet(session, peer, packet);
    else
      handshake_packet(session, peer, packet);
    return;
  }
  if (is_reliable) stream_receive(session, peer, packet);
  // The packet proves that the peer has received its new token, so the previous one
  // expires.
  if (peer->resume.used_ago > 0) token_confirm(peer);
  if (packet->channel != CHANNEL_CONTROL || !on_own_control(session, peer, packet))
    session->events.packet(session->data, peer, packet);
}

static void on_packet(void *data, void *conn_data, const Packet *packet) {
  Peer *peer = conn_data;
  take_packet(data, peer, peer->transport, packet);
}

// Drops UDP packets that arrive before the peer is connected.
static void on_unreliable_packet(void *data, void *conn_data, const Packet *packet) {
  Peer *peer = conn_data;
  if (peer->state == PEER_CONNECTED) take_packet(data, peer, TRANSPORT_UDP, packet);
}

// Handles a line of a text peer. Ends the connection at a line of HTTP, because a page
// in a browser can send a request to any port.
static void on_line(void *data, void *conn_data, const char *text, size_t size) {
  Session *session = data;
  Peer *peer = conn_data;
  if (!note(session, peer, peer->transport, size + 1, false)) return;
  if (peer->packets_in == 1 && line_is_http_request(text, size))
    session_kick(session, peer, CODE_PROTOCOL,
                 "an HTTP request, where lines of text are taken");
  else if (peer->state == PEER_HANDSHAKE)
    sign_in_line(session, peer, (Text){text, (uint32_t)size});
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

static bool on_accept(void *data, const char *address, uint16_t port) {
  Session *session = data;
  SessionEvents *events = &session->events;
  if (!events->accept || events->accept(session->data, address, port)) return true;
  log_debug("not accepted", log_str("address", address), log_num("port", port));
  return false;
}

NetEvents session_net_events(void) {
  return (NetEvents){
      .accept = on_accept,
      .enter = handshake_enter,
      .leave = handshake_leave,
      .open = handshake_open,
      .packet = on_packet,
      .unreliable_packet = on_unreliable_packet,
      .refuse = handshake_fault,
      .line = on_line,
      .fault = on_fault,
      .drops = on_drops,
      .close = on_close,
  };
}
