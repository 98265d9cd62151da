// Deadlines of a peer: HELLO, PING and its PONG, silence. Each peer has one timer. A packet
// of the peer only stores its time, which the timer compares when it fires.

#include "session/internal.h"

enum { LATE_MS = 1000 };  // a timer that is later means that the process was stopped

static bool is_pinged(const Session *session, const Peer *peer) {
  return peer->state == PEER_CONNECTED && peer->framing == FRAMING_PACKETS &&
         peer->throttles == 0 && session->limits.ping_interval_ms > 0;
}

// Returns when the peer is closed because it has sent nothing, or was not resumed.
static uint64_t silence_ends(const Session *session, const Peer *peer) {
  if (peer->state == PEER_SUSPENDED) return resume_ends(session, peer);
  if (peer->throttles != 0) return UINT64_MAX;
  uint32_t limit = peer->state == PEER_HANDSHAKE ? session->limits.handshake_timeout_ms
                                                 : session->limits.idle_timeout_ms;
  return limit > 0 ? peer->last_packet_ms + limit : UINT64_MAX;
}

static void on_silence(Session *session, Peer *peer) {
  if (peer->state == PEER_HANDSHAKE) {
    session_kick(session, peer, CODE_HANDSHAKE_TIMEOUT, "no HELLO in time");
  } else if (peer->state == PEER_SUSPENDED) {
    session->stats.expired++;
    session_kick(session, peer, (Code)peer->lost_code, "nobody resumed the session");
  } else {
    peer_lose(session, peer, CODE_IDLE_TIMEOUT, "nothing came for too long");
  }
}

static void send_ping(Session *session, Peer *peer, uint64_t now_ms) {
  uint32_t interval = session->limits.ping_interval_ms;
  Buf *buf = &session->scratch;
  peer->ping_sent_us = net_clock_us(session->net);
  // A late PING leaves its peer the same time to answer.
  peer->next_ping_ms += interval;
  if (peer->next_ping_ms < now_ms + interval - interval / 10)
    peer->next_ping_ms = now_ms + interval;
  buf->size = 0;
  buf_u64(buf, peer->ping_sent_us);
  send_control(session, peer, CONTROL_PING, NULL, buf);
}

static void on_timer(void *data, uint64_t now_ms) {
  Peer *peer = data;
  Session *session = peer->owner;
  if (now_ms > peer->timer.due_ms + LATE_MS) {
    // The packets that came meanwhile are read first.
    timers_set(net_timers(session->net), &peer->timer, now_ms + LATE_MS, on_timer,
               peer);
    return;
  }
  if (peer->is_overfull) {
    session_kick(session, peer, CODE_SLOW_CONSUMER, STREAM_FULL_TEXT);
    return;
  }
  throttle_run(session, peer, now_ms);
  if (now_ms >= silence_ends(session, peer)) {
    on_silence(session, peer);
    return;
  }
  if (peer->ack_due_ms > 0 && now_ms >= peer->ack_due_ms)
    stream_send_ack(session, peer);
  if (is_pinged(session, peer) && now_ms >= peer->next_ping_ms) {
    if (peer->ping_sent_us > 0) {
      peer_lose(session, peer, CODE_PING_TIMEOUT, "no PONG before the next PING");
      return;
    }
    send_ping(session, peer, now_ms);
  }
  keepalive_arm(session, peer);
}

// Rounds the time of a PING up, so that thousands of idle peers wake the loop a few times a
// second, not once each. The step is a hundredth of the interval.
static uint64_t ping_batch(const Session *session, uint64_t due_ms) {
  uint64_t step = session->limits.ping_interval_ms / 100;
  return step > 1 ? (due_ms + step - 1) / step * step : due_ms;
}

void keepalive_arm(Session *session, Peer *peer) {
  uint64_t due_ms = silence_ends(session, peer);
  if (is_pinged(session, peer)) {
    uint64_t ping_ms = ping_batch(session, peer->next_ping_ms);
    if (ping_ms < due_ms) due_ms = ping_ms;
  }
  if (peer->ack_due_ms > 0 && peer->ack_due_ms < due_ms) due_ms = peer->ack_due_ms;
  if (peer->readable_ms > 0 && peer->readable_ms < due_ms) due_ms = peer->readable_ms;
  if (peer->is_overfull) due_ms = net_now_ms(session->net);
  if (due_ms == UINT64_MAX)
    timers_stop(net_timers(session->net), &peer->timer);
  else
    timers_set(net_timers(session->net), &peer->timer, due_ms, on_timer, peer);
}

void keepalive_refresh(Session *session, Peer *peer, bool was_pinged) {
  uint64_t soon_ms = net_now_ms(session->net) + session->limits.ping_interval_ms;
  if (!was_pinged || peer->next_ping_ms > soon_ms) peer->next_ping_ms = soon_ms;
  keepalive_arm(session, peer);
}

void keepalive_start(Session *session, Peer *peer) {
  uint64_t now_ms = net_now_ms(session->net);
  peer->last_packet_ms = now_ms;
  peer->next_ping_ms = now_ms + session->limits.ping_interval_ms;
  keepalive_arm(session, peer);
}

void keepalive_note(Session *session, Peer *peer, uint64_t bytes) {
  peer->last_packet_ms = net_now_ms(session->net);
  peer->packets_in++;
  peer->bytes_in += bytes;
  session->stats.packets_in++;
  session->stats.bytes_in += bytes;
}

void keepalive_pong(Peer *peer, uint64_t value) {
  if (peer->ping_sent_us == 0 || value != peer->ping_sent_us) return;
  peer->ping_sent_us = 0;
  peer->latency_us = (uint32_t)(net_clock_us(peer->owner->net) - value);
}
