// HTTP for serving files: which file a target means, its media type, whether the client
// already has it, and which part of it the client wants. No I/O.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/http.h"

enum { HTTP_PATH_MAX = 1024, HTTP_DATE_SIZE = 30, HTTP_TAG_SIZE = 64 };

typedef struct HttpPath {
  char text
      [HTTP_PATH_MAX];  // relative path, in which no name begins with a dot; "" is the
                        // root
  bool is_folder;       // whether the target ends with a slash
} HttpPath;

/// Parses the path of a target, decoded and without its query. Returns 0 or a negated
/// status. -400: the path has something invalid (a bad %, NUL or another control
/// character, a backslash, an encoded slash, an empty name, "." or "..", or bytes that
/// are not UTF-8). -404: a name begins with a dot. -414: the path is too long.
int http_read_path(Text target, HttpPath *path);

/// Returns the media type for a file's name; static.
const char *http_type(const char *path);

/// Writes a date such as "Sun, 06 Nov 1994 08:49:37 GMT".
void http_date(char date[HTTP_DATE_SIZE], int64_t unix_s);

/// Parses a date in the form of http_date; returns false for any other form.
bool http_read_date(Text text, int64_t *unix_s);

/// The identity of a file's version.
typedef struct HttpVersion {
  char tag[HTTP_TAG_SIZE];  // entity tag with its quotes
  int64_t changed_s;        // time of the last change, Unix time
} HttpVersion;

/// Returns whether the client already has this version, according to If-None-Match or,
/// without that field, If-Modified-Since.
bool http_is_known(const HttpRequest *request, const HttpVersion *version);

typedef enum HttpPart { PART_WHOLE, PART_RANGE, PART_IMPOSSIBLE } HttpPart;

/// Returns which part of `size` bytes the client wants, according to Range and
/// If-Range. Several ranges, or ranges of other units, mean the whole. Sets `first` and
/// `count`, except for PART_IMPOSSIBLE.
HttpPart http_read_part(const HttpRequest *request, const HttpVersion *version,
                        uint64_t size, uint64_t *first, uint64_t *count);
