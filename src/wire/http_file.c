// Paths, media types, dates, versions and ranges.
#define _GNU_SOURCE  // timegm
#include "wire/http_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/least.h"
#include "base/text.h"

// --- Paths ---

// Removes one character from `rest` and returns it, or a negative number for an invalid
// one. Sets `is_encoded` if it was written as %XX.
static int next_char(Text *rest, bool *is_encoded) {
  char c = rest->bytes[0];
  uint32_t size = 1;
  *is_encoded = c == '%';
  if (*is_encoded) {
    if (rest->size < 3) return -1;
    int high = text_hex_digit(rest->bytes[1]), low = text_hex_digit(rest->bytes[2]);
    if (high < 0 || low < 0) return -1;
    c = (char)(high * 16 + low);
    size = 3;
  }
  rest->bytes += size;
  rest->size -= size;
  return (unsigned char)c;
}

static int decode(Text rest, HttpPath *path) {
  size_t size = 0;
  while (rest.size > 0) {
    bool is_encoded;
    int c = next_char(&rest, &is_encoded);
    if (c < 0x20 || c == 0x7f || c == '\\') return -400;
    if (c == '/' && is_encoded) return -400;
    if (size + 1 >= sizeof path->text) return -414;
    path->text[size++] = (char)c;
  }
  path->text[size] = '\0';
  return text_is_utf8(path->text, size) ? 0 : -400;
}

// Checks the names between the slashes.
static int check_names(const char *text) {
  for (;;) {
    size_t size = strcspn(text, "/");
    if (size == 0) return -400;
    if (strncmp(text, ".", size) == 0 || strncmp(text, "..", size) == 0) return -400;
    if (text[0] == '.') return -404;
    if (text[size] == '\0') return 0;
    text += size + 1;
  }
}

int http_read_path(Text target, HttpPath *path) {
  const char *query = memchr(target.bytes, '?', target.size);
  if (query) target.size = (uint32_t)(query - target.bytes);
  if (target.size == 0 || target.bytes[0] != '/') return -400;
  if (memchr(target.bytes, '#', target.size)) return -400;
  Text rest = {target.bytes + 1, target.size - 1};
  int refused = decode(rest, path);
  if (refused) return refused;
  size_t size = strlen(path->text);
  path->is_folder = size == 0 || path->text[size - 1] == '/';
  if (size == 0) return 0;
  if (path->is_folder) path->text[size - 1] = '\0';
  return check_names(path->text);
}

// --- Types ---

typedef struct Type {
  const char *suffix, *type;
} Type;

static const Type TYPES[] = {
    {"html", "text/html; charset=utf-8"},
    {"htm", "text/html; charset=utf-8"},
    {"js", "text/javascript; charset=utf-8"},
    {"mjs", "text/javascript; charset=utf-8"},
    {"css", "text/css; charset=utf-8"},
    {"json", "application/json"},
    {"map", "application/json"},
    {"txt", "text/plain; charset=utf-8"},
    {"md", "text/plain; charset=utf-8"},
    {"csv", "text/csv; charset=utf-8"},
    {"xml", "application/xml"},
    {"wasm", "application/wasm"},
    {"webmanifest", "application/manifest+json"},
    {"svg", "image/svg+xml"},
    {"png", "image/png"},
    {"jpg", "image/jpeg"},
    {"jpeg", "image/jpeg"},
    {"gif", "image/gif"},
    {"webp", "image/webp"},
    {"avif", "image/avif"},
    {"ico", "image/vnd.microsoft.icon"},
    {"ogg", "audio/ogg"},
    {"mp3", "audio/mpeg"},
    {"wav", "audio/wav"},
    {"m4a", "audio/mp4"},
    {"flac", "audio/flac"},
    {"mp4", "video/mp4"},
    {"webm", "video/webm"},
    {"woff", "font/woff"},
    {"woff2", "font/woff2"},
    {"ttf", "font/ttf"},
    {"otf", "font/otf"},
    {"glb", "model/gltf-binary"},
    {"gltf", "model/gltf+json"},
    {"pdf", "application/pdf"},
};

const char *http_type(const char *path) {
  const char *dot = strrchr(path, '.');
  if (dot && !strchr(dot, '/'))
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
      if (strcasecmp(dot + 1, TYPES[i].suffix) == 0) return TYPES[i].type;
  return "application/octet-stream";
}

// --- Dates ---

