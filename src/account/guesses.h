// Counts failed sign-ins by name and by address, so that nobody can guess a password.
// The table has a fixed size. If an attacker fills it, the oldest failures go first.
#pragma once

#include <stdint.h>

#include "wire/reader.h"

enum {
  GUESSES_MAX = 5,           // failures within the window
  GUESSES_WINDOW_MS = 60000  // after which a failure counts no more
};

typedef struct Guesses Guesses;

/// Creates an empty table; times are in milliseconds from any start on.
Guesses *guesses_new(void);
void guesses_free(Guesses *guesses);

/// Begins a try. It counts as a failure until guesses_forgive, so that tries at the same
/// time count as well. Returns 0; or, if it may not be made, the seconds to wait.
/// `name` may be empty.
uint32_t guesses_begin(Guesses *guesses, Text name, Text address, uint64_t now_ms);

/// Removes the failure that guesses_begin has counted at `begun_ms`.
void guesses_forgive(Guesses *guesses, Text name, Text address, uint64_t begun_ms);
