// The log. Each line is built in a Buf and written by one write(2), so that lines of
// several processes on one terminal do not mix. Text is for people: local time,
// `key=value`, quotes only if needed. JSON is for machines: UTC, one object a line.
//
// A slow reader does not block the server. If standard error has no room for a line
// after a short wait, the line is lost and counted. Standard error is not made
// non-blocking, because other processes share it. Instead, poll(2) reports whether it
// has room. A pipe that has room accepts PIPE_BUF bytes without blocking.
//
// Any thread may log. While one thread waits for the reader, other threads that want to
// write a line wait, too. Threads that change settings do not wait, because a separate
// lock protects the settings.
#define _GNU_SOURCE
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/log_journal.h"
#include "base/log_ring.h"
#include "base/mem.h"
#include "base/text.h"

#define DIM "\x1b[2m"
#define RESET "\x1b[0m"
#define INDENT "    "

enum {
  PATIENCE_MS = 100,     // longest wait for a slow reader to make room
  IMPATIENT_MS = 1000,   // time after a failed wait in which no line waits
  PIPE_BYTES = 1 << 20,  // size of a pipe that the kernel grants to every user
                         // (pipe(7))
};

// Protects standard error and `lost`.
static pthread_mutex_t output_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  uint64_t lines;    // lost lines that no other line has reported yet
  uint64_t all;      // lost lines since the start of the process
  bool is_cut;       // the last line was written only partly
  int64_t until_ms;  // time until which has_room does not wait, monotonic
} lost;

// A log. The lock protects state and ring, and is held only briefly.
struct Log {
  pthread_mutex_t lock;
  LogState state;
  _Atomic int level;  // copy of state.level that is read without the lock
};

static Log process_log = {.lock = PTHREAD_MUTEX_INITIALIZER,
                          .state = {.level = LOG_INFO, .format = LOG_TEXT},
                          .level = LOG_INFO};
static _Thread_local Log *used;  // log that this thread uses; NULL: process_log

static const char *const level_names[] = {"debug", "info", "warn", "error", "off"};
static const char *const level_colours[] = {"\x1b[36m", "\x1b[32m", "\x1b[33m",
                                            "\x1b[31m"};

Log *log_new(void) {
  Log *log = mem_zalloc(sizeof *log);
  pthread_mutex_init(&log->lock, NULL);
  log->state.level = LOG_INFO;
  log->level = LOG_INFO;
  return log;
}

void log_free(Log *log) {
  pthread_mutex_destroy(&log->lock);
  mem_free(log);
}

Log *log_used(void) { return used; }

Log *log_use(Log *log) {
  Log *before = used;
  used = log;
  return before;
}

static Log *lock_state(void) {
  Log *log = used != NULL ? used : &process_log;
  pthread_mutex_lock(&log->lock);
  return log;
}

static void unlock_state(Log *log) {
  log->level = (int)log->state.level;
  pthread_mutex_unlock(&log->lock);
}

void log_set_level(LogLevel level) {
  Log *log = lock_state();
  log->state.level = level;
  unlock_state(log);
}

void log_set_format(LogFormat format) {
  Log *log = lock_state();
  log->state.format = format;
  unlock_state(log);
}

void log_set_sink(LogSink *sink, void *data) {
  Log *log = lock_state();
  log->state.sink = sink;
  log->state.sink_data = data;
  unlock_state(log);
}

// Enlarges the pipe to which standard error leads. Has no effect if it leads to
// something else.
void log_widen_pipe(void) { (void)fcntl(STDERR_FILENO, F_SETPIPE_SZ, PIPE_BYTES); }

void log_set_ring(LogRing *ring) {
  Log *log = lock_state();
  log->state.ring = ring;
  unlock_state(log);
}

uint64_t log_kept(void) {
  Log *log = lock_state();
  uint64_t count = log->state.ring ? log->state.ring->count : 0;
  unlock_state(log);
  return count;
}

bool log_read_kept(uint64_t number, LogLine *line, char text[LOG_RING_BYTES + 1]) {
  Log *log = lock_state();
  const LogRing *ring = log->state.ring;
  const LogLine *found = NULL;
  if (ring && number < ring->count && ring->count - number <= LOG_RING_LINES)
    found = log_ring_at(ring, (uint32_t)(ring->count - number) - 1);
  if (found) {
    *line = *found;
    line->text = memcpy(text, found->text, found->size + 1);
  }
  unlock_state(log);
  return found != NULL;
}

