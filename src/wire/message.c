// See message.h.
#include "wire/message.h"

#include <string.h>

#include "base/text.h"
#include "wire/json.h"

uint32_t message_body(Buf *buf, Text name, Text json) {
  size_t start = buf->size;
  buf_u8(buf, '[');
  json_put_text(buf, name);
  buf_u8(buf, ',');
  size_t value_at = buf->size - start;
  if (json.bytes == NULL) json = (Text){"null", 4};
  buf_append(buf, json.bytes, json.size);
  buf_u8(buf, ']');
  return (uint32_t)value_at;
}

bool message_split(Text body, Buf *name, Text *value) {
  if (!text_is_utf8(body.bytes, body.size)) return false;
  body = json_trim(body);
  if (body.size < 2 || body.bytes[0] != '[' || body.bytes[body.size - 1] != ']')
    return false;
  body = json_trim((Text){body.bytes + 1, body.size - 2});
  if (body.size < 1 || body.bytes[0] != '"') return false;
  uint32_t size = json_read_string((Text){body.bytes + 1, body.size - 1}, name);
  if (size == 0) return false;
  body = json_trim((Text){body.bytes + 1 + size, body.size - 1 - size});
  if (body.size < 2 || body.bytes[0] != ',') return false;
  *value = json_trim((Text){body.bytes + 1, body.size - 1});
  return value->size > 0;
}
