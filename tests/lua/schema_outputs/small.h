// The messages of this game, generated from its schema.perigee by `perigee schema --c`. docs/schema.md of
// Perigee explains their use.
#ifndef GAME_MESSAGES
#define GAME_MESSAGES

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

/// For PerigeeOptions.
#define GAME_PROTOCOL_HASH UINT64_C(0xf0e699311b727a92)

// The numbers of the messages.
enum {
  GAME_MOVE = 1,
  GAME_SAY = 2
};

typedef struct GamePoint {
  double x;  // a number from 0 to 100
  double y;  // a number from 0 to 100
} GamePoint;

typedef enum GameMode {
  GAME_MODE_IDLE,
  GAME_MODE_WALK,
  GAME_MODE_RUN
} GameMode;

/// Returns the word of a value; "" for a number that is not a value of the enum.
static inline const char *game_mode_name(GameMode value) {
  static const char *const words[] = {"idle", "walk", "run"};
  return perigee_is_below((size_t)value, 3) ? words[(size_t)value] : "";
}

typedef struct GameMove {
  uint64_t id;  // a whole number from 0 to 9007199254740991
  GamePoint at;
  GameMode mode;
  int64_t wide;  // a whole number from -9007199254740991 to 9007199254740991
  bool has_fast;
  float fast;
  bool seen[3];
  uint16_t path[9];
} GameMove;

typedef struct GamePointList {
  const GamePoint *items;
  size_t count;
} GamePointList;

typedef struct GameSay {
  PerigeeText text;  // a string of at most 200 bytes of UTF-8
  PerigeeBytes raw;  // a string of at most 65535 bytes
  GamePointList to;  // a list of at most 4
} GameSay;

typedef struct GameSayAnswer {
  bool value;
} GameSayAnswer;

// --- "move" ---

#define GAME_MOVE_MAX 41 // largest size in bytes

static inline int game_move_encode(const GameMove *value, void *data, size_t room, PerigeeFault *fault) {
  PerigeeWriter writer = {(uint8_t *)data, 0, room, 0, 0, fault};
  PerigeeWriter *w = &writer;
  if (!(value->at.x >= 0.0 && value->at.x <= 100.0)) {
    return perigee_fail(w->fault, "move.at.x: expected a number from 0 to 100, got %g", value->at.x);
  }
  perigee_put_bits(w, (uint64_t)(perigee_round(value->at.x * 4.0) - INT64_C(0)), 9);
  if (!(value->at.y >= 0.0 && value->at.y <= 100.0)) {
    return perigee_fail(w->fault, "move.at.y: expected a number from 0 to 100, got %g", value->at.y);
  }
  perigee_put_bits(w, (uint64_t)(perigee_round(value->at.y * 4.0) - INT64_C(0)), 9);
  if (!perigee_is_below((size_t)value->mode, 3)) {
    return perigee_fail(w->fault, "move.mode: expected one of idle, walk, run, got %d", (int)value->mode);
  }
  perigee_put_bits(w, (uint64_t)value->mode, 2);
  perigee_put_bits(w, value->has_fast ? 1u : 0u, 1);
  for (size_t i1 = 0; i1 < 3; i1++) {
    perigee_put_bits(w, value->seen[i1] ? 1u : 0u, 1);
  }
  perigee_end_bits(w);
  if (value->id > UINT64_C(9007199254740991)) {
    return perigee_fail(w->fault, "move.id: expected a whole number from 0 to 9007199254740991, got %llu", (unsigned long long)value->id);
  }
  perigee_put_uvarint(w, value->id);
  if (value->wide < INT64_C(-9007199254740991) || value->wide > INT64_C(9007199254740991)) {
    return perigee_fail(w->fault, "move.wide: expected a whole number from -9007199254740991 to 9007199254740991, got %lld", (signed long long)value->wide);
  }
  perigee_put_int(w, (uint64_t)value->wide, 8);
  if (value->has_fast) {
    if (!perigee_is_f32(value->fast)) {
      return perigee_fail(w->fault, "move.fast: expected a number that f32 holds, got %g", (double)value->fast);
    }
    perigee_put_f32(w, value->fast);
  }
  for (size_t i2 = 0; i2 < 9; i2++) {
    perigee_put_int(w, (uint64_t)value->path[i2], 2);
  }
  return perigee_end_writer(w, "move");
}

