// The newest lines of the log, for readers that cannot see standard error. The caller
// of log_set_ring owns the ring. While it is set, any thread may read its lines by
// log_kept and log_read_kept.
#pragma once

#include "base/log.h"

enum {
  LOG_RING_LINES = 200,
  LOG_RING_BYTES = 2048,  // bytes of a line's text; a longer text is cut
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

/// Copies a line into the ring. If the ring is full, the line replaces the oldest one.
void log_ring_put(LogRing *ring, const LogLine *line);

/// Returns the line after which `back` newer lines were put into the ring, or NULL if
/// the ring does not contain it. The result is valid until the next log_ring_put.
const LogLine *log_ring_at(const LogRing *ring, uint32_t back);

void log_ring_deinit(LogRing *ring);

/// Returns the count of the ring that log_set_ring has set; 0 without a ring.
uint64_t log_kept(void);

/// Copies the line with index `number`, counted from 0, to `line`, and its text to
/// `text`. Returns false if the ring does not contain the line yet, or no longer.
bool log_read_kept(uint64_t number, LogLine *line, char text[LOG_RING_BYTES + 1]);
