// Failures of handlers, grouped by the place where they happened. Has a fixed number of
// groups; a new one replaces the one that has not happened for longest.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

enum {
  FAILURE_GROUPS = 64,
  FAILURE_TEXT_BYTES = 4096,  // bytes of the kept text; a longer text is cut
};

typedef struct FailureGroup {
  uint64_t count;
  double first_s, last_s;  // seconds since 1970
  uint64_t place;          // hash of the place
  char *text;              // newest text; owned
} FailureGroup;

typedef struct Failures {
  FailureGroup groups[FAILURE_GROUPS];  // unused ones have no text
  uint64_t changes;                     // number of failures so far
} Failures;

/// Counts a failure. The place is the file and line at which its error begins; without
/// one, the whole first line.
void failures_add(Failures *failures, const char *text, double now_s);
void failures_deinit(Failures *failures);

/// Appends a list of the groups, the newest first.
void failures_put(const Failures *failures, Buf *json);
