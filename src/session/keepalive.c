// Handles a deadline of a peer that has passed: sends PING or ACK, or ends the peer.

#include "session/internal.h"

enum { LATE_MS = 1000 };  // a later timer means that the process was stopped

static void on_silence(Session *session, Peer *peer) {
  if (peer->state == PEER_HANDSHAKE && peer->framing == FRAMING_PACKETS) {
    session_kick(session, peer, CODE_HANDSHAKE_TIMEOUT, "no HELLO in time");
  } else if (peer->state == PEER_SUSPENDED) {
    session->stats.expired++;
    session_kick(session, peer, (Code)peer->resume.lost_code,
                 "nobody resumed the session");
  } else {
    peer_lose(session, peer, CODE_IDLE_TIMEOUT, "nothing came for too long");
  }
}

static void send_ping(Session *session, Peer *peer, uint64_t now_ms) {
  uint32_t interval = session->limits.ping_interval_ms;
  Buf *buf = &session->scratch;
  peer->ping_sent_us = net_clock_us(session->net);
  // The peer gets the full time to answer a late PING.
  peer->next_ping_ms += interval;
  if (peer->next_ping_ms < now_ms + interval - interval / 10)
    peer->next_ping_ms = now_ms + interval;
  buf->size = 0;
  buf_u64(buf, peer->ping_sent_us);
  send_control(session, peer, CONTROL_PING, NULL, buf);
}

void keepalive_on_deadline(void *data, uint64_t now_ms) {
  Peer *peer = data;
  Session *session = peer->owner;
  if (now_ms > peer->timer.due_ms + LATE_MS) {
    // Postpones the deadline, so that the loop first reads the packets that arrived
    // meanwhile.
    timers_set(net_timers(session->net), &peer->timer, now_ms + LATE_MS,
               keepalive_on_deadline, peer);
    return;
  }
  if (peer->resume.is_overfull) {
    session_kick(session, peer, CODE_SLOW_CONSUMER, STREAM_FULL_TEXT);
    return;
  }
  throttle_run(session, peer, now_ms);
  if (now_ms >= deadline_of_silence(session, peer)) {
    on_silence(session, peer);
    return;
  }
  if (peer->resume.ack_due_ms > 0 && now_ms >= peer->resume.ack_due_ms)
    stream_send_ack(session, peer);
  if (deadline_is_pinged(session, peer) && now_ms >= peer->next_ping_ms) {
    if (peer->ping_sent_us > 0) {
      peer_lose(session, peer, CODE_PING_TIMEOUT, "no PONG before the next PING");
      return;
    }
    send_ping(session, peer, now_ms);
  }
  deadline_arm(session, peer);
}

void keepalive_note(Session *session, Peer *peer, TransportName transport,
                    uint64_t bytes) {
  peer->last_packet_ms = net_now_ms(session->net);
  peer->packets_in++;
  peer->bytes_in += bytes;
  session->stats.received[transport].packets++;
  session->stats.received[transport].bytes += bytes;
}

void keepalive_pong(Peer *peer, uint64_t value) {
  if (peer->ping_sent_us == 0 || value != peer->ping_sent_us) return;
  peer->ping_sent_us = 0;
  peer->latency_us = (uint32_t)(net_clock_us(peer->owner->net) - value);
}
