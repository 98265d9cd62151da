// Passwords, stored as Argon2id hashes. Hashing takes about 20 ms and 19 MiB of memory
// on purpose. Therefore worker threads of low priority hash passwords, at most
// PASSWORDS_RUNNING_MAX at a time.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/reader.h"

typedef struct Passwords Passwords;
typedef struct Loop Loop;

enum {
  PASSWORD_MIN = 8,  // bytes of a password
  PASSWORD_MAX = 1024,
  PASSWORD_HASH_MAX = 127,    // bytes of a hash
  PASSWORDS_RUNNING_MAX = 2,  // passwords that are hashed at a time
  PASSWORDS_QUEUED_MAX = 64   // passwords that wait to be hashed
};

typedef struct PasswordAnswer {
  uint32_t token;
  bool is_right;  // result of passwords_check
  // New hash that the caller must store; "": none. Valid during the call.
  const char *hash;
} PasswordAnswer;

/// Reports the end of a request, within the loop.
typedef void PasswordEnd(void *data, const PasswordAnswer *answer);

/// Creates the state, which does not keep the loop running. If `loop` is NULL, as in a
/// simulation, each call hashes at once, at the lowest cost of Argon2id.
Passwords *passwords_open(Loop *loop, PasswordEnd *on_end, void *data);

/// Drops all requests without a report. NULL is allowed.
void passwords_close(Passwords *passwords);

/// Makes a hash of a password of PASSWORD_MIN to PASSWORD_MAX bytes, which is copied.
/// Returns false if too many passwords wait.
bool passwords_hash(Passwords *passwords, uint32_t token, Text password);

/// Compares a password of at most PASSWORD_MAX bytes with a hash. An empty `hash` means
/// that the name is unknown. The check then takes the same time, and the password
/// counts as wrong. If the password is right, but the hash has another cost than new
/// ones, the answer contains a new hash.
bool passwords_check(Passwords *passwords, uint32_t token, Text password, Text hash);
