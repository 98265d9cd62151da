// The control channel: every decoder with payloads that are whole, too short and too
// long.
#include "wire/control.h"

#include <string.h>

#include "base/err.h"
#include "leaks.h"

// Writes a packet into memory of exactly its size, for ASan.
static Packet packet_of(const Buf *buf, size_t size) {
  uint8_t *payload = mem_alloc(size);
  memcpy(payload, buf->data, size);
  return (Packet){.payload = payload, .length = (uint32_t)size};
}

// Checks that `read` accepts the whole payload in `buf`, and refuses it when it is cut
// anywhere or has one byte more. Frees `buf`.
static void check_exact(Buf *buf, int (*read)(const Packet *packet)) {
  size_t whole = buf->size;
  buf_u8(buf, 0);
  for (size_t size = 0; size <= whole + 1; size++) {
    Packet packet = packet_of(buf, size);
    assert_int_equal(read(&packet), size == whole ? 0 : ERR_MALFORMED);
    mem_free((void *)packet.payload);
  }
  buf_deinit(buf);
}

static void put_hello(Buf *buf) {
  buf_u16(buf, 1);
  buf_u64(buf, 0x1122334455667788);
  buf_str8(buf, "ann", 3);
  buf_str16(buf, "secret", 6);
  buf_append(buf, "0123456789abcdef", UUID_SIZE);
  buf_u32(buf, 42);
}

static int read_hello(const Packet *packet) {
  Hello hello;
  return control_read_hello(packet, &hello);
}

static int read_name(const Packet *packet) {
  Text name;
  return control_read_name(packet, &name);
}

static int read_u16(const Packet *packet) {
  uint16_t value;
  return control_read_u16(packet, &value);
}

static int read_u32(const Packet *packet) {
  uint32_t value;
  return control_read_u32(packet, &value);
}

static int read_u64(const Packet *packet) {
  uint64_t value;
  return control_read_u64(packet, &value);
}

static void hello_is_read_field_by_field(void **state) {
  (void)state;
  Buf buf = {0};
  put_hello(&buf);
  Packet packet = {.payload = buf.data, .length = (uint32_t)buf.size};
  Hello hello;
  assert_int_equal(control_read_hello(&packet, &hello), 0);
  assert_int_equal(hello.version, 1);
  assert_true(hello.protocol_hash == 0x1122334455667788);
  assert_int_equal(hello.name.size, 3);
  assert_memory_equal(hello.name.bytes, "ann", 3);
  assert_int_equal(hello.token.size, 6);
  assert_memory_equal(hello.token.bytes, "secret", 6);
  assert_memory_equal(hello.resume_token, "0123456789abcdef", UUID_SIZE);
  assert_int_equal(hello.reliable_received, 42);
  buf_deinit(&buf);
}

static void hello_may_have_empty_texts(void **state) {
  (void)state;
  Buf buf = {0};
  buf_u16(&buf, 9);
  buf_u64(&buf, 0);
  buf_str8(&buf, NULL, 0);
  buf_str16(&buf, NULL, 0);
  buf_append(&buf, (uint8_t[UUID_SIZE]){0}, UUID_SIZE);
  buf_u32(&buf, 0);
  check_exact(&buf, read_hello);
}

static void hello_is_exact(void **state) {
  (void)state;
  Buf buf = {0};
  put_hello(&buf);
  check_exact(&buf, read_hello);
}

static void a_hello_whose_texts_claim_too_much_is_malformed(void **state) {
  (void)state;
  Buf buf = {0};
  put_hello(&buf);
  Packet packet = {.payload = buf.data, .length = (uint32_t)buf.size};
  buf.data[10] = 255;  // the name
  assert_int_equal(read_hello(&packet), ERR_MALFORMED);
  buf.data[10] = 3;
  assert_int_equal(read_hello(&packet), 0);
  buf.data[15] = 255;  // the token
  assert_int_equal(read_hello(&packet), ERR_MALFORMED);
  buf_deinit(&buf);
}

