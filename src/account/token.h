// Tokens that prove who a player is: "p1.", then in base64url the claims and an Ed25519
// signature. No server needs to remember a token. Pure functions without a clock.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/reader.h"

enum {
  ACCOUNT_ID_SIZE = 16,
  TOKEN_SEED_SIZE = 32,
  TOKEN_SIZE = 142  // characters
};

typedef struct TokenClaims {
  uint8_t account[ACCOUNT_ID_SIZE];
  // Generation of the account's sign-ins; signing out everywhere raises it.
  uint32_t generation;
  uint32_t sign_in;    // number of the sign-in, which a renewed token keeps
  uint64_t issued_s;   // Unix time
  uint64_t expires_s;  // Unix time
} TokenClaims;

/// A key pair, which must stay secret.
typedef struct TokenKey {
  uint8_t public_key[32];
  uint8_t secret_key[64];
} TokenKey;

/// Computes the key pair of a random seed, which the store keeps.
void token_key_from(TokenKey *key, const uint8_t seed[TOKEN_SEED_SIZE]);

/// Writes TOKEN_SIZE characters and a NUL.
void token_make(const TokenKey *key, const TokenClaims *claims,
                char token[TOKEN_SIZE + 1]);

/// Returns whether a text has the form of a token of this server, "p1." and so on.
bool token_is_own(Text text);

/// Reads a token; returns whether this key has signed it. The caller checks the times.
bool token_read(const TokenKey *key, Text text, TokenClaims *claims);
