// Any stream of bytes, cut at any place. The result does not depend on the cuts, obeys
// the limit of a message's size, and the reader keeps no more memory than its limit.
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "wire/websocket.h"

enum { LIMIT = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(Buf *trace, const WsEvent *event) {
  buf_u8(trace, (uint8_t)event->type);
  buf_u8(trace, event->is_text);
  buf_u16(trace, event->code);
  buf_u32(trace, (uint32_t)event->size);
  buf_append(trace, event->bytes, event->size);
}

static void check(const WsEvent *event) {
  if (event->type == WS_EVENT_MESSAGE) {
    assert(event->size <= LIMIT);
    if (event->is_text) assert(text_is_utf8((const char *)event->bytes, event->size));
  }
  if (event->type == WS_EVENT_PING) assert(event->size <= WS_CONTROL_MAX);
  if (event->type == WS_EVENT_CLOSE && event->code != WS_CODE_NONE)
    assert(ws_is_close_code(event->code));
}

// Reads `size` bytes in pieces of `step`.
static void read_all(const uint8_t *data, size_t size, size_t step, Buf *trace) {
  WsReader *reader = ws_reader_new();
  WsEvent event = {0};
  for (size_t at = 0; at < size && event.type < WS_EVENT_CLOSE; at += step) {
    size_t piece = size - at < step ? size - at : step;
    ws_reader_feed(reader, data + at, piece);
    while ((event = ws_reader_next(reader, LIMIT)).type != WS_EVENT_NONE) {
      check(&event);
      put(trace, &event);
      if (event.type >= WS_EVENT_CLOSE) break;
    }
    assert(ws_reader_held(reader) <= LIMIT && ws_reader_held(reader) <= at + piece);
    if (event.type == WS_EVENT_NONE) assert(ws_reader_unread(reader) == 0);
  }
  ws_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  Buf whole = {0}, pieces = {0};
  size_t step = 1 + data[0] % 16;
  read_all(data + 1, size - 1, size, &whole);
  read_all(data + 1, size - 1, step, &pieces);
  assert(whole.size == pieces.size);
  assert(whole.size == 0 || memcmp(whole.data, pieces.data, whole.size) == 0);
  buf_deinit(&whole);
  buf_deinit(&pieces);
  return 0;
}
