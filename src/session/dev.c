// Development mode: a game's pages show the game's errors, and reload files that have
// changed. Only WebSocket peers get these notices.

#include <string.h>

#include "base/mem.h"
#include "session/internal.h"

static bool is_page(const Peer *peer) {
  return peer->state == PEER_CONNECTED && peer->framing == FRAMING_PACKETS &&
         peer->transport == TRANSPORT_WS;
}

static void send_error(Session *session, Peer *peer) {
  session->scratch.size = 0;
  control_dev_error(&session->scratch, session->dev_error);
  send_control(session, peer, CONTROL_DEV_ERROR, NULL, &session->scratch);
}

void dev_greet(Session *session, Peer *peer) {
  if (session->dev_error != NULL && is_page(peer)) send_error(session, peer);
}

void session_set_dev_error(Session *session, const char *text) {
  const char *before = session->dev_error;
  if (text == before || (text != NULL && before != NULL && strcmp(text, before) == 0))
    return;
  mem_free(session->dev_error);
  session->dev_error = text == NULL ? NULL : mem_strdup(text);
  if (text == NULL) return;
  uint32_t cursor = 0;
  for (Peer *peer; (peer = session_next(session, &cursor)) != NULL;) {
    if (is_page(peer)) send_error(session, peer);
  }
}

void session_notify_asset(Session *session, const char *path) {
  uint32_t cursor = 0;
  for (Peer *peer; (peer = session_next(session, &cursor)) != NULL;) {
    if (!is_page(peer)) continue;
    session->scratch.size = 0;
    control_dev_asset(&session->scratch, path);
    send_control(session, peer, CONTROL_DEV_ASSET, NULL, &session->scratch);
  }
}