static void a_name_is_exact(void **state) {
  (void)state;
  Buf buf = {0};
  buf_str8(&buf, "lobby", 5);
  check_exact(&buf, read_name);
  buf_str8(&buf, NULL, 0);
  // An empty name is complete, so the bytes after it are too many.
  Packet packet = {.payload = buf.data, .length = 1};
  Text name;
  assert_int_equal(control_read_name(&packet, &name), 0);
  assert_int_equal(name.size, 0);
  buf_deinit(&buf);
}

static void numbers_are_exact(void **state) {
  (void)state;
  Buf buf = {0};
  buf_u16(&buf, 1000);
  check_exact(&buf, read_u16);
  buf_u32(&buf, 7);
  check_exact(&buf, read_u32);
  buf_u64(&buf, 7);
  check_exact(&buf, read_u64);
}

static void numbers_are_read_whole(void **state) {
  (void)state;
  Packet packet = {.payload = (const uint8_t *)"\1\2\3\4\5\6\7\10", .length = 8};
  uint64_t u64;
  uint32_t u32;
  uint16_t u16;
  assert_int_equal(control_read_u64(&packet, &u64), 0);
  assert_true(u64 == 0x0807060504030201);
  packet.length = 4;
  assert_int_equal(control_read_u32(&packet, &u32), 0);
  assert_int_equal(u32, 0x04030201);
  packet.length = 2;
  assert_int_equal(control_read_u16(&packet, &u16), 0);
  assert_int_equal(u16, 0x0201);
}

static void nothing_is_exact(void **state) {
  (void)state;
  Buf buf = {0};
  buf_reserve(&buf, 1);
  check_exact(&buf, control_read_empty);
}

static void room_data_is_a_room_and_the_rest(void **state) {
  (void)state;
  Packet packet = {.payload = (const uint8_t *)"\7\0\0\0move", .length = 8};
  uint32_t room;
  Text data;
  assert_int_equal(control_read_room_data(&packet, &room, &data), 0);
  assert_int_equal(room, 7);
  assert_int_equal(data.size, 4);
  assert_memory_equal(data.bytes, "move", 4);
}

static void room_data_may_be_empty_but_the_room_must_be_there(void **state) {
  (void)state;
  uint32_t room;
  Text data;
  for (uint32_t length = 0; length <= 4; length++) {
    Packet packet = {.payload = (const uint8_t *)"\7\0\0\0", .length = length};
    assert_int_equal(control_read_room_data(&packet, &room, &data),
                     length == 4 ? 0 : ERR_MALFORMED);
    assert_int_equal(data.size, 0);
    assert_non_null(data.bytes);
  }
}

static void welcome_has_the_fields_of_the_protocol(void **state) {
  (void)state;
  Welcome welcome = {.peer = 3,
                     .session = (const uint8_t *)"0123456789abcdef",
                     .resume_token = (const uint8_t *)"fedcba9876543210",
                     .server_time_us = 1700000000000000,
                     .max_payload = 65536,
                     .ping_interval_ms = 13000,
                     .tick_rate = 20,
                     .resumed = WELCOME_RESUMED,
                     .reliable_received = 77};
  Buf buf = {0};
  control_welcome(&buf, &welcome);
  uint8_t zeros[32] = {0};
  Reader reader = reader_of(buf.data, buf.size);
  assert_int_equal(reader_u16(&reader), PROTOCOL_VERSION);
  assert_int_equal(reader_u32(&reader), 3);
  assert_memory_equal(reader_bytes(&reader, 16), "0123456789abcdef", 16);
  assert_memory_equal(reader_bytes(&reader, 16), "fedcba9876543210", 16);
  assert_true(reader_u64(&reader) == 1700000000000000);
  assert_int_equal(reader_u32(&reader), 65536);
  assert_int_equal(reader_u32(&reader), 13000);
  assert_int_equal(reader_u16(&reader), 20);
  assert_int_equal(reader_u8(&reader), 1);    // resumed
  assert_int_equal(reader_u32(&reader), 77);  // reliable packets received
  assert_int_equal(reader_u16(&reader), 0);   // UDP port
  assert_memory_equal(reader_bytes(&reader, 32), zeros, 32);
  assert_true(reader_is_done(&reader));

  welcome.udp_port = 7777;
  welcome.udp_key = (const uint8_t *)"0123456789abcdef0123456789abcdef";
  buf.size = 0;
  control_welcome(&buf, &welcome);
  assert_memory_equal(buf.data + buf.size - 32, welcome.udp_key, 32);
  assert_memory_equal(buf.data + buf.size - 34, "\x61\x1e", 2);
  buf_deinit(&buf);
}

