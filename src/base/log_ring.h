// The newest lines of the log, for readers that cannot see standard error. The ring belongs
// to the caller of log_set_ring; while it is set, any thread reads its lines by log_kept
// and log_read_kept.
#pragma once

#include "base/log.h"

enum {
  LOG_RING_LINES = 200,
  LOG_RING_BYTES = 2048,  // of a line's text; the rest is cut off
};

typedef struct LogLine {
  int64_t unix_s;
  LogLevel level;
  uint32_t version;             // of the script; 0 before the first
  char hash[LOG_HASH_MAX + 1];  // of it, "" where it is not known
  uint32_t size;
  char *text;  // as LOG_TEXT has it, without time, level and version; UTF-8
} LogLine;

/// A zeroed one is empty.
struct LogRing {
  LogLine lines[LOG_RING_LINES];
  uint64_t count;  // of all lines ever
};

/// Copies a line; it replaces the oldest one if the ring is full.
void log_ring_put(LogRing *ring, const LogLine *line);

/// Returns the line with `back` newer ones, or NULL; valid until the next line.
const LogLine *log_ring_at(const LogRing *ring, uint32_t back);

void log_ring_deinit(LogRing *ring);

/// Returns how many lines went into the ring of log_set_ring so far; 0 without one.
uint64_t log_kept(void);

/// Copies one of them, by its number from 0 on, and its text to `text`. Returns false if it
/// does not exist, or not any more.
bool log_read_kept(uint64_t number, LogLine *line, char text[LOG_RING_BYTES + 1]);
