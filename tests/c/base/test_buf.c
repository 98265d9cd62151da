// Buffers: growth, integers, texts, printf, consumption.
#include "base/buf.h"

#include <string.h>

#include "leaks.h"

static void check(const Buf *buf, const void *bytes, size_t size) {
  assert_int_equal(buf->size, size);
  assert_memory_equal(buf->data, bytes, size);
}

static void an_empty_buffer_holds_no_memory(void **state) {
  (void)state;
  Buf buf = {0};
  buf_append(&buf, NULL, 0);
  buf_consume(&buf, 0);
  assert_null(buf.data);
  assert_int_equal(mem_live(), 0);
  buf_deinit(&buf);
}

static void reserving_makes_room_and_leaves_the_size(void **state) {
  (void)state;
  Buf buf = {0};
  assert_non_null(buf_reserve(&buf, 0));
  buf_append(&buf, "ab", 2);
  uint8_t *out = buf_reserve(&buf, 5000);
  assert_ptr_equal(out, buf.data + 2);
  assert_int_equal(buf.size, 2);
  assert_true(buf.capacity >= 5002);
  memset(out, 'x', 5000);
  check(&buf, "abxxx", 2);
  buf_deinit(&buf);
}

static void appended_bytes_survive_growth(void **state) {
  (void)state;
  Buf buf = {0};
  for (int i = 0; i < 10000; i++) buf_u8(&buf, (uint8_t)(i * 7));
  assert_int_equal(buf.size, 10000);
  for (int i = 0; i < 10000; i++) assert_int_equal(buf.data[i], (uint8_t)(i * 7));
  buf_deinit(&buf);
}

static void integers_are_little_endian(void **state) {
  (void)state;
  Buf buf = {0};
  buf_u8(&buf, 0x01);
  buf_u16(&buf, 0x0302);
  buf_u32(&buf, 0x07060504);
  buf_u64(&buf, 0x0f0e0d0c0b0a0908);
  check(&buf, "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17", 15);
  buf_deinit(&buf);
}

static void short_texts_carry_a_length_of_one_byte(void **state) {
  (void)state;
  Buf buf = {0};
  buf_str8(&buf, "ann", 3);
  buf_str8(&buf, NULL, 0);
  check(&buf, "\3ann\0", 5);
  buf_deinit(&buf);
}

static void texts_that_are_too_long_are_cut(void **state) {
  (void)state;
  static char text[70000];
  memset(text, 'x', sizeof text);
  Buf buf = {0};
  buf_str8(&buf, text, 256);
  assert_int_equal(buf.size, 1 + 255);
  assert_int_equal(buf.data[0], 255);
  buf_consume(&buf, buf.size);
  buf_str16(&buf, text, sizeof text);
  assert_int_equal(buf.size, 2 + 65535);
  assert_memory_equal(buf.data, "\xff\xffxx", 4);
  buf_deinit(&buf);
}

static void long_texts_carry_a_length_of_two_bytes(void **state) {
  (void)state;
  Buf buf = {0};
  buf_str16(&buf, "ann", 3);
  check(&buf, "\3\0ann", 5);
  buf_deinit(&buf);
}

static void printf_appends_without_a_terminator(void **state) {
  (void)state;
  Buf buf = {0};
  buf_printf(&buf, "%s has %d", "ann", 3);
  buf_printf(&buf, "%s", "");
  buf_printf(&buf, " points");
  check(&buf, "ann has 3 points", 16);
  buf_deinit(&buf);
}

static void printf_may_fill_more_than_the_capacity(void **state) {
  (void)state;
  Buf buf = {0};
  buf_printf(&buf, "%*d|", 5000, 7);
  assert_int_equal(buf.size, 5001);
  assert_memory_equal(buf.data + 4998, " 7|", 3);
  buf_deinit(&buf);
}

static void consuming_moves_the_rest_down(void **state) {
  (void)state;
  Buf buf = {0};
  buf_append(&buf, "abcdef", 6);
  buf_consume(&buf, 2);
  check(&buf, "cdef", 4);
  buf_consume(&buf, 4);
  assert_int_equal(buf.size, 0);
  buf_append(&buf, "g", 1);
  check(&buf, "g", 1);
  buf_deinit(&buf);
}

static void trimming_gives_back_what_is_not_used(void **state) {
  (void)state;
  Buf buf = {0};
  for (int i = 0; i < 1000; i++) buf_append(&buf, "abcd", 4);
  size_t full = buf.capacity;
  buf_trim(&buf);
  assert_int_equal(buf.capacity, full);
  buf_consume(&buf, 3994);
  buf_trim(&buf);
  assert_int_equal(buf.capacity, 64);
  check(&buf, "cdabcd", 6);
  buf_consume(&buf, 6);
  buf_trim(&buf);
  assert_null(buf.data);
  assert_int_equal(buf.capacity, 0);
}

static void a_deinitialised_buffer_is_usable_again(void **state) {
  (void)state;
  Buf buf = {0};
  buf_u8(&buf, 1);
  buf_deinit(&buf);
  buf_deinit(&buf);
  assert_int_equal(buf.capacity, 0);
  buf_u8(&buf, 2);
  check(&buf, "\2", 1);
  buf_deinit(&buf);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(an_empty_buffer_holds_no_memory),
      TEST(reserving_makes_room_and_leaves_the_size),
      TEST(appended_bytes_survive_growth),
      TEST(integers_are_little_endian),
      TEST(short_texts_carry_a_length_of_one_byte),
      TEST(texts_that_are_too_long_are_cut),
      TEST(long_texts_carry_a_length_of_two_bytes),
      TEST(printf_appends_without_a_terminator),
      TEST(printf_may_fill_more_than_the_capacity),
      TEST(consuming_moves_the_rest_down),
      TEST(trimming_gives_back_what_is_not_used),
      TEST(a_deinitialised_buffer_is_usable_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
