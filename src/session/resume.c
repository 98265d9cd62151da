// Sessions that survive their connection. A peer that loses its connection is
// suspended, and a HELLO with its token (token.c) on another connection resumes it.

#include <string.h>

#include "base/log.h"
#include "session/internal.h"

static Peer *find_by_token(const Session *session, const uint8_t token[UUID_SIZE]) {
  uint32_t id;
  memcpy(&id, token, sizeof id);
  Peer *peer = session_find(session, id);
  if (!peer || !peer->resume.is_resumable) return NULL;
  return token_resumes(session, peer, token) ? peer : NULL;
}

void resume_begin(Session *session, Peer *peer) {
  if (session->limits.resume_timeout_ms == 0 || peer->framing == FRAMING_LINES) return;
  peer->resume.is_resumable = true;
  peer->resume.tokens = 1;
  session->resumable++;
}

// --- Resumed ---

// Ends the old connection of a session. The session is being resumed before that
// connection has ended.
static void replace(Session *session, Peer *peer) {
  static const char WHY[] = "the session was resumed on another connection";
  send_ending(session, peer->conn, peer->framing, CONTROL_CLOSING, NULL,
              &(Ending){CODE_REPLACED, WHY, 0});
  net_end(session->net, peer->conn, CODE_REPLACED, WHY);
  resume_suspend(session, peer, CODE_REPLACED);
}

// Moves the connection of `newcomer` to the peer.
static void take_conn(Session *session, Peer *peer, Peer *newcomer) {
  session_count_address(session, peer_address(peer), -1);
  peer_set_texts(peer, peer_name(peer), peer_address(newcomer), peer_token(peer));
  peer->port = newcomer->port;
  peer->transport = newcomer->transport;
  peer->is_secure = newcomer->is_secure;
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

static void resume(Session *session, Peer *peer, const Packet *hello,
                   bool is_restored) {
  Resumption resumption = {
      .suspended_ms = net_now_ms(session->net) - peer->resume.lost_ms +
                      (is_restored ? peer->resume.restored->away_ms : 0),
      .resent = reliable_waiting(&peer->resume.stream),
      .is_restored = is_restored,
  };
  session->stats.resumed++;
  log_info("resumed", log_num("peer", peer->id),
           log_bytes("name", peer->name, peer->name_size),
           log_str("address", peer_address(peer)), log_num("port", peer->port),
           log_num("away_ms", (int64_t)resumption.suspended_ms),
           log_num("resent", resumption.resent));
  deadline_start(session, peer);
  handshake_welcome(session, peer, hello,
                    is_restored ? WELCOME_RESTORED : WELCOME_RESUMED);
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
  // The client of a restored session has counted packets of the earlier process, so
  // this process ignores its count.
  bool is_restored = token_restores(peer, hello->resume_token);
  uint32_t received = is_restored ? 0 : hello->reliable_received;
  if (!reliable_is_count(&peer->resume.stream, received)) {
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
  reliable_ack(&peer->resume.stream, received);
  bool is_newest = is_restored || token_is_newest(session, peer, hello->resume_token);
  peer->resume.tokens++;
  peer->resume.used_ago = is_newest ? 1 : (uint8_t)(peer->resume.used_ago + 1);
  if (is_restored) token_use(peer, hello->resume_token);
  resume(session, peer, &request, is_restored);
  return true;
}
