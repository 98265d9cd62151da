// See encoded.h.
#include "account/encoded.h"

#include <sodium.h>

#include "wire/json.h"

// Returns whether a text is ASCII, because libsodium also accepts some other bytes as
// characters of base64.
static bool is_ascii(Text text) {
  for (uint32_t i = 0; i < text.size; i++)
    if ((uint8_t)text.bytes[i] >= 0x80) return false;
  return true;
}

bool encoded_read(Text text, Buf *bytes) {
  size_t size = 0, space = text.size / 4 * 3 + 3;
  uint8_t *at = buf_reserve(bytes, space);
  if (!is_ascii(text) ||
      sodium_base642bin(at, space, text.bytes, text.size, NULL, &size, NULL,
                        sodium_base64_VARIANT_URLSAFE_NO_PADDING) != 0)
    return false;
  bytes->size += size;
  return true;
}

static bool key_is(Text key, Text name, Buf *scratch) {
  scratch->size = 0;
  return json_read_text(key, scratch) &&
         text_equals((Text){(const char *)scratch->data, (uint32_t)scratch->size},
                     name);
}

static bool find(Text object, Text name, uint32_t from, Text *value) {
  Text key;
  Buf scratch = {0};
  bool is_found = false;
  for (uint32_t at = from; !is_found && json_next(object, &at, &key, value);)
    is_found = key_is(key, name, &scratch);
  buf_deinit(&scratch);
  return is_found;
}

bool encoded_is_object(Text text) {
  enum { MEMBERS_MAX = 64 };
  Text key, value;
  uint32_t count = 0;
  text = json_trim(text);
  if (text.size == 0 || text.bytes[0] != '{' || !json_is_value(text)) return false;
  Buf name = {0};
  bool is_once = true;
  for (uint32_t at = 0; is_once && json_next(text, &at, &key, &value);) {
    name.size = 0;
    is_once =
        ++count <= MEMBERS_MAX && json_read_text(key, &name) &&
        !find(text, (Text){(const char *)name.data, (uint32_t)name.size}, at, &value);
  }
  buf_deinit(&name);
  return is_once;
}

bool encoded_find(Text object, const char *name, Text *value) {
  return find(json_trim(object), text_from(name), 0, value);
}

bool encoded_text(Text object, const char *name, Buf *text) {
  Text value;
  return encoded_find(object, name, &value) && json_read_text(value, text);
}
