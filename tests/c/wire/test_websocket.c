// Frames become messages: whole frames, pieces, and frames that break each rule.
#include "wire/websocket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

enum { LIMIT = 1 << 20, FIN = 0x80 };

static const uint8_t MASK[4] = {0x37, 0xfa, 0x21, 0x3d};

// Appends a client's frame.
static void put(Buf *buf, uint8_t first, const void *payload, size_t size) {
  uint8_t header[WS_HEADER_MAX];
  size_t header_size = ws_put_header(header, WS_TEXT, size);
  header[0] = first;
  header[1] |= 0x80;
  buf_append(buf, header, header_size);
  buf_append(buf, MASK, 4);
  uint8_t *out = buf_reserve(buf, size);
  for (size_t i = 0; i < size; i++)
    out[i] = ((const uint8_t *)payload)[i] ^ MASK[i % 4];
  buf->size += size;
}

static void put_text(Buf *buf, uint8_t first, const char *text) {
  put(buf, first, text, strlen(text));
}

static void check(const WsEvent *event, WsEventType type, const char *text) {
  assert_int_equal(event->type, type);
  assert_int_equal(event->size, strlen(text));
  assert_memory_equal(event->bytes, text, event->size);
}

static void check_close(WsReader *reader, WsEventType type, uint16_t code) {
  WsEvent event = ws_reader_next(reader, LIMIT);
  if (event.type != type || event.code != code)
    fail_msg("type %d, code %u instead of type %d, code %u", event.type, event.code,
             type, code);
}

static void check_nothing(WsReader *reader) {
  assert_int_equal(ws_reader_next(reader, LIMIT).type, WS_EVENT_NONE);
}

// Reads one frame and expects a fault.
static void check_fault(const Buf *bytes, uint16_t code) {
  WsReader *reader = ws_reader_new();
  ws_reader_feed(reader, bytes->data, bytes->size);
  check_close(reader, WS_EVENT_FAULT, code);
  ws_reader_free(reader);
}

static void messages_come_whole(void **state) {
  (void)state;
  static const size_t SIZES[] = {0,    1,    125,   126,   127,   4095,
                                 4096, 5000, 65535, 65536, 200000};
  WsReader *reader = ws_reader_new();
  for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
    Buf payload = {0}, bytes = {0};
    memset(buf_reserve(&payload, SIZES[i] + 1), 'x', SIZES[i]);
    put(&bytes, FIN | WS_BINARY, payload.data, SIZES[i]);
    ws_reader_feed(reader, bytes.data, bytes.size);
    WsEvent event = ws_reader_next(reader, LIMIT);
    assert_int_equal(event.type, WS_EVENT_MESSAGE);
    assert_false(event.is_text);
    assert_int_equal(event.size, SIZES[i]);
    assert_memory_equal(event.bytes, payload.data, event.size);
    assert_true(ws_reader_is_at_rest(reader));
    check_nothing(reader);
    buf_deinit(&payload);
    buf_deinit(&bytes);
  }
  ws_reader_free(reader);
}

static void they_come_byte_by_byte(void **state) {
  (void)state;
  Buf bytes = {0};
  put_text(&bytes, WS_TEXT, "a\xc3");
  put_text(&bytes, FIN | WS_PING, "ping");
  put_text(&bytes, FIN | WS_CONTINUATION,
           "\xa4"
           "b");
  put_text(&bytes, FIN | WS_CLOSE,
           "\x03\xe8"
           "bye");
  WsReader *reader = ws_reader_new();
  int count = 0;
  for (size_t i = 0; i < bytes.size; i++) {
    ws_reader_feed(reader, bytes.data + i, 1);
    WsEvent event = ws_reader_next(reader, LIMIT);
    if (event.type == WS_EVENT_NONE) {
      assert_false(ws_reader_is_at_rest(reader));
      continue;
    }
    if (count == 0) check(&event, WS_EVENT_PING, "ping");
    if (count == 1)
      check(&event, WS_EVENT_MESSAGE,
            "a\xc3\xa4"
            "b");
    if (count == 2) assert_int_equal(event.code, 1000);
    count++;
  }
  assert_int_equal(count, 3);
  ws_reader_free(reader);
  buf_deinit(&bytes);
}

