// A body with a known length is counted. A body in chunks passes through a state
// machine byte by byte, except for the contents of the chunks.
#include "wire/http_body.h"

#include "base/text.h"

enum { DIGITS_MAX = 8 };

typedef enum ChunkState {
  CHUNK_SIZE,      // hexadecimal digits
  CHUNK_SIZE_END,  // the LF behind the size
  CHUNK_BYTES,     // the contents of the chunk
  CHUNK_CR,        // the CR after the contents
  CHUNK_LF,
  CHUNK_LAST_CR,  // the empty line behind the last chunk
  CHUNK_LAST_LF,
} ChunkState;

// Reads a length. Accepts only digits: no sign and no list. Refuses a length above
// `limit`.
static int read_length(Text text, uint32_t limit, uint32_t *length) {
  uint64_t value = 0;
  if (text.size == 0) return -400;
  for (uint32_t i = 0; i < text.size; i++) {
    char c = text.bytes[i];
    if (c < '0' || c > '9') return -400;
    if (value <= UINT32_MAX) value = value * 10 + (uint64_t)(c - '0');
  }
  if (value > limit) return -413;
  *length = (uint32_t)value;
  return 0;
}

int http_body_begin(HttpBody *body, const HttpRequest *request, uint32_t limit) {
  *body = (HttpBody){.limit = limit};
  const Text *length = http_field(request, "content-length");
  const Text *coding = http_field(request, "transfer-encoding");
  if (coding) {
    if (!http_is_text(*coding, "chunked") || request->is_old) return -501;
    body->is_chunked = true;
    return 0;
  }
  int refused = length ? read_length(*length, limit, &body->left) : 0;
  body->is_done = body->left == 0;
  return refused;
}

static int take_size(HttpBody *body, char c) {
  int digit = text_hex_digit(c);
  if (digit >= 0) {
    if (body->digits++ == DIGITS_MAX) return -413;
    body->left = body->left << 4 | (uint32_t)digit;
    return 0;
  }
  if (c != '\r' || body->digits == 0) return -400;
  body->digits = 0;
  body->state = CHUNK_SIZE_END;
  return 0;
}

// Handles the states that accept only one certain byte.
static int take_mark(HttpBody *body, char c) {
  static const struct {
    char wanted;
    uint8_t next;
  } MARKS[] = {
      [CHUNK_CR] = {'\r', CHUNK_LF},
      [CHUNK_LF] = {'\n', CHUNK_SIZE},
      [CHUNK_LAST_CR] = {'\r', CHUNK_LAST_LF},
      [CHUNK_LAST_LF] = {'\n', CHUNK_LAST_LF},
  };
  if (c != MARKS[body->state].wanted) return -400;
  body->is_done = body->state == CHUNK_LAST_LF;
  body->state = MARKS[body->state].next;
  return 0;
}

static int take_byte(HttpBody *body, char c) {
  switch ((ChunkState)body->state) {
    case CHUNK_SIZE:
      return take_size(body, c);
    case CHUNK_SIZE_END:
      if (c != '\n') return -400;
      if (body->left > body->limit - body->taken) return -413;
      body->state = body->left == 0 ? CHUNK_LAST_CR : CHUNK_BYTES;
      return 0;
    default:
      return take_mark(body, c);
  }
}

// Appends bytes to `out`, at most as many as the body or the chunk still needs.
static size_t take_bytes(HttpBody *body, const char *bytes, size_t size, Buf *out) {
  size_t count = size < body->left ? size : body->left;
  buf_append(out, bytes, count);
  body->left -= (uint32_t)count;
  body->taken += (uint32_t)count;
  return count;
}

static int64_t read_chunks(HttpBody *body, const char *bytes, size_t size, Buf *out) {
  size_t at = 0;
  while (at < size && !body->is_done) {
    if (body->state == CHUNK_BYTES) {
      at += take_bytes(body, bytes + at, size - at, out);
      if (body->left == 0) body->state = CHUNK_CR;
      continue;
    }
    int refused = take_byte(body, bytes[at++]);
    if (refused) return refused;
  }
  return (int64_t)at;
}

int64_t http_body_read(HttpBody *body, const char *bytes, size_t size, Buf *out) {
  if (body->is_done) return 0;
  if (body->is_chunked) return read_chunks(body, bytes, size, out);
  size_t taken = take_bytes(body, bytes, size, out);
  body->is_done = body->left == 0;
  return (int64_t)taken;
}
