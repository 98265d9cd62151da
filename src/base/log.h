// The log: one line an event, a message and fields, to standard error, as text
// (coloured on a terminal) or JSON. The level, format, script version, sink and ring belong
// to a Log: that of the process, or the one that the calling thread uses (log_use). Any
// thread may call any of these; none may be called in a signal handler.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum LogLevel { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF } LogLevel;
typedef enum LogFormat { LOG_TEXT, LOG_JSON } LogFormat;

enum {
  LOG_VALUE_MAX = 1024,  // bytes of a text value; the rest is cut off
  LOG_HASH_MAX = 16,     // bytes of a version's hash
};

typedef struct LogField {
  const char *key;   // NULL ends the list
  const char *text;  // value, when not NULL
  size_t size;       // its bytes
  int64_t number;    // value otherwise
} LogField;

/// Makes a log of its own, whose lines go to standard error until it has a sink. No thread
/// may use it when it is freed.
typedef struct Log Log;
Log *log_new(void);
void log_free(Log *log);

/// Makes `log` the one that all functions below use when this thread calls them. NULL: the
/// log of the process. Returns the log that they used before.
Log *log_use(Log *log);

/// Returns the log that the calling thread uses; NULL: that of the process.
Log *log_used(void);

/// Drops lines below `level`.
void log_set_level(LogLevel level);
void log_set_format(LogFormat format);

/// Sets the script version of later lines, as `v=3.1a2b3c4`; `number` is 0 before the first. Keeps
/// LOG_HASH_MAX bytes of `hash` (of the loaded game); "" where it is unknown.
void log_set_version(uint32_t number, const char *hash);

/// Takes each line instead of standard error: its text in the form of LOG_TEXT, without time,
/// level and end of line. Runs on the thread that logs, and must not log.
typedef void LogSink(void *data, LogLevel level, const char *text, size_t size);

/// Sets the sink; NULL: standard error.
void log_set_sink(LogSink *sink, void *data);

typedef struct LogRing LogRing;  // see log_ring.h

/// Enlarges the pipe that standard error may be, so that a reader may lag by a MiB of
/// lines before any are lost.
void log_widen_pipe(void);

/// Keeps the newest later lines, besides writing them: see log_ring.h. The caller owns the ring,
/// and must not touch it until it sets another one. NULL: keeps none.
void log_set_ring(LogRing *ring);

/// The settings of the functions above.
typedef struct LogState {
  LogLevel level;
  LogFormat format;
  uint32_t version;
  char hash[LOG_HASH_MAX + 1];
  LogSink *sink;
  void *sink_data;
  LogRing *ring;
} LogState;

/// Applies `state` and returns the one before, for servers that alternate in one process.
LogState log_swap(LogState state);

/// Returns the level "debug", "info", "warn", "error" or "off"; -1 for other names.
int log_level_parse(const char *name);

bool log_is_on(LogLevel level);

/// Writes one line, or counts it as lost where standard error is not read: a later line reports
/// how many were. Field values may hold any bytes: hidden characters (text_is_hidden) and broken
/// UTF-8 are escaped, so no peer can forge a line, reverse the text or send a terminal sequence.
/// Newlines in `message` of script tracebacks are kept in text (indented) and escaped in JSON.
void log_write(LogLevel level, const char *message, const LogField *fields);

LogField log_str(const char *key, const char *text);
LogField log_bytes(const char *key, const char *text, size_t size);
LogField log_num(const char *key, int64_t number);

// log_info("connected", log_num("peer", id), log_str("name", name)); at least one
// field. Lines without fields go through log_plain.
#define LOG_AT(level, message, ...)                                    \
  do {                                                                 \
    if (log_is_on(level))                                              \
      log_write(level, message, (const LogField[]){__VA_ARGS__, {0}}); \
  } while (0)
#define log_debug(message, ...) LOG_AT(LOG_DEBUG, message, __VA_ARGS__)
#define log_info(message, ...) LOG_AT(LOG_INFO, message, __VA_ARGS__)
#define log_warn(message, ...) LOG_AT(LOG_WARN, message, __VA_ARGS__)
#define log_error(message, ...) LOG_AT(LOG_ERROR, message, __VA_ARGS__)
#define log_plain(level, message) log_write(level, message, NULL)
