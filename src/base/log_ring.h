// The newest lines of the log, for readers that cannot see standard error. The caller
// of log_set_ring owns the ring. While it is set, any thread may read its lines by
// log_kept and log_read_kept.
#pragma once

#include "base/log.h"

enum {
  LOG_RING_LINES = 200,
  LOG_RING_BYTES = 2048,  // bytes of a line's text; longer ones are cut
};

typedef struct LogLine {
  int64_t unix_s;
  LogLevel level;
  uint32_t version;             // version of the script; 0 before the first
  char hash[LOG_HASH_MAX + 1];  // hash of that version; "" if unknown
  uint32_t size;
  char *text;  // text in the form of LOG_TEXT, without time, level and version; UTF-8
} LogLine;

/// A ring of lines. A zeroed one is empty.
struct LogRing {
  LogLine lines[LOG_RING_LINES];
  uint64_t count;  // number of all lines so far
};

/// Copies a line into the ring, in place of the oldest one if the ring is full.
void log_ring_put(LogRing *ring, const LogLine *line);

/// Returns the line that has `back` newer ones, or NULL; valid until the next line.
const LogLine *log_ring_at(const LogRing *ring, uint32_t back);

void log_ring_deinit(LogRing *ring);

/// Returns the number of lines so far in the ring of log_set_ring; 0 without a ring.
uint64_t log_kept(void);

/// Copies the line with that number (from 0 on), and its text to `text`. Returns false
/// if the ring does not contain the line yet, or no longer.
bool log_read_kept(uint64_t number, LogLine *line, char text[LOG_RING_BYTES + 1]);
