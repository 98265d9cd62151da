// The body of an HTTP/1.1 request, with a length or in chunks. No I/O, no clock. The
// parser is strict, as in http.h: it refuses extensions of chunks, and a trailer after
// the last chunk.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "wire/http.h"

typedef struct HttpBody {
  bool is_chunked;
  bool is_done;
  uint8_t state;   // state of the parser of chunks
  uint8_t digits;  // digits of the size that is being parsed
  uint32_t left;   // bytes of the body, or of the chunk, that have not arrived
  uint32_t taken;  // bytes of the body so far
  uint32_t limit;  // most bytes of the whole body
} HttpBody;

/// Begins the body of `request`, with at most `limit` bytes. A request without a body
/// is complete at once. Returns 0, or the negated status of a refusal: -400, -413,
/// -501.
int http_body_begin(HttpBody *body, const HttpRequest *request, uint32_t limit);

/// Appends the part of the body in `bytes` to `out`. Returns the number of bytes used,
/// or -400 or -413. Uses no bytes after the end of the body.
int64_t http_body_read(HttpBody *body, const char *bytes, size_t size, Buf *out);
