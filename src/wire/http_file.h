// The parts of HTTP for serving files: finds which file a target means, its type, whether
// the client has it already, and which part of it the client wants. No I/O.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/http.h"

enum { HTTP_PATH_MAX = 1024, HTTP_DATE_SIZE = 30, HTTP_TAG_SIZE = 64 };

typedef struct HttpPath {
  char text
      [HTTP_PATH_MAX];  // relative, without a dot as the first of any name; "" is the root
  bool is_folder;       // the target ends in a slash
} HttpPath;

/// Reads the path of a target, decoded and without its query. Returns 0, or the status that
/// refuses it: -400 for what may not be in a path (a bad %, NUL and other control
/// characters, backslashes, encoded slashes, empty names, "." and "..", bytes that are not
/// UTF-8), -404 for names that begin with a dot, -414 for one too long.
int http_read_path(Text target, HttpPath *path);

/// Returns the media type for a file's name; static.
const char *http_type(const char *path);

/// Writes "Sun, 06 Nov 1994 08:49:37 GMT".
void http_date(char date[HTTP_DATE_SIZE], int64_t unix_s);

/// Reads a date in the form of http_date; returns false for any other.
bool http_read_date(Text text, int64_t *unix_s);

/// The identity of a file's version.
typedef struct HttpVersion {
  char tag[HTTP_TAG_SIZE];  // with its quotes
  int64_t changed_s;        // Unix time
} HttpVersion;

/// Returns whether the client has this version already: by If-None-Match, or else by
/// If-Modified-Since.
bool http_is_known(const HttpRequest *request, const HttpVersion *version);

typedef enum HttpPart { PART_WHOLE, PART_RANGE, PART_IMPOSSIBLE } HttpPart;

/// Returns which part of `size` bytes the client wants, by Range and If-Range. Several ranges, or
/// a range of other units, mean the whole. Sets `first` and `count`, except for PART_IMPOSSIBLE.
HttpPart http_read_part(const HttpRequest *request, const HttpVersion *version,
                        uint64_t size, uint64_t *first, uint64_t *count);
