// The last hour of a server in rows of two seconds. Has a fixed size, and reads neither
// clock nor counters: the caller passes them in. Counters become rates here.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/histogram.h"

enum {
  HISTORY_STEP_MS = 2000,
  HISTORY_ROWS = 1800,  // rows of an hour
};

// X(constant, name): columns of a row. Values are per second, unless the name has
// another unit or counts what exists.
#define HISTORY_COLUMN_MAP(X)                 \
  X(HISTORY_PEERS, "peers")                   \
  X(HISTORY_ROOMS, "rooms")                   \
  X(HISTORY_MESSAGES, "messages")             \
  X(HISTORY_DELIVERIES, "deliveries")         \
  X(HISTORY_LATENESS, "lateness_ms")          \
  X(HISTORY_CPU, "cpu")       /* of a core */ \
  X(HISTORY_HEAP, "heap")     /* bytes */     \
  X(HISTORY_ERRORS, "errors") /* in the step */

typedef enum HistoryColumn {
#define X(constant, name) constant,
  HISTORY_COLUMN_MAP(X)
#undef X
      HISTORY_COLUMNS
} HistoryColumn;

/// The state of a server at one time: counters since its start, and what exists now.
typedef struct HistorySample {
  uint64_t at_us;  // monotonic time
  double peers, rooms, heap;
  double messages, deliveries, errors, cpu_s;
  const Histogram *lateness;
} HistorySample;

typedef struct History {
  float rows[HISTORY_ROWS][HISTORY_COLUMNS];
  uint64_t count;      // number of all rows so far
  HistorySample last;  // newest sample, without its histogram
  Histogram lateness;  // histogram of the newest sample
  bool has_last;
} History;

/// Adds a row with the difference to the sample before. The first sample adds none.
void history_add(History *history, const HistorySample *sample);

/// Appends the newest row as a list of numbers; the list is empty without one.
void history_put_row(const History *history, Buf *json);

/// Appends {"step", "columns", "rows"}: all rows, the oldest first.
void history_put(const History *history, Buf *json);
