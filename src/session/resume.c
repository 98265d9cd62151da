// Sessions that survive their connection. A peer that loses its connection is
// suspended, and a HELLO with its token on another connection resumes it. A token
// contains the peer's id and 96 random bits. The id finds the peer. The comparison
// takes constant time, so that timing does not help to guess a token.
//
// The WELCOME with a new token may be lost together with its connection. Therefore the
// token that resumed a session stays valid until a packet arrives on the new
// connection.

#include <string.h>

#include "base/log.h"
#include "session/internal.h"

// --- Tokens ---

static void make_token(Session *session, Peer *peer) {
  net_random(session->net, peer->resume.token_now, UUID_SIZE);
  memcpy(peer->resume.token_now, &peer->id, sizeof peer->id);
}

static bool is_same(const uint8_t a[UUID_SIZE], const uint8_t b[UUID_SIZE]) {
  unsigned differences = 0;
  for (int i = 0; i < UUID_SIZE; i++) differences |= a[i] ^ b[i];
  return differences == 0;
}

static Peer *find_by_token(const Session *session, const uint8_t token[UUID_SIZE]) {
  uint32_t id;
  memcpy(&id, token, sizeof id);
  Peer *peer = session_find(session, id);
  if (!peer || !peer->resume.is_resumable) return NULL;
  bool is_last = peer->resume.has_last_token && is_same(token, peer->resume.token_last);
  return is_last || is_same(token, peer->resume.token_now) ? peer : NULL;
}

void resume_begin(Session *session, Peer *peer) {
  if (session->limits.resume_timeout_ms == 0 || peer->framing == FRAMING_LINES) return;
  peer->resume.is_resumable = true;
  session->resumable++;
  make_token(session, peer);
}

// --- Resumed ---

// Ends the old connection of a session that is resumed before that connection has
// ended.
static void replace(Session *session, Peer *peer) {
  static const char WHY[] = "the session was resumed on another connection";
  send_ending(session, peer->conn, peer->framing, CONTROL_CLOSING, NULL,
              &(Ending){CODE_REPLACED, WHY, 0});
  net_end(session->net, peer->conn, CODE_REPLACED, WHY);
  resume_suspend(session, peer, CODE_REPLACED);
}

// Moves the connection of `newcomer` to the peer.
static void take_conn(Session *session, Peer *peer, Peer *newcomer) {
  session_count_address(session, peer->address, -1);
  peer_set_texts(peer, peer_name(peer), newcomer->address);
  peer->transport = newcomer->transport;
  peer->conn = newcomer->conn;
  peer->packets_in += newcomer->packets_in;
  peer->bytes_in += newcomer->bytes_in;
  peer->state = PEER_CONNECTED;
  session->suspended--;
  session->connected++;
  net_set_data(session->net, peer->conn, peer);
  net_set_counter(session->net, peer->conn, &peer->ended);
  net_set_max_payload(session->net, peer->conn, session->limits.max_payload);
  peer_free(session, newcomer);
  throttle_resume(session, peer);
}

static void resume(Session *session, Peer *peer, const Packet *hello) {
  Resumption resumption = {
      .suspended_ms = net_now_ms(session->net) - peer->resume.lost_ms,
      .resent = reliable_waiting(&peer->resume.stream),
  };
  session->stats.resumed++;
  log_info("resumed", log_num("peer", peer->id),
           log_bytes("name", peer->name, peer->name_size),
           log_str("address", peer->address),
           log_num("away_ms", (int64_t)resumption.suspended_ms),
           log_num("resent", resumption.resent));
  deadline_start(session, peer);
  handshake_welcome(session, peer, hello, true);
  session->events.resume(session->data, peer, &resumption);
  // The ACK marks the end of the list of rooms.
  stream_send_ack(session, peer);
  stream_resend(session, peer);
}

bool resume_take(Session *session, Peer *newcomer, const Hello *hello) {
  Peer *peer = find_by_token(session, hello->resume_token);
  if (!peer) return false;
  // The kept packets are in one form, JSON or binary. The client must still understand
  // that form.
  if ((peer_form(peer) == FORM_SCHEMA) != (hello->protocol_hash != 0)) return false;
  if (peer->resume.is_overfull) {
    session_kick(session, peer, CODE_SLOW_CONSUMER, STREAM_FULL_TEXT);
    return false;
  }
  if (!reliable_is_count(&peer->resume.stream, hello->reliable_received)) {
    handshake_refuse(
        session, newcomer,
        &(Ending){CODE_PROTOCOL, "so many reliable packets cannot have been received",
                  0});
    return true;
  }
  Packet request = handshake_hello(newcomer);
  if (peer->state == PEER_CONNECTED) replace(session, peer);
  take_conn(session, peer, newcomer);
  peer->protocol_hash = hello->protocol_hash;
  reliable_ack(&peer->resume.stream, hello->reliable_received);
  memcpy(peer->resume.token_last, hello->resume_token, UUID_SIZE);
  peer->resume.has_last_token = true;
  make_token(session, peer);
  resume(session, peer, &request);
  return true;
}
