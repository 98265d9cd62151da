// Deadlines of a peer: for HELLO, for PING and its PONG, and for silence. Each peer has
// one timer. The session stores the time of the peer's last packet. It compares that
// time when the timer fires (keepalive.c).

#include "session/internal.h"

bool deadline_is_pinged(const Session *session, const Peer *peer) {
  return peer->state == PEER_CONNECTED && peer->framing == FRAMING_PACKETS &&
         peer->throttle.reasons == 0 && session->limits.ping_interval_ms > 0;
}

// Returns the time at which silence ends the peer. The limit of a suspended peer is
// resume_timeout. A throttled peer has no limit.
uint64_t deadline_of_silence(const Session *session, const Peer *peer) {
  if (peer->state == PEER_SUSPENDED)
    return peer->resume.lost_ms + session->limits.resume_timeout_ms;
  if (peer->throttle.reasons != 0) return UINT64_MAX;
  bool is_due = peer->state == PEER_HANDSHAKE && peer->framing == FRAMING_PACKETS &&
                !peer_signs_in(peer);
  uint32_t limit =
      is_due ? session->limits.handshake_timeout_ms : session->limits.idle_timeout_ms;
  return limit > 0 ? peer->last_packet_ms + limit : UINT64_MAX;
}

// Rounds the time of a PING up to a hundredth of the interval, so that the timers of
// many idle peers wake the loop together.
static uint64_t ping_batch(const Session *session, uint64_t due_ms) {
  uint64_t step = session->limits.ping_interval_ms / 100;
  return step > 1 ? (due_ms + step - 1) / step * step : due_ms;
}

void deadline_arm(Session *session, Peer *peer) {
  uint64_t due_ms = deadline_of_silence(session, peer);
  if (deadline_is_pinged(session, peer)) {
    uint64_t ping_ms = ping_batch(session, peer->next_ping_ms);
    if (ping_ms < due_ms) due_ms = ping_ms;
  }
  if (peer->resume.ack_due_ms > 0 && peer->resume.ack_due_ms < due_ms)
    due_ms = peer->resume.ack_due_ms;
  uint64_t throttle_ms = throttle_due_ms(session, peer);
  if (throttle_ms < due_ms) due_ms = throttle_ms;
  if (peer->resume.is_overfull) due_ms = net_now_ms(session->net);
  if (due_ms == UINT64_MAX)
    timers_stop(net_timers(session->net), &peer->timer);
  else
    timers_set(net_timers(session->net), &peer->timer, due_ms, session->on_deadline,
               peer);
}

void deadline_refresh(Session *session, Peer *peer, bool was_pinged) {
  uint64_t soon_ms = net_now_ms(session->net) + session->limits.ping_interval_ms;
  if (!was_pinged || peer->next_ping_ms > soon_ms) peer->next_ping_ms = soon_ms;
  deadline_arm(session, peer);
}

void deadline_start(Session *session, Peer *peer) {
  uint64_t now_ms = net_now_ms(session->net);
  peer->last_packet_ms = now_ms;
  peer->next_ping_ms = now_ms + session->limits.ping_interval_ms;
  deadline_arm(session, peer);
}
