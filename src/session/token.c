// The tokens that resume sessions. A token contains the peer's id and 96 bits of a hash.
// The id finds the peer. Only this server can compute the hash, because it uses a secret
// key. The comparison takes constant time, so that timing does not help to guess a token.
//
// The WELCOME with a new token may be lost together with its connection. Therefore the
// token that resumed a session stays valid until a packet arrives on the new connection,
// or until 255 WELCOMEs have been lost.
//
// The tokens of an earlier process are known by their hashes (Restored).

#include <sodium.h>
#include <string.h>

#include "base/mem.h"
#include "session/internal.h"

// Computes the session's token with this number.
static void make_token(const Session *session, const Peer *peer, uint32_t number,
                       uint8_t token[UUID_SIZE]) {
  uint8_t input[UUID_SIZE + sizeof number];
  memcpy(input, peer->session, UUID_SIZE);
  memcpy(input + UUID_SIZE, &number, sizeof number);
  crypto_generichash(token, UUID_SIZE, input, sizeof input, session->token_key,
                     sizeof session->token_key);
  memcpy(token, &peer->id, sizeof peer->id);
}

void token_newest(const Session *session, const Peer *peer, uint8_t token[UUID_SIZE]) {
  memset(token, 0, UUID_SIZE);
  if (peer->resume.is_resumable) make_token(session, peer, peer->resume.tokens, token);
}

static bool is_token(const Session *session, const Peer *peer, uint32_t number,
                     const uint8_t token[UUID_SIZE]) {
  uint8_t expected[UUID_SIZE];
  make_token(session, peer, number, expected);
  return sodium_memcmp(token, expected, UUID_SIZE) == 0;
}

void token_used(const Session *session, const Peer *peer, uint8_t token[UUID_SIZE]) {
  make_token(session, peer, peer->resume.tokens - peer->resume.used_ago, token);
}

void token_confirm(Peer *peer) {
  peer->resume.used_ago = 0;
  mem_free(peer->resume.restored);
  peer->resume.restored = NULL;
}

void token_hash(const uint8_t token[UUID_SIZE], uint8_t hash[TOKEN_HASH_SIZE]) {
  crypto_generichash(hash, TOKEN_HASH_SIZE, token, UUID_SIZE, NULL, 0);
}

bool token_restores(const Peer *peer, const uint8_t token[UUID_SIZE]) {
  const Restored *restored = peer->resume.restored;
  if (!restored) return false;
  uint8_t hash[TOKEN_HASH_SIZE];
  token_hash(token, hash);
  bool is_newest = sodium_memcmp(hash, restored->hashes[0], TOKEN_HASH_SIZE) == 0;
  bool is_used = sodium_memcmp(hash, restored->hashes[1], TOKEN_HASH_SIZE) == 0;
  return is_newest || is_used;
}

void token_use(Peer *peer, const uint8_t token[UUID_SIZE]) {
  for (int i = 0; i < 2; i++) token_hash(token, peer->resume.restored->hashes[i]);
}

bool token_is_newest(const Session *session, const Peer *peer,
                     const uint8_t token[UUID_SIZE]) {
  return is_token(session, peer, peer->resume.tokens, token);
}

bool token_resumes(const Session *session, const Peer *peer,
                   const uint8_t token[UUID_SIZE]) {
  uint32_t used = peer->resume.tokens - peer->resume.used_ago;
  return token_is_newest(session, peer, token) ||
         is_token(session, peer, used, token) || token_restores(peer, token);
}
