--- The beginning of the headers that to_c.lua makes. It has the functions that the encoders and decoders of
--- every schema call. The text is the same in all headers, so a program may include the headers of several
--- games.

return [[
#ifndef PERIGEE_CODERS
#define PERIGEE_CODERS

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/// UTF-8 text. The `data` of a decoded text is never NULL, and a NUL follows it.
typedef struct PerigeeText {
  const char *data;
  size_t size; // bytes
} PerigeeText;

/// Any bytes.
typedef struct PerigeeBytes {
  const uint8_t *data;
  size_t size;
} PerigeeBytes;

/// Memory in which decoders store lists, texts and bytes. You supply it. Decoded values point into it,
/// so it must stay valid while they are used. Set `used` to 0 to reuse it.
typedef struct PerigeeMemory {
  void *data;
  size_t size; // bytes
  size_t used;
} PerigeeMemory;

/// An error in one line, with the path of the field.
typedef struct PerigeeFault {
  char text[320];
} PerigeeFault;

/// Returns a text that ends with a NUL.
static inline PerigeeText perigee_text(const char *text) {
  PerigeeText made = {text, strlen(text)};
  return made;
}

// The rest of this part is for the functions of a game's messages.

#if defined(__GNUC__)
#define PERIGEE_FORMAT __attribute__((format(printf, 2, 3)))
#else
#define PERIGEE_FORMAT
#endif

PERIGEE_FORMAT static inline int perigee_fail(PerigeeFault *fault, const char *format, ...) {
  if (fault != NULL) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
  }
  return -1;
}

// Refuses overlong forms, halves of surrogates, and code points above U+10FFFF.
static inline bool perigee_is_utf8(const uint8_t *bytes, size_t size) {
  for (size_t at = 0; at < size; at++) {
    uint8_t first = bytes[at], least = 0x80, most = 0xbf;
    if (first < 0x80) continue;
    size_t tail = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    if (first < 0xc2 || first > 0xf4 || size - at <= tail) return false;
    if (first == 0xe0) least = 0xa0;
    if (first == 0xed) most = 0x9f;
    if (first == 0xf0) least = 0x90;
    if (first == 0xf4) most = 0x8f;
    for (; tail > 0; tail--) {
      uint8_t byte = bytes[++at];
      if (byte < least || byte > most) return false;
      least = 0x80;
      most = 0xbf;
    }
  }
  return true;
}

static inline bool perigee_is_text(PerigeeText text, size_t most) {
  return text.size <= most && (text.data != NULL || text.size == 0) &&
         perigee_is_utf8((const uint8_t *)text.data, text.size);
}

// Checks enums. A function, because C++ compilers would warn of a direct comparison with a number that is
// not a value of the enum.
static inline bool perigee_is_below(size_t value, size_t count) { return value < count; }

static inline bool perigee_is_f32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (bits & 0x7f800000) != 0x7f800000; // neither NaN nor infinite, whatever -ffast-math assumes
}

static inline bool perigee_is_f64(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (bits & UINT64_C(0x7ff0000000000000)) != UINT64_C(0x7ff0000000000000);
}

// Returns the whole number nearest to a number below 2^53; rounds halves up. `product` is volatile, because
// a compiler that fuses product and sum into one operation would round differently from other languages.
static inline int64_t perigee_round(double value) {
  volatile double product = value;
  double sum = product + 0.5;
  int64_t whole = (int64_t)sum;
  return (double)whole > sum ? whole - 1 : whole;
}

/// The state of an encoder. When no room is left, it continues to count bytes without writing them.
typedef struct PerigeeWriter {
  uint8_t *data;
  size_t size, room;
  uint64_t bits; // bits that do not fill a byte yet
  unsigned bit_count;
  PerigeeFault *fault;
} PerigeeWriter;

static inline void perigee_put_bytes(PerigeeWriter *w, const void *data, size_t size) {
  if (size > 0 && w->size <= w->room && size <= w->room - w->size) {
    memcpy(w->data + w->size, data, size);
  }
  w->size += size;
}

static inline void perigee_put_int(PerigeeWriter *w, uint64_t value, unsigned size) {
  uint8_t bytes[8];
  for (unsigned i = 0; i < size; i++) bytes[i] = (uint8_t)(value >> 8 * i);
  perigee_put_bytes(w, bytes, size);
}

static inline void perigee_put_f32(PerigeeWriter *w, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  perigee_put_int(w, bits, 4);
}

static inline void perigee_put_f64(PerigeeWriter *w, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  perigee_put_int(w, bits, 8);
}

static inline void perigee_put_uvarint(PerigeeWriter *w, uint64_t value) {
  for (; value >= 128; value >>= 7) perigee_put_int(w, value | 128, 1);
  perigee_put_int(w, value, 1);
}

