// See token.h.
#include "account/token.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

#include "account/encoded.h"
#include "base/buf.h"

#define PREFIX "p1."

enum {
  PREFIX_SIZE = sizeof PREFIX - 1,
  CLAIMS_SIZE = ACCOUNT_ID_SIZE + 24,
  BYTES = CLAIMS_SIZE + crypto_sign_BYTES,
};

_Static_assert(TOKEN_SIZE + 1 ==
                   PREFIX_SIZE + sodium_base64_ENCODED_LEN(
                                     BYTES, sodium_base64_VARIANT_URLSAFE_NO_PADDING),
               "characters of a token");

// Beginning of the signed bytes. It makes signatures for other purposes invalid here.
static const char PURPOSE[] = "perigee account token 1";

void token_key_from(TokenKey *key, const uint8_t seed[TOKEN_SEED_SIZE]) {
  crypto_sign_seed_keypair(key->public_key, key->secret_key, seed);
}

static void signed_bytes(const uint8_t *claims,
                         uint8_t bytes[sizeof PURPOSE + CLAIMS_SIZE]) {
  memcpy(bytes, PURPOSE, sizeof PURPOSE);
  memcpy(bytes + sizeof PURPOSE, claims, CLAIMS_SIZE);
}

void token_make(const TokenKey *key, const TokenClaims *claims,
                char token[TOKEN_SIZE + 1]) {
  Buf buf = {0};
  buf_append(&buf, claims->account, ACCOUNT_ID_SIZE);
  buf_u32(&buf, claims->generation);
  buf_u32(&buf, claims->sign_in);
  buf_u64(&buf, claims->issued_s);
  buf_u64(&buf, claims->expires_s);
  assert(buf.size == CLAIMS_SIZE);
  uint8_t bytes[sizeof PURPOSE + CLAIMS_SIZE], signature[crypto_sign_BYTES];
  signed_bytes(buf.data, bytes);
  crypto_sign_detached(signature, NULL, bytes, sizeof bytes, key->secret_key);
  buf_append(&buf, signature, sizeof signature);
  memcpy(token, PREFIX, PREFIX_SIZE);
  sodium_bin2base64(token + PREFIX_SIZE, TOKEN_SIZE + 1 - PREFIX_SIZE, buf.data,
                    buf.size, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
  buf_deinit(&buf);
}

bool token_is_own(Text text) {
  return text.size >= PREFIX_SIZE && memcmp(text.bytes, PREFIX, PREFIX_SIZE) == 0;
}

// Decodes the bytes behind the prefix.
static bool read_signed(const TokenKey *key, const Buf *token, TokenClaims *claims) {
  uint8_t bytes[sizeof PURPOSE + CLAIMS_SIZE];
  if (token->size != BYTES) return false;
  signed_bytes(token->data, bytes);
  if (crypto_sign_verify_detached(token->data + CLAIMS_SIZE, bytes, sizeof bytes,
                                  key->public_key) != 0)
    return false;
  Reader reader = reader_of(token->data, CLAIMS_SIZE);
  memcpy(claims->account, reader_bytes(&reader, ACCOUNT_ID_SIZE), ACCOUNT_ID_SIZE);
  claims->generation = reader_u32(&reader);
  claims->sign_in = reader_u32(&reader);
  claims->issued_s = reader_u64(&reader);
  claims->expires_s = reader_u64(&reader);
  return true;
}

bool token_read(const TokenKey *key, Text text, TokenClaims *claims) {
  if (text.size != TOKEN_SIZE || !token_is_own(text)) return false;
  Buf token = {0};
  bool is_good =
      encoded_read((Text){text.bytes + PREFIX_SIZE, text.size - PREFIX_SIZE}, &token) &&
      read_signed(key, &token, claims);
  buf_deinit(&token);
  return is_good;
}
