// A cursor with a permanent failure: the first incomplete field moves the cursor to the
// end, so later reads fail, too.
#include "wire/reader.h"

#include "base/integers.h"

Reader reader_of(const void *bytes, size_t size) {
  const uint8_t *at = size ? bytes : (const void *)"";  // because NULL + 0 is not
                                                        // defined
  return (Reader){.at = at, .end = at + size};
}

const uint8_t *reader_bytes(Reader *reader, size_t size) {
  if (size > reader_left(reader)) {
    reader->failed = true;
    reader->at = reader->end;
    return NULL;
  }
  const uint8_t *bytes = reader->at;
  reader->at += size;
  return bytes;
}

uint8_t reader_u8(Reader *reader) {
  const uint8_t *bytes = reader_bytes(reader, 1);
  return bytes ? *bytes : 0;
}

uint16_t reader_u16(Reader *reader) {
  const uint8_t *bytes = reader_bytes(reader, 2);
  return bytes ? get_u16(bytes) : 0;
}

uint32_t reader_u32(Reader *reader) {
  const uint8_t *bytes = reader_bytes(reader, 4);
  return bytes ? get_u32(bytes) : 0;
}

uint64_t reader_u64(Reader *reader) {
  const uint8_t *bytes = reader_bytes(reader, 8);
  return bytes ? get_u64(bytes) : 0;
}

static Text read_text(Reader *reader, uint32_t size) {
  const uint8_t *bytes = reader_bytes(reader, size);
  return bytes ? (Text){(const char *)bytes, size} : (Text){"", 0};
}

Text reader_str8(Reader *reader) { return read_text(reader, reader_u8(reader)); }
Text reader_str16(Reader *reader) { return read_text(reader, reader_u16(reader)); }
