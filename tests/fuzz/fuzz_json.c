// Any text: a valid value can be divided into values that lie inside it, and its texts
// are the same after writing and reading them again.
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "wire/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(Text value) {
  Buf read = {0}, written = {0}, again = {0};
  if (json_read_text(value, &read)) {
    json_put_text(&written, (Text){(const char *)read.data, (uint32_t)read.size});
    Text text = {(const char *)written.data, (uint32_t)written.size};
    assert(text_is_utf8((const char *)read.data, read.size));
    assert(json_is_value(text) && json_read_text(text, &again));
    assert(again.size == read.size);
    assert(read.size == 0 || memcmp(again.data, read.data, read.size) == 0);
  }
  buf_deinit(&read);
  buf_deinit(&written);
  buf_deinit(&again);
}

static void check_part(Text part, Text whole) {
  assert(part.bytes > whole.bytes && part.size > 0);
  assert(part.bytes + part.size < whole.bytes + whole.size);
  assert(json_is_value(part));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Text text = json_trim((Text){(const char *)data, (uint32_t)size}), key, value;
  if (!json_is_value(text)) return 0;
  check_text(text);
  bool is_object = text.bytes[0] == '{';
  if (!is_object && text.bytes[0] != '[') return 0;
  for (uint32_t at = 0; json_next(text, &at, is_object ? &key : NULL, &value);) {
    check_part(value, text);
    if (is_object) check_part(key, text);
    if (is_object) check_text(key);
  }
  return 0;
}
