// Throttles peers whose events wait for the script, and peers that exceed rate_limit:
// the server does not read from them for a while. Their packets wait in the buffers of
// the connection and then at the client. Meanwhile neither silence nor a missing PONG
// ends the peer.

#include "base/log.h"
#include "session/internal.h"

// --- Reasons ---

void session_throttle(Session *session, Peer *peer, ThrottleReason reason) {
  if (!peer_has_session(peer) || peer->throttle.reasons & reason) return;
  bool is_new = peer->throttle.reasons == 0;
  peer->throttle.reasons |= (uint8_t)reason;
  if (!is_new || peer->state != PEER_CONNECTED) return;
  session->stats.throttled++;
  net_throttle(session->net, peer->conn);
  deadline_arm(session, peer);
}

// Restarts the deadline of silence, because the packets that arrived meanwhile are read
// first.
void session_release(Session *session, Peer *peer, ThrottleReason reason) {
  if (!(peer->throttle.reasons & reason)) return;
  peer->throttle.reasons &= (uint8_t) ~(unsigned)reason;
  if (peer->throttle.reasons != 0 || peer->state != PEER_CONNECTED) return;
  net_unthrottle(session->net, peer->conn);
  deadline_start(session, peer);
}

void throttle_suspend(Peer *peer) {
  peer->throttle.reasons &= (uint8_t) ~(unsigned)THROTTLE_RATE;
  peer->throttle.readable_ms = 0;
}

void throttle_resume(Session *session, Peer *peer) {
  peer->throttle.unlimited = RELIABLE_WINDOW;
  if (peer->throttle.reasons != 0) net_throttle(session->net, peer->conn);
}

// --- The rate limit ---

static void refill(const Session *session, Peer *peer, uint64_t now_ms) {
  double rate = session->limits.rate_limit, full = 2 * rate;
  peer->throttle.tokens += (double)(now_ms - peer->throttle.at_ms) * rate / 1000;
  if (peer->throttle.tokens > full) peer->throttle.tokens = full;
  peer->throttle.at_ms = now_ms;
}

// Throttles the peer until it may send the packets of THROTTLE_BATCH_MS.
static void slow_down(Session *session, Peer *peer, uint64_t now_ms) {
  double rate = session->limits.rate_limit, wanted = rate * THROTTLE_BATCH_MS / 1000;
  if (wanted < 1) wanted = 1;
  double wait_ms = (wanted - peer->throttle.tokens) * 1000 / rate;
  if (!peer->throttle.was_slowed)
    log_info("throttled: it sends more packets than rate_limit allows",
             log_num("peer", peer->id), log_bytes("name", peer->name, peer->name_size),
             log_str("address", peer->address));
  peer->throttle.was_slowed = true;
  peer->throttle.readable_ms = now_ms + (uint64_t)wait_ms + 1;
  session_throttle(session, peer, THROTTLE_RATE);
}

bool throttle_note(Session *session, Peer *peer, bool is_reliable) {
  if (session->limits.rate_limit == 0) return true;
  if (is_reliable && peer->throttle.unlimited > 0) {
    peer->throttle.unlimited--;
    return true;
  }
  uint64_t now_ms = net_now_ms(session->net);
  refill(session, peer, now_ms);
  if (session->limits.rate_limit_kicks && peer->throttle.tokens < 1) return false;
  peer->throttle.tokens -= 1;
  if (peer->throttle.tokens < 0 && peer->state == PEER_CONNECTED)
    slow_down(session, peer, now_ms);
  return true;
}

void throttle_run(Session *session, Peer *peer, uint64_t now_ms) {
  if (peer->throttle.readable_ms == 0 || now_ms < peer->throttle.readable_ms) return;
  peer->throttle.readable_ms = 0;
  session_release(session, peer, THROTTLE_RATE);
}
