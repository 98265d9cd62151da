// Ends peers, and suspends peers that have lost their connection.

#include <assert.h>

#include "base/log.h"
#include "base/mem.h"
#include "session/internal.h"

void resume_end(Session *session, Peer *peer) {
  reliable_deinit(&peer->resume.stream);
  token_confirm(peer);
  if (!peer->resume.is_resumable) return;
  peer->resume.is_resumable = false;
  session->resumable--;
}

void peer_free(Session *session, Peer *peer) {
  assert(peer->relay.rooms == NULL);
  resume_end(session, peer);
  timers_stop(net_timers(session->net), &peer->timer);
  net_close_counter(&peer->ended);
  slots_remove(&session->peers, peer->id);
  peer_free_sign_in(peer);
  mem_free(peer->name);
  mem_free(peer);
}

static void uncount(Session *session, const Peer *peer, Code code) {
  if (peer->is_bot) return;
  if (peer->state != PEER_HANDSHAKE) session->json -= peer_form(peer) != FORM_SCHEMA;
  if (peer->state == PEER_SUSPENDED) {  // the end of the connection was counted when
                                        // the peer was suspended
    session->suspended--;
    return;
  }
  if (peer->state == PEER_CONNECTING) session->connecting--;
  if (peer->state == PEER_CONNECTED) session->connected--;
  session->open--;
  session->stats.ended[code]++;
  bool is_refused = peer->state < PEER_CONNECTED && code > CODE_RESET;
  session->stats.refused[code] += is_refused;
}

static void send_closing(Session *session, const Peer *peer, const Ending *ending) {
  if (peer->conn == 0) return;
  if (ending->text)
    send_ending(session, peer->conn, peer->framing, CONTROL_CLOSING, NULL, ending);
  // When the server stops, the transport ends as in an orderly close.
  Code code = ending->code == CODE_UNAVAILABLE ? CODE_CLOSED : ending->code;
  net_end(session->net, peer->conn, code, ending->text);
}

void peer_end(Session *session, Peer *peer, const char *message, Code code,
              const char *text) {
  bool was_there = peer_has_session(peer);
  assert(peer->state != PEER_CLOSED && (unsigned)code < SESSION_CODES);
  uncount(session, peer, code);
  if (!peer->is_bot) session_count_address(session, peer_address(peer), -1);
  peer_names_drop(session, peer);
  timers_stop(net_timers(session->net), &peer->timer);
  resume_end(session, peer);
  peer->state = PEER_CLOSED;
  peer->conn = 0;
  log_info(message, log_num("peer", peer->id),
           log_bytes("name", peer->name, peer->name_size),
           log_str("address", peer_address(peer)), log_num("port", peer->port),
           log_str("reason", code_name(code)),
           text ? log_str("text", text) : (LogField){0});
  if (was_there)
    session->events.disconnect(session->data, peer, code);
  else
    peer_free(session, peer);
}

void resume_suspend(Session *session, Peer *peer, Code code) {
  peer->state = PEER_SUSPENDED;
  peer->conn = 0;
  peer->resume.lost_code = (uint8_t)code;
  peer->resume.lost_ms = net_now_ms(session->net);
  peer->ping_sent_us = 0;
  peer->resume.ack_due_ms = 0;
  throttle_suspend(peer);
  session->open--;
  session->connected--;
  session->suspended++;
  session->stats.ended[code]++;
  session->stats.suspended++;
  log_info("suspended", log_num("peer", peer->id),
           log_bytes("name", peer->name, peer->name_size),
           log_str("address", peer_address(peer)), log_num("port", peer->port),
           log_str("reason", code_name(code)));
  deadline_arm(session, peer);
  session->events.suspend(session->data, peer, code);
}

void peer_lose(Session *session, Peer *peer, Code code, const char *text) {
  bool can_wait = peer->state == PEER_CONNECTED && peer->resume.is_resumable &&
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
