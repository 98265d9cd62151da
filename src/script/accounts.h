// The proofs of identity that scripts use: passwords, the key of tokens, the keys of JWTs,
// and the count of guesses. The Lua half (lua/perigee/host/accounts.lua) decides who may
// sign in, and the store has the accounts. Private to src/script.
#pragma once

#include "account/guesses.h"
#include "account/keys.h"
#include "account/password.h"
#include "account/token.h"
#include "base/file.h"

typedef struct Host Host;

typedef struct Accounts {
  Passwords *passwords;  // NULL before the first one; owned
  Guesses *guesses;      // NULL before the first one; owned
  TokenKey key;
  bool has_key;
  Keys *keys;                           // of jwt_keys; NULL: not read yet; owned
  char signature[FILE_SIGNATURE_SIZE];  // of the file of `keys`
} Accounts;

void accounts_deinit(Accounts *accounts);

/// Reads jwt_keys if the file has changed. Returns NULL, or a sentence if it cannot be
/// used; then the keys stay as they were.
const char *accounts_read_keys(Host *host);
