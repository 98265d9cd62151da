// The log writes one line to standard error for each event. A line has a message and
// fields, as text (coloured on a terminal) or JSON. Level, format, script version, sink
// and ring belong to a Log. The process has a Log, and a thread can use another one
// (log_use). Any thread may call these functions; signal handlers may not.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum LogLevel { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF } LogLevel;
typedef enum LogFormat { LOG_TEXT, LOG_JSON } LogFormat;

enum {
  LOG_VALUE_MAX = 1024,  // bytes of a text value; a longer value is cut
  LOG_HASH_MAX = 16,     // bytes of a version's hash
};

typedef struct LogField {
  const char *key;   // NULL ends the list
  const char *text;  // value; NULL: the value is `number`
  size_t size;       // bytes of `text`
  int64_t number;    // value if `text` is NULL
} LogField;

/// Creates a separate log, whose lines go to standard error until it has a sink. When
/// it is freed, no thread may use it.
typedef struct Log Log;
Log *log_new(void);
void log_free(Log *log);

/// Makes the functions below use `log` when this thread calls them. NULL: the log of
/// the process. Returns the log that this thread used before.
Log *log_use(Log *log);

/// Returns the log that the calling thread uses; NULL: the log of the process.
Log *log_used(void);

/// Drops lines below `level`.
void log_set_level(LogLevel level);
void log_set_format(LogFormat format);

/// Sets the script version of later lines, as in `v=3.1a2b3c4`. `number` is 0 before
/// the first version. `hash` is the hash of the loaded game, cut at LOG_HASH_MAX bytes;
/// "" if unknown.
void log_set_version(uint32_t number, const char *hash);

/// Receives each line instead of standard error: its text in the form of LOG_TEXT,
/// without time, level and end of line. Runs on the thread that logs. Must not log.
typedef void LogSink(void *data, LogLevel level, const char *text, size_t size);

/// Sets the sink; NULL: standard error.
void log_set_sink(LogSink *sink, void *data);

typedef struct LogRing LogRing;  // log_ring.h

/// Enlarges the pipe to which standard error leads, if it leads to one, so that no line
/// is lost while the reader is at most a MiB behind.
void log_widen_pipe(void);

/// Makes the log also copy later lines to a ring; see log_ring.h. The caller owns the
/// ring, and must not touch it until it sets another ring or NULL. NULL: no ring.
void log_set_ring(LogRing *ring);

/// The settings that the functions above change.
typedef struct LogState {
  LogLevel level;
  LogFormat format;
  uint32_t version;
  char hash[LOG_HASH_MAX + 1];
  LogSink *sink;
  void *sink_data;
  LogRing *ring;
} LogState;

/// Applies `state` and returns the previous state. Simulated servers that alternate in
/// one process use this.
LogState log_swap(LogState state);

/// Returns the level with the name "debug", "info", "warn", "error" or "off"; -1 for
/// other names.
int log_level_parse(const char *name);

bool log_is_on(LogLevel level);

/// Writes one line. If standard error is not being read, counts the line as lost; a
/// later line reports the number of lost lines. Field values may contain any bytes.
/// Hidden characters (text_is_hidden) and wrong UTF-8 are escaped, so that no peer can
/// forge a line, reverse the text or send a terminal sequence. Newlines in `message`
/// (script tracebacks) stay newlines in text, indented, and are escaped in JSON.
void log_write(LogLevel level, const char *message, const LogField *fields);

/// Returns the number of lines that were lost since the start of the process.
uint64_t log_lost(void);

LogField log_str(const char *key, const char *text);
LogField log_bytes(const char *key, const char *text, size_t size);
LogField log_num(const char *key, int64_t number);

// Example: log_info("connected", log_num("peer", id), log_str("name", name));
// At least one field is required. log_plain writes lines without fields.
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