LogState log_swap(LogState state) {
  Log *log = lock_state();
  LogState before = log->state;
  log->state = state;
  unlock_state(log);
  return before;
}

void log_set_version(uint32_t number, const char *hash) {
  size_t size = strnlen(hash, LOG_HASH_MAX);
  Log *log = lock_state();
  log->state.version = number;
  memcpy(log->state.hash, hash, size);
  log->state.hash[size] = '\0';
  unlock_state(log);
}

int log_level_parse(const char *name) {
  for (int level = LOG_DEBUG; level <= LOG_OFF; level++)
    if (strcmp(name, level_names[level]) == 0) return level;
  return -1;
}

bool log_is_on(LogLevel level) {
  int least = atomic_load_explicit(&(used != NULL ? used : &process_log)->level,
                                   memory_order_relaxed);
  return (int)level >= least && level < LOG_OFF;
}

LogField log_str(const char *key, const char *text) {
  return log_bytes(key, text, text ? strlen(text) : 0);
}

LogField log_bytes(const char *key, const char *text, size_t size) {
  if (size > LOG_VALUE_MAX) size = LOG_VALUE_MAX;
  return (LogField){.key = key, .text = text ? text : "", .size = size};
}

LogField log_num(const char *key, int64_t number) {
  return (LogField){.key = key, .number = number};
}

static void append(Buf *buf, const char *text) { buf_append(buf, text, strlen(text)); }

// Writes a character beyond 16 bits as two surrogates, as JSON does.
static void append_unit(Buf *buf, uint32_t code) {
  if (code > 0xffff)
    buf_printf(buf, "\\u%04x\\u%04x", 0xd7c0 + (unsigned)(code >> 10),
               0xdc00 + (unsigned)(code & 0x3ff));
  else
    buf_printf(buf, "\\u%04x", (unsigned)code);
}

static void append_hidden(Buf *buf, uint32_t code) {
  switch (code) {
    case '\n':
      append(buf, "\\n");
      break;
    case '\r':
      append(buf, "\\r");
      break;
    case '\t':
      append(buf, "\\t");
      break;
    default:
      append_unit(buf, code);
  }
}

// Appends one character and returns its size in `text`. A byte that is not UTF-8
// becomes the replacement character in JSON, and \xNN in text.
static size_t append_char(Buf *buf, LogFormat format, const char *text, size_t size) {
  uint32_t code;
  size_t length = text_read_char(text, size, &code);
  if (length == 0) {
    if (format == LOG_JSON) {
      append(buf, "\\ufffd");
    } else {
      buf_printf(buf, "\\x%02x", (unsigned char)*text);
    }
    return 1;
  }
  if (text_is_hidden(code)) {
    append_hidden(buf, code);
  } else {
    buf_append(buf, text, length);
  }
  return length;
}

static void append_quoted(Buf *buf, LogFormat format, const char *text, size_t size) {
  buf_u8(buf, '"');
  for (size_t at = 0; at < size;) {
    if (text[at] == '"' || text[at] == '\\') buf_u8(buf, '\\');
    at += append_char(buf, format, text + at, size - at);
  }
  buf_u8(buf, '"');
}

// Returns whether a value needs no quotes.
static bool is_plain(const char *text, size_t size) {
  uint32_t code;
  for (size_t at = 0, length; at < size; at += length) {
    length = text_read_char(text + at, size - at, &code);
    if (length == 0 || text_is_hidden(code)) return false;
    if (length == 1 && strchr(" \"\\=", text[at])) return false;
  }
  return size > 0;
}

static void append_text_fields(Buf *buf, const LogField *fields) {
  for (; fields && fields->key; fields++) {
    buf_printf(buf, " %s=", fields->key);
    if (!fields->text) {
      buf_printf(buf, "%lld", (long long)fields->number);
    } else if (is_plain(fields->text, fields->size)) {
      buf_append(buf, fields->text, fields->size);
    } else {
      append_quoted(buf, LOG_TEXT, fields->text, fields->size);
    }
  }
}