static void many_in_one_piece(void **state) {
  (void)state;
  enum { COUNT = 5000 };
  Buf bytes = {0};
  for (int i = 0; i < COUNT; i++) put_text(&bytes, FIN | WS_TEXT, "hello");
  WsReader *reader = ws_reader_new();
  ws_reader_feed(reader, bytes.data, bytes.size);
  for (int i = 0; i < COUNT; i++) {
    WsEvent event = ws_reader_next(reader, LIMIT);
    check(&event, WS_EVENT_MESSAGE, "hello");
    assert_true(event.is_text);
  }
  check_nothing(reader);
  assert_true(ws_reader_is_at_rest(reader));
  ws_reader_free(reader);
  buf_deinit(&bytes);
}

static void rest_is_between_messages(void **state) {
  (void)state;
  Buf bytes = {0};
  put_text(&bytes, WS_TEXT, "a");
  size_t first = bytes.size;
  put_text(&bytes, FIN | WS_CONTINUATION, "b");
  WsReader *reader = ws_reader_new();
  assert_true(ws_reader_is_at_rest(reader));
  ws_reader_feed(reader, bytes.data, first);
  check_nothing(reader);
  assert_false(ws_reader_is_at_rest(reader));
  assert_int_equal(ws_reader_held(reader), 1);
  ws_reader_feed(reader, bytes.data + first, bytes.size - first);
  WsEvent event = ws_reader_next(reader, LIMIT);
  check(&event, WS_EVENT_MESSAGE, "ab");
  assert_true(ws_reader_is_at_rest(reader));
  assert_int_equal(ws_reader_held(reader), 0);
  ws_reader_free(reader);
  buf_deinit(&bytes);
}

static void a_hundred_thousand_fragments_take_up_their_bytes(void **state) {
  (void)state;
  enum { COUNT = 100000 };
  Buf bytes = {0};
  put_text(&bytes, WS_BINARY, "x");
  for (int i = 2; i < COUNT; i++) put_text(&bytes, WS_CONTINUATION, "x");
  put_text(&bytes, FIN | WS_CONTINUATION, "x");
  WsReader *reader = ws_reader_new();
  ws_reader_feed(reader, bytes.data, bytes.size);
  WsEvent event = ws_reader_next(reader, COUNT);
  assert_int_equal(event.type, WS_EVENT_MESSAGE);
  assert_int_equal(event.size, COUNT);
  ws_reader_free(reader);
  reader = ws_reader_new();
  ws_reader_feed(reader, bytes.data, bytes.size);
  event = ws_reader_next(reader, COUNT - 1);
  assert_int_equal(event.type, WS_EVENT_FAULT);
  assert_int_equal(event.code, WS_CODE_TOO_LARGE);
  ws_reader_free(reader);
  buf_deinit(&bytes);
}

static void the_limit_is_judged_by_the_length_alone(void **state) {
  (void)state;
  static const uint64_t SIZES[] = {101, 65536, 1ull << 32, (1ull << 63) - 1};
  for (size_t i = 0; i < sizeof SIZES / sizeof *SIZES; i++) {
    uint8_t header[WS_HEADER_MAX];
    Buf bytes = {0};
    size_t size = ws_put_header(header, WS_BINARY, SIZES[i]);
    header[1] |= 0x80;
    buf_append(&bytes, header, size);
    buf_append(&bytes, "maskx", 5);  // the masking key and one byte of the payload
    WsReader *reader = ws_reader_new();
    ws_reader_feed(reader, bytes.data, bytes.size);
    WsEvent event = ws_reader_next(reader, 100);
    assert_int_equal(event.type, WS_EVENT_FAULT);
    assert_int_equal(event.code, WS_CODE_TOO_LARGE);
    assert_int_equal(ws_reader_held(reader), 0);
    ws_reader_free(reader);
    buf_deinit(&bytes);
  }
}

