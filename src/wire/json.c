// See json.h.
#include "wire/json.h"

#include <string.h>

#include "base/text.h"

// --- Writing ---

void json_put_text(Buf *buf, Text text) {
  static const char DIGITS[] = "0123456789abcdef";
  buf_u8(buf, '"');
  for (uint32_t i = 0; i < text.size; i++) {
    uint8_t byte = (uint8_t)text.bytes[i];
    if (byte == '"' || byte == '\\') {
      buf_u8(buf, '\\');
      buf_u8(buf, byte);
    } else if (byte < 0x20) {
      buf_append(buf, "\\u00", 4);
      buf_u8(buf, (uint8_t)DIGITS[byte >> 4]);
      buf_u8(buf, (uint8_t)DIGITS[byte & 15]);
    } else {
      buf_u8(buf, byte);
    }
  }
  buf_u8(buf, '"');
}

// --- Strings ---

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static Text skip(Text text, uint32_t size) {
  return (Text){text.bytes + size, text.size - size};
}

Text json_trim(Text text) {
  while (text.size > 0 && is_space(text.bytes[0])) text = skip(text, 1);
  while (text.size > 0 && is_space(text.bytes[text.size - 1])) text.size--;
  return text;
}

// Returns the four digits of \uXXXX as a number, or -1.
static int32_t read_hex(Text text) {
  if (text.size < 4) return -1;
  int32_t value = 0;
  for (int i = 0; i < 4; i++) {
    int digit = text_hex_digit(text.bytes[i]);
    if (digit < 0) return -1;
    value = value << 4 | digit;
  }
  return value;
}

static void put_utf8(Buf *buf, uint32_t code) {
  if (code < 0x80) {
    buf_u8(buf, (uint8_t)code);
    return;
  }
  int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  buf_u8(buf, (uint8_t)((0xff00 >> (more + 1)) | (code >> (6 * more))));
  while (more-- > 0) buf_u8(buf, (uint8_t)(0x80 | ((code >> (6 * more)) & 0x3f)));
}

// Reads the text behind `\u`; returns its size, or 0 if it is malformed.
static uint32_t read_unicode(Text text, Buf *out) {
  int32_t first = read_hex(text);
  if (first < 0 || (first >= 0xdc00 && first <= 0xdfff)) return 0;
  if (first < 0xd800 || first > 0xdfff) {
    put_utf8(out, (uint32_t)first);
    return 4;
  }
  if (text.size < 10 || text.bytes[4] != '\\' || text.bytes[5] != 'u') return 0;
  int32_t second = read_hex(skip(text, 6));
  if (second < 0xdc00 || second > 0xdfff) return 0;
  put_utf8(out,
           0x10000 + (((uint32_t)first & 0x3ff) << 10 | ((uint32_t)second & 0x3ff)));
  return 10;
}

uint32_t json_read_string(Text text, Buf *out) {
  static const char FROM[] = "\"\\/bfnrt", TO[] = "\"\\/\b\f\n\r\t";
  for (uint32_t at = 0; at < text.size; at++) {
    char c = text.bytes[at];
    if (c == '"') return at + 1;
    if ((uint8_t)c < 0x20) return 0;
    if (c != '\\') {
      buf_u8(out, (uint8_t)c);
      continue;
    }
    if (++at == text.size) return 0;
    const char *known = text.bytes[at] ? strchr(FROM, text.bytes[at]) : NULL;
    if (known) {
      buf_u8(out, (uint8_t)TO[known - FROM]);
      continue;
    }
    uint32_t size = text.bytes[at] == 'u' ? read_unicode(skip(text, at + 1), out) : 0;
    if (size == 0) return 0;
    at += size;
  }
  return 0;
}

// --- Values ---

// The text that is left, and a buffer for strings whose value is not needed.
typedef struct JsonReader {
  Text rest;
  Buf scratch;
} JsonReader;

static char peek(const JsonReader *reader) {
  return reader->rest.size > 0 ? reader->rest.bytes[0] : '\0';
}

static bool take(JsonReader *reader, char c) {
  if (peek(reader) != c) return false;
  reader->rest = skip(reader->rest, 1);
  return true;
}

