// Sessions that survive the process. The layer above stores a KeptSession of each
// resumable session, and makes suspended peers of these after a start. The new process
// has another key for tokens. Therefore a kept session contains hashes of the tokens
// that may resume it.

#include <string.h>

#include "base/mem.h"
#include "session/internal.h"

static TransportName read_transport(Text name) {
  for (int i = 0; i < TRANSPORT_COUNT; i++)
    if (text_equals(name, text_from(net_transport_name((TransportName)i))))
      return (TransportName)i;
  return TRANSPORT_TCP;
}

bool session_kept(const Session *session, const Peer *peer, KeptSession *kept) {
  if (!peer->resume.is_resumable) return false;
  uint8_t token[UUID_SIZE];
  *kept = (KeptSession){.id = peer->id,
                        .name = peer_name(peer),
                        .transport = text_from(peer_transport(peer)),
                        .protocol_hash = peer->protocol_hash,
                        .is_renamed = peer->is_renamed};
  memcpy(kept->session, peer->session, UUID_SIZE);
  const Restored *restored = peer->resume.restored;
  if (restored) memcpy(kept->hashes, restored->hashes, sizeof kept->hashes);
  if (peer->resume.tokens == 0) return true;
  token_newest(session, peer, token);
  token_hash(token, kept->hashes[0]);
  if (restored) return true;
  token_used(session, peer, token);
  token_hash(token, kept->hashes[1]);
  return true;
}

bool session_can_restore(const Session *session) {
  return session->limits.resume_timeout_ms > 0;
}

Peer *session_restore(Session *session, const KeptSession *kept, uint64_t away_ms) {
  if (!session_can_restore(session)) return NULL;
  Peer *peer = mem_zalloc(sizeof *peer);
  if (!text_is_peer_name(kept->name.bytes, kept->name.size) ||
      !slots_add_at(&session->peers, kept->id, peer)) {
    mem_free(peer);
    return NULL;
  }
  peer->id = kept->id;
  peer->owner = session;
  peer->state = PEER_SUSPENDED;
  peer->framing = FRAMING_PACKETS;
  peer->transport = (uint8_t)read_transport(kept->transport);
  peer->protocol_hash = kept->protocol_hash;
  // Replaces the hash if the game's messages have changed, because the client returns
  // with the new hash.
  if (!handshake_knows(session, kept->protocol_hash))
    peer->protocol_hash = session->hash_count > 0 ? session->hashes[0] : 0;
  memcpy(peer->session, kept->session, UUID_SIZE);
  peer_set_texts(peer, kept->name, "", (Text){0});
  peer->is_renamed = kept->is_renamed;
  session_count_address(session, "", 1);
  peer_names_hold(session, peer);
  peer->resume.is_resumable = true;
  peer->resume.lost_code = CODE_RESET;
  peer->resume.lost_ms = net_now_ms(session->net);
  peer->resume.restored = mem_alloc(sizeof *peer->resume.restored);
  peer->resume.restored->away_ms = away_ms;
  memcpy(peer->resume.restored->hashes, kept->hashes, sizeof kept->hashes);
  session->resumable++;
  session->suspended++;
  session->json += peer_form(peer) != FORM_SCHEMA;
  deadline_arm(session, peer);
  return peer;
}