static void the_limit_is_judged_before_the_first_byte(void **state) {
  (void)state;
  static const uint8_t HEADER[] = {
      FIN | WS_BINARY, 0x80 | 127, 0, 0, 0, 0, 0, 16, 0, 1};
  WsReader *reader = ws_reader_new();
  ws_reader_feed(reader, HEADER, sizeof HEADER - 1);
  check_nothing(reader);
  ws_reader_feed(reader, HEADER + sizeof HEADER - 1, 1);
  check_close(reader, WS_EVENT_FAULT, WS_CODE_TOO_LARGE);
  ws_reader_free(reader);
}

static void headers_that_break_a_rule(void **state) {
  (void)state;
  static const struct {
    const char *bytes;
    size_t size;
  } CASES[] = {
      {"\xc1\x80mask", 6},  // reserved bits
      {"\xa1\x80mask", 6},
      {"\x91\x80mask", 6},
      {"\x83\x80mask", 6},  // unknown kinds
      {"\x87\x80mask", 6},
      {"\x8b\x80mask", 6},
      {"\x8f\x80mask", 6},
      {"\x81\x00", 2},  // not masked
      {"\x82\x01x", 3},
      {"\x89\x00", 2},
      {"\x80\x80mask", 6},  // a continuation without a message
      {"\x00\x80mask", 6},
      {"\x09\x80mask", 6},  // control frames in fragments
      {"\x0a\x80mask", 6},
      {"\x08\x80mask", 6},
      {"\x89\xfe\x00\x7emaskx", 9},  // and of more than 125 bytes
      {"\x88\xfe\x00\x7emaskx", 9},
      {"\x82\xfe\x00\x05mask12345", 13},  // a length in more bytes than needed
      {"\x82\xff\0\0\0\0\0\0\x00\x05mask12345", 19},
      {"\x82\xff\x80\0\0\0\0\0\0\x05mask12345", 19},  // its highest bit is set
      {"\x88\x81maskx", 7},                           // half of a close code
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    Buf bytes = {0};
    buf_append(&bytes, CASES[i].bytes, CASES[i].size);
    check_fault(&bytes, WS_CODE_PROTOCOL);
    buf_deinit(&bytes);
  }
}

static void a_message_within_a_message(void **state) {
  (void)state;
  for (uint8_t kind = WS_TEXT; kind <= WS_BINARY; kind++) {
    Buf bytes = {0};
    put_text(&bytes, WS_TEXT, "a");
    put_text(&bytes, FIN | kind, "b");
    check_fault(&bytes, WS_CODE_PROTOCOL);
    buf_deinit(&bytes);
  }
}

static void close_codes(void **state) {
  (void)state;
  static const uint16_t GOOD[] = {1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010,
                                  1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999};
  static const uint16_t BAD[] = {0,    1,    999,  1004, 1005, 1006, 1015,
                                 1016, 1100, 1999, 2000, 2999, 5000, 65535};
  for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++)
    assert_true(ws_is_close_code(GOOD[i]));
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
    const uint8_t payload[] = {(uint8_t)(BAD[i] >> 8), (uint8_t)BAD[i]};
    Buf bytes = {0};
    put(&bytes, FIN | WS_CLOSE, payload, sizeof payload);
    check_fault(&bytes, WS_CODE_PROTOCOL);
    buf_deinit(&bytes);
  }
  Buf bytes = {0};
  put_text(&bytes, FIN | WS_CLOSE, "");
  WsReader *reader = ws_reader_new();
  ws_reader_feed(reader, bytes.data, bytes.size);
  check_close(reader, WS_EVENT_CLOSE, WS_CODE_NONE);
  ws_reader_free(reader);
  bytes.size = 0;
  put_text(&bytes, FIN | WS_CLOSE, "\x03\xe8\xff");
  check_fault(&bytes, WS_CODE_BAD_TEXT);
  buf_deinit(&bytes);
}