static void a_code_comes_with_its_text(void **state) {
  (void)state;
  Buf buf = {0};
  control_code_text(&buf, CODE_ROOM_FULL, "the room is full");
  control_code_text(&buf, CODE_KICKED, "");
  Reader reader = reader_of(buf.data, buf.size);
  assert_int_equal(reader_u16(&reader), 23);
  Text text = reader_str16(&reader);
  assert_int_equal(text.size, 16);
  assert_memory_equal(text.bytes, "the room is full", 16);
  assert_int_equal(reader_u16(&reader), 6);
  assert_int_equal(reader_str16(&reader).size, 0);
  assert_true(reader_is_done(&reader));
  buf_deinit(&buf);
}

static void unavailable_ends_with_the_seconds_to_wait(void **state) {
  (void)state;
  Buf buf = {0};
  control_ending(&buf, &(Ending){CODE_UNAVAILABLE, "soon", 300});
  assert_int_equal(buf.size, 10);
  assert_memory_equal(buf.data, "\x18\0\4\0soon\x2c\1", 10);
  buf_deinit(&buf);
}

static void other_endings_end_with_their_text(void **state) {
  (void)state;
  Buf buf = {0};
  control_ending(&buf, &(Ending){CODE_KICKED, "go", 300});
  assert_int_equal(buf.size, 6);
  assert_memory_equal(buf.data, "\6\0\2\0go", 6);
  buf_deinit(&buf);
}

static void what_pages_are_told_is_one_text(void **state) {
  (void)state;
  Buf buf = {0};
  control_dev_asset(&buf, "images/hat.png");
  control_dev_error(&buf, "game.lua:3: no");
  control_dev_error(&buf, "");
  Reader reader = reader_of(buf.data, buf.size);
  assert_int_equal(reader_str8(&reader).size, strlen("images/hat.png"));
  Text text = reader_str16(&reader);
  assert_int_equal(text.size, strlen("game.lua:3: no"));
  assert_memory_equal(text.bytes, "game.lua:3: no", text.size);
  assert_int_equal(reader_str16(&reader).size, 0);
  assert_true(reader_is_done(&reader));
  buf_deinit(&buf);
}

static void a_long_error_is_cut_between_characters(void **state) {
  (void)state;
  Buf text = {0}, buf = {0};
  buf_append(&text, "x", 1);
  for (int i = 0; i < CONTROL_DEV_ERROR_MAX; i++) buf_append(&text, "\xc3\xa4", 2);
  buf_u8(&text, 0);
  control_dev_error(&buf, (const char *)text.data);
  Reader reader = reader_of(buf.data, buf.size);
  Text cut = reader_str16(&reader);
  assert_int_equal(cut.size, CONTROL_DEV_ERROR_MAX - 1);
  assert_memory_equal(cut.bytes, text.data, cut.size);
  buf_deinit(&text);
  buf_deinit(&buf);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(hello_is_read_field_by_field),
      TEST(hello_may_have_empty_texts),
      TEST(hello_is_exact),
      TEST(a_hello_whose_texts_claim_too_much_is_malformed),
      TEST(a_name_is_exact),
      TEST(numbers_are_exact),
      TEST(numbers_are_read_whole),
      TEST(nothing_is_exact),
      TEST(room_data_is_a_room_and_the_rest),
      TEST(room_data_may_be_empty_but_the_room_must_be_there),
      TEST(welcome_has_the_fields_of_the_protocol),
      TEST(a_code_comes_with_its_text),
      TEST(unavailable_ends_with_the_seconds_to_wait),
      TEST(other_endings_end_with_their_text),
      TEST(what_pages_are_told_is_one_text),
      TEST(a_long_error_is_cut_between_characters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
