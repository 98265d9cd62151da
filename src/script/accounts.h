// The proofs of identity that scripts use: passwords, the key of tokens, the keys of
// JWTs, and the count of guesses. The Lua half (lua/perigee/host/accounts.lua) decides
// who may sign in, and the store has the accounts. Private to src/script.
#pragma once

#include "account/guesses.h"
#include "account/keys.h"
#include "account/password.h"
#include "account/token.h"
#include "base/file.h"

typedef struct Host Host;

typedef struct Accounts {
  Passwords *passwords;  // NULL until first used; owned
  Guesses *guesses;      // NULL until first used; owned
  TokenKey key;
  bool has_key;
  // Content of the file jwt_keys; NULL: not read yet; owned.
  Keys *keys;
  char signature[FILE_SIGNATURE_SIZE];  // signature of the file that `keys` came from
} Accounts;

void accounts_deinit(Accounts *accounts);

/// Reads the file jwt_keys if it has changed. Returns NULL; or an error text if the
/// file cannot be used, and keeps the earlier keys.
const char *accounts_read_keys(Host *host);