// Returns whether text is accepted, both as a whole and in fragments of one byte, and
// how many bytes are read before the refusal.
static bool is_taken(const char *text, size_t size, bool in_pieces, size_t *read) {
  Buf bytes = {0};
  WsReader *reader = ws_reader_new();
  WsEvent event = {0};
  for (*read = 0; event.type == WS_EVENT_NONE && *read < size;) {
    size_t part = in_pieces ? 1 : size;
    bool is_last = *read + part == size;
    bytes.size = 0;
    put(&bytes, (uint8_t)((is_last ? FIN : 0) | (*read ? WS_CONTINUATION : WS_TEXT)),
        text + *read, part);
    ws_reader_feed(reader, bytes.data, bytes.size);
    event = ws_reader_next(reader, LIMIT);
    *read += part;
  }
  bool is_good = event.type == WS_EVENT_MESSAGE;
  if (!is_good) assert_int_equal(event.code, WS_CODE_BAD_TEXT);
  ws_reader_free(reader);
  buf_deinit(&bytes);
  return is_good;
}

static void text_is_utf8(void **state) {
  (void)state;
  static const char *const GOOD[] = {"hello",
                                     "\xc3\xa4",
                                     "\xe2\x82\xac",
                                     "\xf0\x9f\x98\x80",
                                     "\xed\x9f\xbf",
                                     "\xee\x80\x80",
                                     "\xef\xbf\xbf",
                                     "\xf4\x8f\xbf\xbf",
                                     "\xc2\x80",
                                     "\xe0\xa0\x80",
                                     "\xf0\x90\x80\x80",
                                     "12345678\xc3\xa4"
                                     "12345678"};
  static const struct {
    const char *text;
    size_t bad;  // number of bytes that show the fault
  } BAD[] = {
      {"\xff", 1},
      {"\x80", 1},
      {"\xc0\xaf", 1},
      {"\xc1\xbf", 1},
      {"\xe0\x9f\xbf", 2},
      {"\xf0\x8f\xbf\xbf", 2},
      {"\xed\xa0\x80", 2},
      {"\xed\xbf\xbf", 2},
      {"\xf4\x90\x80\x80", 2},
      {"\xf5\x80\x80\x80", 1},
      {"\xc3", 1},
      {"\xe2\x82", 2},
      {"\xf0\x9f\x98", 3},
      {"\xc3 a", 2},
      {"12345678\xff"
       "12345678",
       9},
  };
  size_t read;
  for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++)
    for (int pieces = 0; pieces <= 1; pieces++)
      assert_true(is_taken(GOOD[i], strlen(GOOD[i]), pieces, &read));
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
    assert_false(is_taken(BAD[i].text, strlen(BAD[i].text), false, &read));
    assert_false(is_taken(BAD[i].text, strlen(BAD[i].text), true, &read));
    assert_int_equal(read, BAD[i].bad);
  }
}

static void the_first_bad_byte_is_enough(void **state) {
  (void)state;
  Buf bytes = {0};
  put(&bytes, FIN | WS_TEXT, "abc\xffzzzz", 8);
  bytes.size -= 4;  // the rest of the frame has not come
  check_fault(&bytes, WS_CODE_BAD_TEXT);
  buf_deinit(&bytes);
}

static void headers_are_written_as_short_as_can_be(void **state) {
  (void)state;
  uint8_t out[WS_HEADER_MAX];
  assert_int_equal(ws_put_header(out, WS_BINARY, 125), 2);
  assert_memory_equal(out, "\x82\x7d", 2);
  assert_int_equal(ws_put_header(out, WS_TEXT, 126), 4);
  assert_memory_equal(out, "\x81\x7e\x00\x7e", 4);
  assert_int_equal(ws_put_header(out, WS_BINARY, 65535), 4);
  assert_int_equal(ws_put_header(out, WS_BINARY, 65536), 10);
  assert_memory_equal(out, "\x82\x7f\0\0\0\0\0\x01\0\0", 10);
}

