// A cursor over received bytes. Reading past the end gives zeros and sets `failed`, so
// a decoder reads all fields first and checks once.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct Reader {
  const uint8_t *at;
  const uint8_t *end;
  bool failed;
} Reader;

/// Text inside a received packet; valid as long as the packet.
typedef struct Text {
  const char *bytes;
  uint32_t size;
} Text;

/// Returns the text of a C string, which may be NULL.
static inline Text text_from(const char *text) {
  return (Text){text, text ? (uint32_t)strlen(text) : 0};
}

/// Returns whether two texts have the same bytes.
static inline bool text_equals(Text a, Text b) {
  return a.size == b.size && (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0);
}

/// Returns a cursor at the start of `bytes`, which must outlive the cursor. `bytes` may
/// be NULL if `size` is 0.
Reader reader_of(const void *bytes, size_t size);

uint8_t reader_u8(Reader *reader);
uint16_t reader_u16(Reader *reader);
uint32_t reader_u32(Reader *reader);
uint64_t reader_u64(Reader *reader);

/// Returns the next `size` bytes in place, or NULL if fewer are left.
const uint8_t *reader_bytes(Reader *reader, size_t size);

Text reader_str8(Reader *reader);
Text reader_str16(Reader *reader);

/// Returns the number of bytes left.
static inline size_t reader_left(const Reader *reader) {
  return (size_t)(reader->end - reader->at);
}

/// Returns whether all bytes were read and none were missing.
static inline bool reader_is_done(const Reader *reader) {
  return !reader->failed && reader->at == reader->end;
}