static inline void perigee_put_varint(PerigeeWriter *w, int64_t value) {
  perigee_put_uvarint(w, value >= 0 ? 2 * (uint64_t)value : 2 * (uint64_t)-value - 1);
}

static inline void perigee_put_sized(PerigeeWriter *w, const void *data, size_t size) {
  perigee_put_uvarint(w, size);
  perigee_put_bytes(w, data, size);
}

static inline void perigee_put_bits(PerigeeWriter *w, uint64_t value, unsigned count) {
  w->bits |= value << w->bit_count;
  w->bit_count += count;
  for (; w->bit_count >= 8; w->bit_count -= 8, w->bits >>= 8) perigee_put_int(w, w->bits, 1);
}

static inline void perigee_end_bits(PerigeeWriter *w) {
  if (w->bit_count > 0) perigee_put_int(w, w->bits, 1);
  w->bits = 0;
  w->bit_count = 0;
}

static inline int perigee_end_writer(const PerigeeWriter *w, const char *name) {
  if (w->size > 8 * 1024 * 1024) {
    return perigee_fail(w->fault, "%s: the message would be larger than any can be", name);
  }
  if (w->size > w->room) {
    return perigee_fail(w->fault, "%s: takes %zu bytes, and there is room for %zu", name, w->size, w->room);
  }
  return (int)w->size;
}

enum { PERIGEE_ALIGNED = 8 }; // as any member of a value has to be

typedef struct PerigeeReader {
  const uint8_t *data;
  size_t at, size;
  uint64_t bits; // of the last byte that was taken, and have not been
  unsigned bit_count;
  PerigeeMemory *memory;
  PerigeeFault *fault;
} PerigeeReader;

static inline bool perigee_has(const PerigeeReader *r, size_t size) { return size <= r->size - r->at; }

// The following functions read bytes. perigee_has must have checked that they exist.
static inline uint64_t perigee_get_int(PerigeeReader *r, unsigned size) {
  uint64_t value = 0;
  for (unsigned i = 0; i < size; i++) value |= (uint64_t)r->data[r->at + i] << 8 * i;
  r->at += size;
  return value;
}

static inline float perigee_get_f32(PerigeeReader *r) {
  uint32_t bits = (uint32_t)perigee_get_int(r, 4);
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline double perigee_get_f64(PerigeeReader *r) {
  uint64_t bits = perigee_get_int(r, 8);
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline uint64_t perigee_get_bits(PerigeeReader *r, unsigned count) {
  for (; r->bit_count < count; r->bit_count += 8) r->bits |= perigee_get_int(r, 1) << r->bit_count;
  uint64_t value = r->bits & ((UINT64_C(1) << count) - 1);
  r->bits >>= count;
  r->bit_count -= count;
  return value;
}

// Returns whether the unused bits of the last byte are zeros.
static inline bool perigee_no_bits(PerigeeReader *r) {
  r->bit_count = 0;
  return r->bits == 0;
}

// Returns false for a varint that is larger than 2^53 - 1, longer than necessary, or cut off.
static inline bool perigee_get_uvarint(PerigeeReader *r, uint64_t *value) {
  *value = 0;
  for (unsigned i = 0; i < 8 && perigee_has(r, 1); i++) {
    uint64_t byte = perigee_get_int(r, 1);
    *value |= (byte & 127) << 7 * i;
    if (byte < 128) return (byte > 0 || i == 0) && *value <= UINT64_C(9007199254740991);
  }
  return false;
}

static inline int64_t perigee_unzigzag(uint64_t value) {
  return value % 2 == 0 ? (int64_t)(value / 2) : -(int64_t)(value / 2) - 1;
}

// Returns zeroed memory for `count` items; NULL if the memory is used up, or `count` is 0.
static inline void *perigee_take(PerigeeMemory *memory, size_t count, size_t size,
                                 size_t alignment) {
  if (memory == NULL || count == 0 || memory->used > memory->size) return NULL;
  uint8_t *next = (uint8_t *)memory->data + memory->used;
  size_t skipped = (alignment - (uintptr_t)next % alignment) % alignment;
  size_t left = memory->size - memory->used;
  if (skipped > left || count > (left - skipped) / size) return NULL;
  memory->used += skipped + count * size;
  return memset(next + skipped, 0, count * size);
}

// Returns a copy of the next bytes with a NUL; NULL if the memory is used up.
static inline const uint8_t *perigee_copy(PerigeeReader *r, size_t size) {
  uint8_t *copy = (uint8_t *)perigee_take(r->memory, size + 1, 1, 1);
  if (copy != NULL && size > 0) memcpy(copy, r->data + r->at, size);
  r->at += size;
  return copy;
}

#endif // PERIGEE_CODERS
]]
