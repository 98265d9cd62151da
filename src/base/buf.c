// A growable run of bytes. It doubles when full, shrinks only on request, and writes
// integers in the order of the wire.
#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/integers.h"
#include "base/mem.h"

enum { FIRST_CAPACITY = 64 };

void buf_deinit(Buf *buf) {
  mem_free(buf->data);
  *buf = (Buf){0};
}

uint8_t *buf_grow(Buf *buf, size_t extra) {
  assert(extra <= SIZE_MAX / 2 - buf->size);
  size_t needed = buf->size + extra;
  if (needed > buf->capacity || !buf->data) {
    size_t capacity = buf->capacity ? buf->capacity : FIRST_CAPACITY;
    while (capacity < needed) capacity *= 2;
    buf->data = mem_grow(buf->data, capacity);
    buf->capacity = capacity;
  }
  return buf->data + buf->size;
}

void buf_append(Buf *buf, const void *bytes, size_t size) {
  if (size == 0) return;  // `bytes` may be NULL in this case
  memcpy(buf_reserve(buf, size), bytes, size);
  buf->size += size;
}

// Adds the bytes between the end of the buffer's content and `end`.
static void extend(Buf *buf, const uint8_t *end) {
  buf->size = (size_t)(end - buf->data);
}

void buf_u8(Buf *buf, uint8_t value) {
  extend(buf, put_u8(buf_reserve(buf, 1), value));
}

void buf_u16(Buf *buf, uint16_t value) {
  extend(buf, put_u16(buf_reserve(buf, 2), value));
}

void buf_u32(Buf *buf, uint32_t value) {
  extend(buf, put_u32(buf_reserve(buf, 4), value));
}

void buf_u64(Buf *buf, uint64_t value) {
  extend(buf, put_u64(buf_reserve(buf, 8), value));
}

void buf_str8(Buf *buf, const char *text, size_t size) {
  if (size > UINT8_MAX) size = UINT8_MAX;
  buf_u8(buf, (uint8_t)size);
  buf_append(buf, text, size);
}

void buf_str16(Buf *buf, const char *text, size_t size) {
  if (size > UINT16_MAX) size = UINT16_MAX;
  buf_u16(buf, (uint16_t)size);
  buf_append(buf, text, size);
}

void buf_printf(Buf *buf, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int size = vsnprintf(NULL, 0, format, args);
  assert(size >= 0);
  // Reserves one more byte for the NUL, which the next append overwrites.
  char *out = (char *)buf_reserve(buf, (size_t)size + 1);
  vsnprintf(out, (size_t)size + 1, format, again);
  buf->size += (size_t)size;
  va_end(again);
  va_end(args);
}

void buf_consume(Buf *buf, size_t size) {
  assert(size <= buf->size);
  if (size == 0) return;
  buf->size -= size;
  memmove(buf->data, buf->data + size, buf->size);
}

void buf_trim(Buf *buf) {
  size_t capacity = buf->capacity;
  while (capacity > FIRST_CAPACITY && capacity / 4 > buf->size) capacity /= 2;
  if (buf->size == 0)
    buf_deinit(buf);
  else if (capacity < buf->capacity)
    buf->data = mem_grow(buf->data, buf->capacity = capacity);
}