static void close_frames_and_text(void **state) {
  (void)state;
  Buf buf = {0};
  ws_put_close(&buf, 1000, "ok");
  ws_put_close(&buf, 1001, NULL);
  ws_put_close(&buf, WS_CODE_NONE, "no");
  ws_put_text(&buf,
              "a\xff"
              "b",
              3);
  assert_int_equal(buf.size, 6 + 4 + 2 + 5);
  assert_memory_equal(buf.data,
                      "\x88\x04\x03\xe8ok\x88\x02\x03\xe9\x88\x00\x81\x03"
                      "a?b",
                      17);
  buf.size = 0;
  char text[200] = {0};
  for (int i = 0; i < 99; i++) memcpy(text + 2 * i, "\xc3\xa4", 2);
  ws_put_close(&buf, 1000, text);
  assert_int_equal(buf.size, 2 + 2 + 122);  // no character is cut
  buf_deinit(&buf);
}

static void the_opening_handshake(void **state) {
  (void)state;
  char accept[WS_ACCEPT_SIZE];
  ws_accept(text_from("dGhlIHNhbXBsZSBub25jZQ=="), accept);
  assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
  assert_true(ws_is_key(text_from("dGhlIHNhbXBsZSBub25jZQ==")));
  assert_false(ws_is_key(text_from("dGhlIHNhbXBsZSBub25jZQ=")));
  assert_false(ws_is_key(text_from("dGhlIHNhbXBsZSBub25jZQAA")));
  assert_false(ws_is_key(text_from("dGhlIHNhbXBsZSBub25j====")));
  assert_false(ws_is_key(text_from("dGhlIHNhbXBsZSBub25j!Q==")));
  assert_false(ws_is_key(text_from("")));
}

static void codes_of_the_end(void **state) {
  (void)state;
  assert_int_equal(ws_close_code(CODE_CLOSED, false), 1000);
  assert_int_equal(ws_close_code(CODE_CLOSED, true), 1001);
  assert_int_equal(ws_close_code(CODE_PROTOCOL, true), 1002);
  assert_int_equal(ws_close_code(CODE_PAYLOAD_TOO_LARGE, true), 1009);
  assert_int_equal(ws_close_code(CODE_INTERNAL, true), 1011);
  assert_int_equal(ws_close_code(CODE_SERVER_FULL, true), 1013);
  assert_int_equal(ws_close_code(CODE_UNAVAILABLE, true), 1013);
  assert_int_equal(ws_close_code(CODE_KICKED, true), 4006);
  for (int code = 0; code <= CODE_UNAVAILABLE; code++)
    assert_true(ws_is_close_code(ws_close_code((Code)code, true)));
}

static int no_memory_is_left(void **state) {
  (void)state;
  return mem_live() == 0 ? 0 : -1;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(messages_come_whole),
      cmocka_unit_test(they_come_byte_by_byte),
      cmocka_unit_test(many_in_one_piece),
      cmocka_unit_test(rest_is_between_messages),
      cmocka_unit_test(a_hundred_thousand_fragments_take_up_their_bytes),
      cmocka_unit_test(the_limit_is_judged_by_the_length_alone),
      cmocka_unit_test(the_limit_is_judged_before_the_first_byte),
      cmocka_unit_test(headers_that_break_a_rule),
      cmocka_unit_test(a_message_within_a_message),
      cmocka_unit_test(close_codes),
      cmocka_unit_test(text_is_utf8),
      cmocka_unit_test(the_first_bad_byte_is_enough),
      cmocka_unit_test(headers_are_written_as_short_as_can_be),
      cmocka_unit_test(close_frames_and_text),
      cmocka_unit_test(the_opening_handshake),
      cmocka_unit_test(codes_of_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, no_memory_is_left);
}
