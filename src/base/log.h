// The log: one line an event, a message and fields, to standard error, as text
// (coloured on a terminal) or JSON. The level, format and script version are the only
// state and belong to the process.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum LogLevel { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_OFF } LogLevel;
typedef enum LogFormat { LOG_TEXT, LOG_JSON } LogFormat;

typedef struct LogField {
  const char *key;   // NULL ends the list
  const char *text;  // value, when not NULL
  size_t size;       // its bytes
  int64_t number;    // value otherwise
} LogField;

/// Lines below `level` are not written.
void log_set_level(LogLevel level);
void log_set_format(LogFormat format);

/// The script version that every line carries from now on; 0 before the first.
void log_set_version(uint32_t version);

/// Level for "debug", "info", "warn", "error", "off"; -1 for anything else.
int log_level_parse(const char *name);

bool log_is_on(LogLevel level);

/// Writes one line. Field values may hold any bytes: control characters and broken
/// UTF-8 are escaped, so no peer can forge a line or a terminal sequence. Newlines in
/// `message` of script tracebacks are kept in text (indented) and escaped in JSON.
void log_write(LogLevel level, const char *message, const LogField *fields);

enum { LOG_VALUE_MAX = 1024 };  // bytes of a text value; the rest is cut off

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
