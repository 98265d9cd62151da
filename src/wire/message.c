// See message.h.
#include "wire/message.h"

#include <string.h>

#include "base/text.h"

// --- Writing ---

static void write_string(Buf *buf, const char *text) {
  static const char DIGITS[] = "0123456789abcdef";
  buf_u8(buf, '"');
  for (const uint8_t *at = (const uint8_t *)text; *at; at++) {
    if (*at == '"' || *at == '\\') {
      buf_u8(buf, '\\');
      buf_u8(buf, *at);
    } else if (*at < 0x20) {
      buf_append(buf, "\\u00", 4);
      buf_u8(buf, (uint8_t)DIGITS[*at >> 4]);
      buf_u8(buf, (uint8_t)DIGITS[*at & 15]);
    } else {
      buf_u8(buf, *at);
    }
  }
  buf_u8(buf, '"');
}

uint32_t message_body(Buf *buf, const char *name, const char *json) {
  size_t start = buf->size;
  buf_u8(buf, '[');
  write_string(buf, name);
  buf_u8(buf, ',');
  size_t value_at = buf->size - start;
  buf_append(buf, json ? json : "null", json ? strlen(json) : 4);
  buf_u8(buf, ']');
  return (uint32_t)value_at;
}

// --- Reading ---

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static Text trim(Text text) {
  while (text.size > 0 && is_space(text.bytes[0])) {
    text.bytes++;
    text.size--;
  }
  while (text.size > 0 && is_space(text.bytes[text.size - 1])) text.size--;
  return text;
}

static Text skip(Text text, uint32_t size) {
  return (Text){text.bytes + size, text.size - size};
}

// The four digits of \uXXXX, or -1.
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

// Reads what follows a backslash and a `u`; returns its size, 0 if it is malformed.
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

// Reads a string after its opening quote; returns its size with the closing one, 0 if it is
// none.
static uint32_t read_string(Text text, Buf *out) {
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

bool message_split(Text body, Buf *name, Text *value) {
  if (!text_is_utf8(body.bytes, body.size)) return false;
  body = trim(body);
  if (body.size < 2 || body.bytes[0] != '[' || body.bytes[body.size - 1] != ']')
    return false;
  body = trim((Text){body.bytes + 1, body.size - 2});
  if (body.size < 1 || body.bytes[0] != '"') return false;
  uint32_t size = read_string(skip(body, 1), name);
  if (size == 0) return false;
  body = trim(skip(body, 1 + size));
  if (body.size < 2 || body.bytes[0] != ',') return false;
  *value = trim(skip(body, 1));
  return value->size > 0;
}
