// Any line: its parts lie inside it, the same parts result from its long form, and the
// text for other clients has no control characters.
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "wire/line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(Text part, const char *text, size_t size) {
  if (part.size == 0) return;
  assert(part.bytes >= text && part.bytes + part.size <= text + size);
}

static void check_same(Text a, Text b) {
  assert(a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0);
}

static void check_again(const Line *line, const char *command) {
  Buf buf = {0};
  buf_printf(&buf, "%s ", command);
  buf_append(&buf, line->word.bytes, line->word.size);
  buf_u8(&buf, ' ');
  buf_append(&buf, line->rest.bytes, line->rest.size);
  Line again = line_read((char *)buf.data, buf.size);
  assert(again.verb == line->verb);
  check_same(again.word, line->word);
  check_same(again.rest, line->rest);
  buf_deinit(&buf);
}

static void check_safe(const char *text, size_t size) {
  Buf buf = {0};
  line_append_safe(&buf, text, size);
  assert(buf.size <= size && text_is_utf8((char *)buf.data, buf.size));
  uint32_t code = 0;
  for (size_t at = 0; at < buf.size;) {
    at += text_read_char((char *)buf.data + at, buf.size - at, &code);
    assert(!text_is_control(code) && !text_is_separator(code));
  }
  buf_deinit(&buf);
}

// Checks that the shown part of a name ends before ": ".
static void check_name(const char *text, size_t size) {
  Buf buf = {0};
  line_append_name(&buf, text, size);
  buf_append(&buf, ": ", 3);
  char *shown = (char *)buf.data;
  assert(!strchr("!*/\"", shown[0]));
  assert(strstr(shown, ": ") == shown + buf.size - 3);
  buf_deinit(&buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data;
  Line line = line_read(text, size);
  check_inside(line.word, text, size);
  check_inside(line.rest, text, size);
  if (line.verb == LINE_TEXT) assert(line.rest.size == size);
  if (line.verb == LINE_JOIN) check_again(&line, "/join");
  if (line.verb == LINE_JOIN_WITH) check_again(&line, "/join_with");
  if (line.verb == LINE_SEND) check_again(&line, "/send");
  check_safe(text, size);
  check_name(text, size);
  return 0;
}
