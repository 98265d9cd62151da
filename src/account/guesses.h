// Counts failed sign-ins by name and by address, so that nobody can guess a password.
// The table has a fixed size. If an attacker fills it, new failures replace the oldest
// ones.
#pragma once

#include <stdint.h>

#include "wire/reader.h"

enum {
  GUESSES_MAX = 5,           // allowed failures within the window
  GUESSES_WINDOW_MS = 60000  // time for which a failure counts
};

typedef struct Guesses Guesses;

/// Creates an empty table. The clock of all times may start anywhere.
Guesses *guesses_new(void);
void guesses_free(Guesses *guesses);

/// Returns the number of failures that may still follow; if that is 0, `*wait_s` gets
/// the seconds to wait. `name` may be empty.
uint32_t guesses_left(Guesses *guesses, Text name, Text address, uint64_t now_ms,
                      uint32_t *wait_s);

/// Counts a failure.
void guesses_fail(Guesses *guesses, Text name, Text address, uint64_t now_ms);
