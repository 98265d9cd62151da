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

// Restarts the deadlines of silence and PING, so that the loop first reads the packets
// that arrived meanwhile.
void session_release(Session *session, Peer *peer, ThrottleReason reason) {
  if (!(peer->throttle.reasons & reason)) return;
  peer->throttle.reasons &= (uint8_t) ~(unsigned)reason;
  if (peer->throttle.reasons != 0 || peer->state != PEER_CONNECTED) return;
  net_unthrottle(session->net, peer->conn);
  deadline_start(session, peer);
}

void throttle_suspend(Peer *peer) {
  peer->throttle.reasons &= (uint8_t) ~(unsigned)THROTTLE_RATE;
}

void throttle_resume(Session *session, Peer *peer) {
  peer->throttle.unlimited = RELIABLE_WINDOW;
  if (peer->throttle.reasons != 0) net_throttle(session->net, peer->conn);
}

// --- The rate limit ---

// Each packet advances `full_ns` by the time in which the rate allows one packet. A
// peer is over the limit if `full_ns` is more than BURST_MS in the future.
enum { BURST_MS = 2000, NS_PER_MS = 1000000 };

static uint64_t packet_ns(const Session *session) {
  return 1000ull * NS_PER_MS / session->limits.rate_limit;
}

// Returns the time at which the peer may send the packets of THROTTLE_BATCH_MS, at
// least one.
uint64_t throttle_due_ms(const Session *session, const Peer *peer) {
  if (!(peer->throttle.reasons & THROTTLE_RATE)) return UINT64_MAX;
  if (session->limits.rate_limit == 0) return 0;
  uint64_t wanted_ns = (uint64_t)THROTTLE_BATCH_MS * NS_PER_MS;
  if (wanted_ns < packet_ns(session)) wanted_ns = packet_ns(session);
  return (peer->throttle.full_ns + wanted_ns) / NS_PER_MS - BURST_MS + 1;
}

static void slow_down(Session *session, Peer *peer) {
  if (!peer->throttle.was_slowed)
    log_info("throttled: it sends more packets than rate_limit allows",
             log_num("peer", peer->id), log_bytes("name", peer->name, peer->name_size),
             log_str("address", peer_address(peer)), log_num("port", peer->port));
  peer->throttle.was_slowed = true;
  session_throttle(session, peer, THROTTLE_RATE);
  deadline_arm(session, peer);
}

// Counts packets, and throttles the peer if it is then over the limit. With `kicks`,
// returns false for such a peer instead, without counting, because the caller must
// close the peer.
static bool count(Session *session, Peer *peer, uint32_t packets, bool kicks) {
  uint64_t now_ns = net_now_ms(session->net) * NS_PER_MS;
  uint64_t limit_ns = now_ns + (uint64_t)BURST_MS * NS_PER_MS;
  uint64_t full_ns = peer->throttle.full_ns > now_ns ? peer->throttle.full_ns : now_ns;
  full_ns += packets * packet_ns(session);
  if (kicks && full_ns > limit_ns) return false;
  peer->throttle.full_ns = full_ns;
  if (full_ns > limit_ns && peer->state == PEER_CONNECTED) slow_down(session, peer);
  return true;
}

bool throttle_note(Session *session, Peer *peer, bool is_reliable) {
  if (session->limits.rate_limit == 0) return true;
  if (is_reliable && peer->throttle.unlimited > 0) {
    peer->throttle.unlimited--;
    return true;
  }
  return count(session, peer, 1, session->limits.rate_limit_kicks);
}

void session_charge(Session *session, Peer *peer, uint32_t packets) {
  if (session->limits.rate_limit > 0) count(session, peer, packets, false);
}

void throttle_run(Session *session, Peer *peer, uint64_t now_ms) {
  if (now_ms >= throttle_due_ms(session, peer))
    session_release(session, peer, THROTTLE_RATE);
}