static inline int game_move_decode(GameMove *value, const void *data, size_t size, PerigeeMemory *memory,
                          PerigeeFault *fault) {
  PerigeeReader reader = {(const uint8_t *)data, 0, size, 0, 0, memory, fault};
  PerigeeReader *r = &reader;
  memset(value, 0, sizeof *value);
  if (!perigee_has(r, 3)) {
    return perigee_fail(r->fault, "the bytes end at move");
  }
  uint64_t n1 = perigee_get_bits(r, 9);
  if (n1 > UINT64_C(400)) {
    return perigee_fail(r->fault, "move.at.x is not a number from 0 to 100");
  }
  value->at.x = (double)((int64_t)n1 + INT64_C(0)) / 4.0;
  uint64_t n2 = perigee_get_bits(r, 9);
  if (n2 > UINT64_C(400)) {
    return perigee_fail(r->fault, "move.at.y is not a number from 0 to 100");
  }
  value->at.y = (double)((int64_t)n2 + INT64_C(0)) / 4.0;
  uint64_t n3 = perigee_get_bits(r, 2);
  if (n3 > UINT64_C(2)) {
    return perigee_fail(r->fault, "move.mode is not a value of the enum");
  }
  value->mode = (GameMode)n3;
  value->has_fast = perigee_get_bits(r, 1) != 0;
  for (size_t i4 = 0; i4 < 3; i4++) {
    value->seen[i4] = perigee_get_bits(r, 1) != 0;
  }
  uint64_t n5;
  if (!perigee_has(r, 1)) {
    return perigee_fail(r->fault, "the bytes end at move.id");
  }
  if (!perigee_get_uvarint(r, &n5)) {
    return perigee_fail(r->fault, "move.id is not a number");
  }
  value->id = n5;
  if (!perigee_has(r, 8)) {
    return perigee_fail(r->fault, "the bytes end at move.wide");
  }
  value->wide = (int64_t)perigee_get_int(r, 8);
  if (value->wide < INT64_C(-9007199254740991) || value->wide > INT64_C(9007199254740991)) {
    return perigee_fail(r->fault, "move.wide is not a whole number from -9007199254740991 to 9007199254740991");
  }
  if (value->has_fast) {
    if (!perigee_has(r, 4)) {
      return perigee_fail(r->fault, "the bytes end at move.fast");
    }
    value->fast = perigee_get_f32(r);
    if (!perigee_is_f32(value->fast)) {
      return perigee_fail(r->fault, "move.fast is not a number that f32 holds");
    }
  }
  for (size_t i6 = 0; i6 < 9; i6++) {
    if (!perigee_has(r, 2)) {
      return perigee_fail(r->fault, "the bytes end at move.path[%zu]", i6);
    }
    value->path[i6] = (uint16_t)perigee_get_int(r, 2);
  }
  if (r->at != r->size) {
    return perigee_fail(r->fault, "move: there are bytes behind the end of the message");
  }
  return 0;
}

// --- "say" ---

#define GAME_SAY_MAX 65753 // largest size in bytes
#define GAME_SAY_MEMORY (201 + 65536 + PERIGEE_ALIGNED + 4 * (sizeof(GamePoint)))

static inline int game_say_encode(const GameSay *value, void *data, size_t room, PerigeeFault *fault) {
  PerigeeWriter writer = {(uint8_t *)data, 0, room, 0, 0, fault};
  PerigeeWriter *w = &writer;
  if (!perigee_is_text(value->text, 200)) {
    return perigee_fail(w->fault, "say.text: expected a string of at most 200 bytes of UTF-8");
  }
  perigee_put_sized(w, value->text.data, value->text.size);
  if (value->raw.size > 65535 || (value->raw.data == NULL && value->raw.size > 0)) {
    return perigee_fail(w->fault, "say.raw: expected a string of at most 65535 bytes");
  }
  perigee_put_sized(w, value->raw.data, value->raw.size);
  if (value->to.count > 4 || (value->to.items == NULL && value->to.count > 0)) {
    return perigee_fail(w->fault, "say.to: expected a list of at most 4");
  }
  perigee_put_uvarint(w, value->to.count);
  for (size_t i1 = 0; i1 < value->to.count; i1++) {
    if (!(value->to.items[i1].x >= 0.0 && value->to.items[i1].x <= 100.0)) {
      return perigee_fail(w->fault, "say.to[%zu].x: expected a number from 0 to 100, got %g", i1, value->to.items[i1].x);
    }
    perigee_put_bits(w, (uint64_t)(perigee_round(value->to.items[i1].x * 4.0) - INT64_C(0)), 9);
    if (!(value->to.items[i1].y >= 0.0 && value->to.items[i1].y <= 100.0)) {
      return perigee_fail(w->fault, "say.to[%zu].y: expected a number from 0 to 100, got %g", i1, value->to.items[i1].y);
    }
    perigee_put_bits(w, (uint64_t)(perigee_round(value->to.items[i1].y * 4.0) - INT64_C(0)), 9);
    perigee_end_bits(w);
  }
  return perigee_end_writer(w, "say");
}

