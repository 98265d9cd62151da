// A cursor that fails once and for good: after the first field that is not all there it
// stands at the end, so what follows fails too.
#include "wire/reader.h"

Reader reader_of(const void *bytes, size_t size) {
  const uint8_t *at = size ? bytes : (const void *)"";  // NULL + 0 is not defined
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

static uint64_t read_integer(Reader *reader, size_t size) {
  const uint8_t *bytes = reader_bytes(reader, size);
  uint64_t value = 0;
  for (size_t i = 0; bytes && i < size; i++) value |= (uint64_t)bytes[i] << (8 * i);
  return value;
}

uint8_t reader_u8(Reader *reader) { return (uint8_t)read_integer(reader, 1); }
uint16_t reader_u16(Reader *reader) { return (uint16_t)read_integer(reader, 2); }
uint32_t reader_u32(Reader *reader) { return (uint32_t)read_integer(reader, 4); }
uint64_t reader_u64(Reader *reader) { return read_integer(reader, 8); }

static Text read_text(Reader *reader, uint32_t size) {
  const uint8_t *bytes = reader_bytes(reader, size);
  return bytes ? (Text){(const char *)bytes, size} : (Text){"", 0};
}

Text reader_str8(Reader *reader) { return read_text(reader, reader_u8(reader)); }
Text reader_str16(Reader *reader) { return read_text(reader, reader_u16(reader)); }