static void append_version(Buf *buf, const LogState *state) {
  if (!state->version) return;
  buf_printf(buf, " v=%u", (unsigned)state->version);
  if (state->hash[0] != '\0') buf_printf(buf, ".%s", state->hash);
}

// Appends one line of a message, with spaces instead of tabs.
static void append_line(Buf *buf, const char *text, size_t size) {
  for (size_t at = 0; at < size;) {
    if (text[at] == '\t') {
      append(buf, INDENT);
      at++;
    } else {
      at += append_char(buf, LOG_TEXT, text + at, size - at);
    }
  }
}

static void append_text_head(Buf *buf, LogLevel level, const struct timespec *now) {
  const char *no_color = getenv("NO_COLOR");  // no-color.org
  bool is_coloured = !(no_color && *no_color) && isatty(STDERR_FILENO);
  struct tm tm;
  localtime_r(&now->tv_sec, &tm);
  buf_printf(buf, "%s%02d:%02d:%02d.%03d%s ", is_coloured ? DIM : "", tm.tm_hour,
             tm.tm_min, tm.tm_sec, (int)(now->tv_nsec / 1000000),
             is_coloured ? RESET : "");
  buf_printf(buf, "%s%-5s%s ", is_coloured ? level_colours[level] : "",
             level_names[level], is_coloured ? RESET : "");
}

// Appends a message and its fields. The fields follow the message's first line, where
// readers expect them. `version` contains the script version to append; NULL: none.
static void append_text(Buf *buf, const char *message, const LogField *fields,
                        const LogState *version) {
  size_t size = strcspn(message, "\n");
  append_line(buf, message, size);
  append_text_fields(buf, fields);
  if (version) append_version(buf, version);
  buf_u8(buf, '\n');
  while (message[size] == '\n') {
    message += size + 1;
    size = strcspn(message, "\n");
    if (size == 0) continue;
    append(buf, INDENT);
    append_line(buf, message, size);
    buf_u8(buf, '\n');
  }
}

static void append_json(Buf *buf, const LogState *state, LogLevel level,
                        const struct timespec *now, const char *message,
                        const LogField *fields) {
  struct tm tm;
  gmtime_r(&now->tv_sec, &tm);
  buf_printf(buf, "{\"time\":\"%04d-%02d-%02dT%02d:%02d:%02d.%03dZ\",\"level\":\"%s\"",
             tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
             tm.tm_sec, (int)(now->tv_nsec / 1000000), level_names[level]);
  append(buf, ",\"message\":");
  append_quoted(buf, LOG_JSON, message, strlen(message));
  for (; fields && fields->key; fields++) {
    buf_u8(buf, ',');
    append_quoted(buf, LOG_JSON, fields->key, strlen(fields->key));
    buf_u8(buf, ':');
    if (fields->text) {
      append_quoted(buf, LOG_JSON, fields->text, fields->size);
    } else {
      buf_printf(buf, "%lld", (long long)fields->number);
    }
  }
  if (state->version) buf_printf(buf, ",\"version\":%u", (unsigned)state->version);
  if (state->version && state->hash[0] != '\0')
    buf_printf(buf, ",\"hash\":\"%s\"", state->hash);
  append(buf, "}\n");
}

static int64_t clock_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

// Returns whether standard error has room. May wait PATIENCE_MS for a slow reader.
static bool has_room(void) {
  struct pollfd out = {.fd = STDERR_FILENO, .events = POLLOUT};
  if (poll(&out, 1, 0) > 0) return true;
  if (clock_ms() < lost.until_ms) return false;
  if (poll(&out, 1, PATIENCE_MS) > 0) return true;
  lost.until_ms = clock_ms() + IMPATIENT_MS;
  return false;
}

// Returns the number of bytes written. If standard error fails, all bytes count as
// written, because nothing can report the failure.
static size_t write_all(const uint8_t *bytes, size_t size) {
  size_t done = 0;
  while (done < size) {
    if (!has_room()) return done;
    size_t piece = size - done < PIPE_BUF ? size - done : PIPE_BUF;
    ssize_t written = write(STDERR_FILENO, bytes + done, piece);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) return done;
    if (written <= 0) return size;
    done += (size_t)written;
  }
  return done;
}

