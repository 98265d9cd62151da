// Passwords, as Argon2id hashes. Hashing takes some 20 ms and 19 MiB of memory on
// purpose. Therefore worker threads of low priority do it, at most PASSWORDS_RUNNING_MAX
// at a time.
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
  PASSWORDS_QUEUED_MAX = 64   // passwords that wait for that
};

typedef struct PasswordAnswer {
  uint32_t token;
  bool is_right;     // of passwords_check
  const char *hash;  // the hash to store from now on; "": none. Valid during the call
} PasswordAnswer;

/// Reports the end of a request, within the loop.
typedef void PasswordEnd(void *data, const PasswordAnswer *answer);

/// Does not keep the loop running. With NULL as `loop`, for a simulation, passwords are
/// hashed within the call, at the lowest cost that Argon2id has.
Passwords *passwords_open(Loop *loop, PasswordEnd *on_end, void *data);

/// Drops all requests without a report. NULL is allowed.
void passwords_close(Passwords *passwords);

/// Makes a hash of a password of PASSWORD_MIN to PASSWORD_MAX bytes, which is copied.
/// Returns false if too many passwords wait.
bool passwords_hash(Passwords *passwords, uint32_t token, Text password);

/// Compares a password of at most PASSWORD_MAX bytes with a hash. An empty `hash` means
/// that the name is unknown; the check then takes the same time, and its answer is that
/// the password is wrong. If the password is right, and the hash has another cost than
/// new ones, the answer has a new hash.
bool passwords_check(Passwords *passwords, uint32_t token, Text password, Text hash);
