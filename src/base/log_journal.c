#define _GNU_SOURCE
#include "base/log_journal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

static int journal = -1;
static struct sockaddr_un address = {.sun_family = AF_UNIX};

static bool is_upper(char byte) { return byte >= 'A' && byte <= 'Z'; }

void log_journal_open(const char *path) {
  const char *stream = getenv("JOURNAL_STREAM");
  unsigned long long device, inode;
  struct stat status;
  if (path == NULL) path = "/run/systemd/journal/socket";
  if (stream == NULL || sscanf(stream, "%llu:%llu", &device, &inode) != 2) return;
  if (fstat(STDERR_FILENO, &status) != 0 || status.st_dev != device ||
      status.st_ino != inode || strlen(path) >= sizeof address.sun_path)
    return;
  strcpy(address.sun_path, path);
  if (journal < 0) journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

bool log_journal_is_open(void) { return journal >= 0; }

// Appends a field, whose value may have any bytes. The journal's name of `key` is
// PERIGEE_KEY, unless `key` is in capitals.
static void append_field(Buf *entry, const char *key, const char *text, size_t size) {
  if (!is_upper(*key)) buf_append(entry, "PERIGEE_", 8);
  for (; *key != '\0'; key++) {
    bool is_lower = *key >= 'a' && *key <= 'z';
    bool is_digit = *key >= '0' && *key <= '9';
    char other = is_upper(*key) || is_digit ? *key : '_';
    buf_u8(entry, (uint8_t)(is_lower ? *key - 'a' + 'A' : other));
  }
  buf_u8(entry, '\n');
  for (int shift = 0; shift < 64; shift += 8)
    buf_u8(entry, (uint8_t)((uint64_t)size >> shift));
  buf_append(entry, text, size);
  buf_u8(entry, '\n');
}

static void append_number(Buf *entry, const char *key, long long number) {
  char text[24];
  int size = snprintf(text, sizeof text, "%lld", number);
  append_field(entry, key, text, (size_t)size);
}

void log_journal_entry(Buf *entry, LogLevel level, const Buf *text,
                       const LogField *fields, const LogState *version) {
  static const int PRIORITIES[] = {7, 6, 4, 3};  // those of syslog(3)
  append_field(entry, "MESSAGE", (const char *)text->data, text->size - 1);
  append_number(entry, "PRIORITY", PRIORITIES[level]);
  append_field(entry, "SYSLOG_IDENTIFIER", "perigee", strlen("perigee"));
  for (; fields && fields->key; fields++)
    if (fields->text)
      append_field(entry, fields->key, fields->text, fields->size);
    else
      append_number(entry, fields->key, fields->number);
  if (version->version == 0) return;
  append_number(entry, "version", version->version);
  append_field(entry, "hash", version->hash, strlen(version->hash));
}

int log_journal_send(const Buf *entry, int wait_ms) {
  struct timeval wait = {.tv_usec = (suseconds_t)wait_ms * 1000};
  setsockopt(journal, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
  int flags = MSG_NOSIGNAL | (wait_ms == 0 ? MSG_DONTWAIT : 0);
  ssize_t sent = sendto(journal, entry->data, entry->size, flags,
                        (const struct sockaddr *)&address, sizeof address);
  return sent < 0 ? -errno : 0;
}