static void append_whole(Buf *buf, const LogState *state, LogLevel level,
                         const char *message, const LogField *fields) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (state->format == LOG_JSON) {
    append_json(buf, state, level, &now, message, fields);
  } else {
    append_text_head(buf, level, &now);
    append_text(buf, message, fields, state);
  }
}

static const char LOST[] = "log lines were lost: nobody read them in time";

static void append_lost(Buf *buf, const LogState *state) {
  LogField fields[] = {log_num("lines", (int64_t)lost.lines), {0}};
  if (lost.is_cut) buf_u8(buf, '\n');
  append_whole(buf, state, LOG_WARN, LOST, fields);
}

// Returns 0, or a negative errno if the journal has not taken the entry.
static int send_entry(const LogState *state, LogLevel level, const char *message,
                      const LogField *fields) {
  Buf buf = {0}, text = {0};
  append_text(&text, message, fields, state);
  log_journal_entry(&buf, level, &text, fields, state);
  int err = log_journal_send(&buf, clock_ms() < lost.until_ms ? 0 : PATIENCE_MS);
  if (err == -EAGAIN) lost.until_ms = clock_ms() + IMPATIENT_MS;
  buf_deinit(&text);
  buf_deinit(&buf);
  return err;
}

// Returns false if the line has to go to standard error instead: the journal has gone,
// or the line is too long for an entry.
static bool write_entry(const LogState *state, LogLevel level, const char *message,
                        const LogField *fields) {
  LogField lines[] = {log_num("lines", (int64_t)lost.lines), {0}};
  if (lost.lines > 0 && send_entry(state, LOG_WARN, LOST, lines) == 0) lost.lines = 0;
  int err = send_entry(state, level, message, fields);
  if (err == -EAGAIN) lost.lines++, lost.all++;
  return err == 0 || err == -EAGAIN;
}

static void write_text(const LogState *state, LogLevel level, const char *message,
                       const LogField *fields) {
  Buf buf = {0};
  if (lost.lines > 0) append_lost(&buf, state);
  append_whole(&buf, state, level, message, fields);
  size_t done = write_all(buf.data, buf.size);
  if (done > 0) lost.lines = 0;
  if (done > 0) lost.is_cut = done < buf.size;
  if (done < buf.size) lost.lines++, lost.all++;
  buf_deinit(&buf);
}

static void write_line(const LogState *state, LogLevel level, const char *message,
                       const LogField *fields) {
  pthread_mutex_lock(&output_lock);
  bool has_journal = state->format == LOG_TEXT && log_journal_is_open();
  if (!has_journal || !write_entry(state, level, message, fields))
    write_text(state, level, message, fields);
  pthread_mutex_unlock(&output_lock);
}

static void give_to_sink(const LogState *state, LogLevel level, const char *message,
                         const LogField *fields) {
  Buf buf = {0};
  append_text(&buf, message, fields, state);
  state->sink(state->sink_data, level, (const char *)buf.data, buf.size - 1);
  buf_deinit(&buf);
}

// Copies a line to the log's current ring. Does not use state->ring, because it may be
// freed already.
static void keep(const LogState *state, LogLevel level, const char *message,
                 const LogField *fields) {
  Buf buf = {0};
  append_text(&buf, message, fields, NULL);
  LogLine line = {.unix_s = time(NULL),
                  .level = level,
                  .version = state->version,
                  .text = (char *)buf.data,
                  .size = (uint32_t)buf.size - 1};
  memcpy(line.hash, state->hash, sizeof line.hash);
  Log *log = lock_state();
  if (log->state.ring) log_ring_put(log->state.ring, &line);
  unlock_state(log);
  buf_deinit(&buf);
}

uint64_t log_lost(void) {
  pthread_mutex_lock(&output_lock);
  uint64_t lines = lost.all;
  pthread_mutex_unlock(&output_lock);
  return lines;
}

void log_write(LogLevel level, const char *message, const LogField *fields) {
  if (!log_is_on(level)) return;
  int saved_errno = errno;
  Log *log = lock_state();
  LogState state = log->state;
  unlock_state(log);
  if (state.ring != NULL) keep(&state, level, message, fields);
  if (state.sink != NULL)
    give_to_sink(&state, level, message, fields);
  else
    write_line(&state, level, message, fields);
  errno = saved_errno;
}