static const char DAYS[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
static const char MONTHS[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                   "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

void http_date(char date[HTTP_DATE_SIZE], int64_t unix_s) {
  time_t seconds = unix_s;
  struct tm at = {0};
  gmtime_r(&seconds, &at);
  snprintf(date, HTTP_DATE_SIZE, "%s, %02u %s %04u %02u:%02u:%02u GMT",
           DAYS[at.tm_wday], (unsigned)at.tm_mday % 100, MONTHS[at.tm_mon],
           (unsigned)(at.tm_year + 1900) % 10000, (unsigned)at.tm_hour % 100,
           (unsigned)at.tm_min % 100, (unsigned)at.tm_sec % 100);
}

// Reads the numbers and the month, then writes the date again to check that everything
// else is equal.
bool http_read_date(Text text, int64_t *unix_s) {
  char copy[HTTP_DATE_SIZE], month[4], again[HTTP_DATE_SIZE];
  if (text.size != HTTP_DATE_SIZE - 1) return false;
  memcpy(copy, text.bytes, text.size);
  copy[text.size] = '\0';
  struct tm at = {0};
  if (sscanf(copy, "%*3s, %2d %3s %4d %2d:%2d:%2d GMT", &at.tm_mday, month, &at.tm_year,
             &at.tm_hour, &at.tm_min, &at.tm_sec) != 6)
    return false;
  for (at.tm_mon = 0; at.tm_mon < 12; at.tm_mon++)
    if (strcmp(month, MONTHS[at.tm_mon]) == 0) break;
  at.tm_year -= 1900;
  if (at.tm_mon == 12) return false;
  *unix_s = timegm(&at);
  http_date(again, *unix_s);
  return strcmp(copy, again) == 0;
}

// --- Versions ---

// Returns whether a list of entity tags contains `tag`, by weak comparison.
static bool has_tag(Text list, const char *tag) {
  size_t size = strlen(tag);
  if (list.size == 1 && list.bytes[0] == '*') return true;
  for (uint32_t i = 0; i + size <= list.size; i++) {
    if (memcmp(list.bytes + i, tag, size) != 0) continue;
    char after = i + size < list.size ? list.bytes[i + size] : ',';
    char before = i > 0 ? list.bytes[i - 1] : ',';
    if (strchr(", \t", after) && strchr(", \t/", before)) return true;
  }
  return false;
}

bool http_is_known(const HttpRequest *request, const HttpVersion *version) {
  const Text *tags = http_field(request, "if-none-match");
  if (tags) return has_tag(*tags, version->tag);
  const Text *since = http_field(request, "if-modified-since");
  int64_t since_s;
  return since && http_read_date(*since, &since_s) && version->changed_s <= since_s;
}

// --- Ranges ---

// Removes the digits at the start of `text`; returns false if it has none or too many.
static bool take_number(Text *text, uint64_t *number) {
  uint32_t digits = 0;
  *number = 0;
  while (digits < text->size && text->bytes[digits] >= '0' &&
         text->bytes[digits] <= '9') {
    if (digits == 18) return false;
    *number = *number * 10 + (uint64_t)(text->bytes[digits++] - '0');
  }
  text->bytes += digits;
  text->size -= digits;
  return digits > 0;
}

// Reads `bytes=FIRST-LAST`, `bytes=FIRST-` or `bytes=-COUNT`.
static HttpPart read_range(Text text, uint64_t size, uint64_t *first, uint64_t *count) {
  static const char UNIT[] = "bytes=";
  const uint32_t unit = sizeof UNIT - 1;
  if (text.size <= unit || strncasecmp(text.bytes, UNIT, unit) != 0) return PART_WHOLE;
  text = (Text){text.bytes + unit, text.size - unit};
  uint64_t from, to = UINT64_MAX;
  if (text.bytes[0] == '-') {
    text = (Text){text.bytes + 1, text.size - 1};
    if (!take_number(&text, &to) || text.size > 0) return PART_WHOLE;
    if (to == 0 || size == 0) return PART_IMPOSSIBLE;
    *count = least(to, size);
    *first = size - *count;
    return PART_RANGE;
  }
  if (!take_number(&text, &from) || text.size == 0 || text.bytes[0] != '-')
    return PART_WHOLE;
  text = (Text){text.bytes + 1, text.size - 1};
  if (text.size > 0 && (!take_number(&text, &to) || text.size > 0 || to < from))
    return PART_WHOLE;
  if (from >= size) return PART_IMPOSSIBLE;
  if (to >= size) to = size - 1;
  *first = from;
  *count = to - from + 1;
  return PART_RANGE;
}

// Returns whether the part that the client already has belongs to this version.
static bool is_same_version(const Text *condition, const HttpVersion *version) {
  if (!condition) return true;
  if (http_is_text(*condition, version->tag)) return true;
  int64_t changed_s;
  return http_read_date(*condition, &changed_s) && changed_s == version->changed_s;
}

HttpPart http_read_part(const HttpRequest *request, const HttpVersion *version,
                        uint64_t size, uint64_t *first, uint64_t *count) {
  const Text *range = http_field(request, "range");
  *first = 0;
  *count = size;
  if (!range || request->method != METHOD_GET) return PART_WHOLE;
  if (!is_same_version(http_field(request, "if-range"), version)) return PART_WHOLE;
  return read_range(*range, size, first, count);
}
