// A growable run of bytes. The owner of the struct owns the bytes. A zero-initialized
// one is empty. Integers are little-endian, as on the wire.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct Buf {
  uint8_t *data;
  size_t size;      // bytes in use
  size_t capacity;  // bytes allocated
} Buf;

/// Frees the memory. The Buf is then empty and usable again.
void buf_deinit(Buf *buf);

/// Does the part of buf_reserve that may allocate.
uint8_t *buf_grow(Buf *buf, size_t extra);

/// Makes room for `extra` more bytes and returns their position. Does not change
/// `size`.
static inline uint8_t *buf_reserve(Buf *buf, size_t extra) {
  return extra < buf->capacity - buf->size ? buf->data + buf->size
                                           : buf_grow(buf, extra);
}

/// Rounds a size up to a multiple of 8, so that the next record is aligned.
static inline size_t buf_padded(size_t size) { return (size + 7) & ~(size_t)7; }

void buf_append(Buf *buf, const void *bytes, size_t size);
void buf_u8(Buf *buf, uint8_t value);
void buf_u16(Buf *buf, uint16_t value);
void buf_u32(Buf *buf, uint32_t value);
void buf_u64(Buf *buf, uint64_t value);

/// Appends a u8 length and the bytes; cuts text longer than 255 bytes.
void buf_str8(Buf *buf, const char *text, size_t size);

/// Appends a u16 length and the bytes; cuts text longer than 65535 bytes.
void buf_str16(Buf *buf, const char *text, size_t size);

/// Appends formatted text and a NUL that `size` does not count.
void buf_printf(Buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/// Removes the first `size` bytes and moves the others to the beginning.
void buf_consume(Buf *buf, size_t size);

/// Frees unused memory if less than a quarter of the capacity is used.
void buf_trim(Buf *buf);
