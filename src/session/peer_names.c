// Names of peers: which names are used, and which names a peer may have. A peer uses
// its name from its acceptance (a text peer from the beginning) until its session ends.
// A suspended peer keeps its name.
//
// The session begins to count the names of binary peers when it first needs the counts.
// Most servers never need the counts, because they have only binary peers, and names of
// binary peers need not be unique.

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "session/internal.h"

void peer_names_init(Session *session) {
  names_init(&session->packet_names);
  names_init(&session->text_names);
}

void peer_names_deinit(Session *session) {
  names_deinit(&session->packet_names);
  names_deinit(&session->text_names);
}

static void count(Session *session, uint8_t framing, Text name, int change) {
  Names *names =
      framing == FRAMING_LINES ? &session->text_names : &session->packet_names;
  names_add(names, name.bytes, name.size, change);
}

static bool is_counted(const Session *session, const Peer *peer) {
  return peer->framing == FRAMING_LINES || session->counts_packet_names;
}

static void count_packet_names(Session *session) {
  if (session->counts_packet_names) return;
  session->counts_packet_names = true;
  const Peer *peer;
  for (uint32_t cursor = 0; (peer = session_next(session, &cursor));)
    if (peer->holds_name && peer->framing != FRAMING_LINES)
      count(session, peer->framing, peer_name(peer), 1);
}

void session_reserve_name(Session *session, uint8_t framing, Text name, int change) {
  count_packet_names(session);
  count(session, framing, name, change);
}

static uint32_t count_text(const Session *session, Text name) {
  return names_find(&session->text_names, name.bytes, name.size);
}

static uint32_t count_all(Session *session, Text name) {
  count_packet_names(session);
  return count_text(session, name) +
         names_find(&session->packet_names, name.bytes, name.size);
}

bool peer_has_name(const Peer *peer, Text name) {
  return peer->name_size == name.size && memcmp(peer->name, name.bytes, name.size) == 0;
}

int session_check_name(Session *session, const Peer *peer, Text name,
                       uint32_t reserved) {
  if (!text_is_peer_name(name.bytes, name.size)) return ERR_INVALID;
  uint32_t own = reserved + (peer->holds_name && peer_has_name(peer, name));
  switch (session->limits.unique_names) {
    case UNIQUE_AMONG_ALL:
      return count_all(session, name) > own ? ERR_EXISTS : 0;
    case UNIQUE_AMONG_TEXT:
      if (peer->framing != FRAMING_LINES) return 0;
      return count_text(session, name) > own ? ERR_EXISTS : 0;
    case UNIQUE_NOT:
      break;
  }
  return 0;
}

void peer_names_hold(Session *session, Peer *peer) {
  if (peer->holds_name) return;
  peer->holds_name = true;
  if (is_counted(session, peer)) count(session, peer->framing, peer_name(peer), 1);
}

void peer_names_drop(Session *session, Peer *peer) {
  if (!peer->holds_name) return;
  peer->holds_name = false;
  if (is_counted(session, peer)) count(session, peer->framing, peer_name(peer), -1);
}

int session_check_bot_name(Session *session, Text name) {
  return session_check_name(session, &(Peer){.framing = FRAMING_PACKETS}, name, 0);
}

// Makes the name `guest-ID` or `bot-ID`. Appends a number if another peer already has
// that name.
void peer_names_make(Session *session, Peer *peer) {
  char name[NAME_MAX_BYTES + 1];
  const char *what = peer->is_bot ? "bot" : "guest";
  snprintf(name, sizeof name, "%s-%u", what, peer->id);
  for (uint32_t i = 2; count_all(session, text_from(name)) > 0; i++)
    snprintf(name, sizeof name, "%s-%u-%u", what, peer->id, i);
  peer_set_texts(peer, text_from(name), peer_address(peer), peer_token(peer));
  peer_names_hold(session, peer);
}

void session_rename(Session *session, Peer *peer, Text name) {
  if (peer_has_name(peer, name)) return;
  peer_names_drop(session, peer);
  peer_set_texts(peer, name, peer_address(peer), peer_token(peer));
  peer->is_renamed = peer->framing == FRAMING_PACKETS;
  peer_names_hold(session, peer);
}