static void take_spaces(JsonReader *reader) {
  while (reader->rest.size > 0 && is_space(reader->rest.bytes[0]))
    reader->rest = skip(reader->rest, 1);
}

static bool take_string(JsonReader *reader) {
  if (!take(reader, '"')) return false;
  reader->scratch.size = 0;
  uint32_t size = json_read_string(reader->rest, &reader->scratch);
  reader->rest = skip(reader->rest, size);
  return size > 0;
}

static bool take_word(JsonReader *reader, const char *word) {
  size_t size = strlen(word);
  if (reader->rest.size < size || memcmp(reader->rest.bytes, word, size) != 0)
    return false;
  reader->rest = skip(reader->rest, (uint32_t)size);
  return true;
}

static bool take_digits(JsonReader *reader) {
  bool is_any = false;
  for (; peek(reader) >= '0' && peek(reader) <= '9'; is_any = true)
    reader->rest = skip(reader->rest, 1);
  return is_any;
}

static bool take_number(JsonReader *reader) {
  take(reader, '-');
  if (!take(reader, '0') && !take_digits(reader)) return false;
  if (take(reader, '.') && !take_digits(reader)) return false;
  if (!take(reader, 'e') && !take(reader, 'E')) return true;
  if (!take(reader, '+')) take(reader, '-');
  return take_digits(reader);
}

static bool take_value(JsonReader *reader, int depth);

// Skips `"key":`, with the spaces before the key and before the colon.
static bool take_key(JsonReader *reader) {
  take_spaces(reader);
  if (!take_string(reader)) return false;
  take_spaces(reader);
  return take(reader, ':');
}

static bool take_items(JsonReader *reader, char end, int depth) {
  take_spaces(reader);
  if (take(reader, end)) return true;
  do {
    if (end == '}' && !take_key(reader)) return false;
    take_spaces(reader);
    if (!take_value(reader, depth)) return false;
    take_spaces(reader);
  } while (take(reader, ','));
  return take(reader, end);
}

static bool take_value(JsonReader *reader, int depth) {
  bool is_container = peek(reader) == '{' || peek(reader) == '[';
  if (is_container && depth == JSON_DEPTH_MAX) return false;
  if (take(reader, '{')) return take_items(reader, '}', depth + 1);
  if (take(reader, '[')) return take_items(reader, ']', depth + 1);
  if (peek(reader) == '"') return take_string(reader);
  return take_word(reader, "true") || take_word(reader, "false") ||
         take_word(reader, "null") || take_number(reader);
}

bool json_is_value(Text text) {
  JsonReader reader = {.rest = text};
  bool is = text_is_utf8(text.bytes, text.size) && take_value(&reader, 0) &&
            reader.rest.size == 0;
  buf_deinit(&reader.scratch);
  return is;
}

// --- Members ---

bool json_next(Text text, uint32_t *at, Text *key, Text *value) {
  JsonReader reader = {.rest = skip(text, *at == 0 ? 1 : *at)};
  take_spaces(&reader);
  bool is_any = peek(&reader) != (key ? '}' : ']');
  if (is_any && key) {
    key->bytes = reader.rest.bytes;
    take_string(&reader);
    key->size = (uint32_t)(reader.rest.bytes - key->bytes);
    take_spaces(&reader);
    take(&reader, ':');
    take_spaces(&reader);
  }
  if (is_any) {
    value->bytes = reader.rest.bytes;
    take_value(&reader, 0);
    value->size = (uint32_t)(reader.rest.bytes - value->bytes);
    take_spaces(&reader);
    take(&reader, ',');
    *at = (uint32_t)(reader.rest.bytes - text.bytes);
  }
  buf_deinit(&reader.scratch);
  return is_any;
}

Text json_find(Text object, const char *key) {
  Text name, value;
  for (uint32_t at = 0; json_next(object, &at, &name, &value);)
    if (name.size == strlen(key) + 2 && memcmp(name.bytes + 1, key, name.size - 2) == 0)
      return value;
  return (Text){"", 0};
}

bool json_read_text(Text value, Buf *out) {
  return value.size > 1 && value.bytes[0] == '"' &&
         json_read_string(skip(value, 1), out) > 0;
}