static inline int game_say_decode(GameSay *value, const void *data, size_t size, PerigeeMemory *memory,
                          PerigeeFault *fault) {
  PerigeeReader reader = {(const uint8_t *)data, 0, size, 0, 0, memory, fault};
  PerigeeReader *r = &reader;
  memset(value, 0, sizeof *value);
  uint64_t n1;
  if (!perigee_has(r, 1)) {
    return perigee_fail(r->fault, "the bytes end at say.text");
  }
  if (!perigee_get_uvarint(r, &n1)) {
    return perigee_fail(r->fault, "say.text is not a number");
  }
  if (n1 > 200 || !perigee_has(r, (size_t)n1)) {
    return perigee_fail(r->fault, "say.text is not a string of at most 200 bytes of UTF-8");
  }
  if (!perigee_is_utf8(r->data + r->at, (size_t)n1)) {
    return perigee_fail(r->fault, "say.text is not a string of at most 200 bytes of UTF-8");
  }
  value->text.size = (size_t)n1;
  value->text.data = (const char *)perigee_copy(r, (size_t)n1);
  if (value->text.data == NULL) {
    return perigee_fail(r->fault, "say.text takes more memory than there is");
  }
  uint64_t n2;
  if (!perigee_has(r, 1)) {
    return perigee_fail(r->fault, "the bytes end at say.raw");
  }
  if (!perigee_get_uvarint(r, &n2)) {
    return perigee_fail(r->fault, "say.raw is not a number");
  }
  if (n2 > 65535 || !perigee_has(r, (size_t)n2)) {
    return perigee_fail(r->fault, "say.raw is not a string of at most 65535 bytes");
  }
  value->raw.size = (size_t)n2;
  value->raw.data = (const uint8_t *)perigee_copy(r, (size_t)n2);
  if (value->raw.data == NULL) {
    return perigee_fail(r->fault, "say.raw takes more memory than there is");
  }
  uint64_t n3;
  if (!perigee_has(r, 1)) {
    return perigee_fail(r->fault, "the bytes end at say.to");
  }
  if (!perigee_get_uvarint(r, &n3)) {
    return perigee_fail(r->fault, "say.to is not a number");
  }
  if (n3 > 4 || !perigee_has(r, (size_t)n3)) {
    return perigee_fail(r->fault, "say.to is not a list of at most 4");
  }
  GamePoint *t4 = (GamePoint *)perigee_take(r->memory, (size_t)n3, sizeof(GamePoint), PERIGEE_ALIGNED);
  if (t4 == NULL && (size_t)n3 > 0) {
    return perigee_fail(r->fault, "say.to takes more memory than there is");
  }
  for (size_t i5 = 0; i5 < (size_t)n3; i5++) {
    if (!perigee_has(r, 3)) {
      return perigee_fail(r->fault, "the bytes end at say.to[%zu]", i5);
    }
    uint64_t n6 = perigee_get_bits(r, 9);
    if (n6 > UINT64_C(400)) {
      return perigee_fail(r->fault, "say.to[%zu].x is not a number from 0 to 100", i5);
    }
    t4[i5].x = (double)((int64_t)n6 + INT64_C(0)) / 4.0;
    uint64_t n7 = perigee_get_bits(r, 9);
    if (n7 > UINT64_C(400)) {
      return perigee_fail(r->fault, "say.to[%zu].y is not a number from 0 to 100", i5);
    }
    t4[i5].y = (double)((int64_t)n7 + INT64_C(0)) / 4.0;
    if (!perigee_no_bits(r)) {
      return perigee_fail(r->fault, "say.to[%zu] is not zeros in the bits that fill up its byte", i5);
    }
  }
  value->to.items = t4;
  value->to.count = (size_t)n3;
  if (r->at != r->size) {
    return perigee_fail(r->fault, "say: there are bytes behind the end of the message");
  }
  return 0;
}

#define GAME_SAY_ANSWER_MAX 1 // largest size in bytes

static inline int game_say_answer_encode(const GameSayAnswer *value, void *data, size_t room, PerigeeFault *fault) {
  PerigeeWriter writer = {(uint8_t *)data, 0, room, 0, 0, fault};
  PerigeeWriter *w = &writer;
  perigee_put_bits(w, value->value ? 1u : 0u, 1);
  perigee_end_bits(w);
  return perigee_end_writer(w, "the answer to say");
}

static inline int game_say_answer_decode(GameSayAnswer *value, const void *data, size_t size, PerigeeMemory *memory,
                          PerigeeFault *fault) {
  PerigeeReader reader = {(const uint8_t *)data, 0, size, 0, 0, memory, fault};
  PerigeeReader *r = &reader;
  memset(value, 0, sizeof *value);
  if (!perigee_has(r, 1)) {
    return perigee_fail(r->fault, "the bytes end at the answer to say");
  }
  value->value = perigee_get_bits(r, 1) != 0;
  if (!perigee_no_bits(r)) {
    return perigee_fail(r->fault, "the answer to say is not zeros in the bits that fill up its byte");
  }
  if (r->at != r->size) {
    return perigee_fail(r->fault, "the answer to say: there are bytes behind the end of the message");
  }
  return 0;
}

#endif // GAME_MESSAGES
