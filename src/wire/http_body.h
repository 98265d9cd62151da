// The body of an HTTP/1.1 request, by its length or in chunks. Bytes in, the body's bytes
// out; no I/O, no clock. Strict, as http.h is: chunks have no extensions, and nothing
// follows the last one.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/http.h"

typedef struct HttpBody {
  bool is_chunked;
  bool is_done;
  uint8_t state;   // of the chunks' reader
  uint8_t digits;  // of the size that is being read
  uint32_t left;   // bytes to come: of the body, or of the chunk
  uint32_t taken;  // bytes of the body so far
  uint32_t limit;  // of the whole
} HttpBody;

/// Begins the body of `request`, of at most `limit` bytes; a request without one is done
/// at once. Returns 0, or the status that refuses it, negated: -400, -413, -501.
int http_body_begin(HttpBody *body, const HttpRequest *request, uint32_t limit);

/// Appends the part of the body in `bytes` to `out`. Returns how many of them it used, or
/// -400 or -413. Uses nothing after the body's end.
int64_t http_body_read(HttpBody *body, const char *bytes, size_t size, Buf *out);
