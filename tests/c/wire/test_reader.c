// The cursor over received bytes.
#include "wire/reader.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void integers_are_little_endian(void **state) {
  (void)state;
  Reader reader = reader_of("\1\2\3\4\5\6\7\10\11\12\13\14\15\16\xff", 15);
  assert_int_equal(reader_u8(&reader), 0x01);
  assert_int_equal(reader_u16(&reader), 0x0302);
  assert_int_equal(reader_u32(&reader), 0x07060504);
  assert_true(reader_u64(&reader) == 0xff0e0d0c0b0a0908);
  assert_true(reader_is_done(&reader));
}

static void an_integer_that_is_not_all_there_is_zero_and_a_failure(void **state) {
  (void)state;
  Reader reader = reader_of("\1\2\3", 3);
  assert_int_equal(reader_u32(&reader), 0);
  assert_true(reader.failed);
  assert_false(reader_is_done(&reader));
}

static void after_a_failure_everything_fails(void **state) {
  (void)state;
  Reader reader = reader_of("\1\2\3", 3);
  reader_u64(&reader);
  assert_int_equal(reader_left(&reader), 0);
  assert_int_equal(reader_u8(&reader), 0);
  assert_null(reader_bytes(&reader, 1));
  assert_int_equal(reader_str8(&reader).size, 0);
  assert_false(reader_is_done(&reader));
}

static void what_is_left_over_is_not_done(void **state) {
  (void)state;
  Reader reader = reader_of("\1\2", 2);
  reader_u8(&reader);
  assert_int_equal(reader_left(&reader), 1);
  assert_false(reader.failed);
  assert_false(reader_is_done(&reader));
}

static void bytes_are_given_in_place(void **state) {
  (void)state;
  const char *bytes = "abc";
  Reader reader = reader_of(bytes, 3);
  assert_ptr_equal(reader_bytes(&reader, 2), bytes);
  assert_ptr_equal(reader_bytes(&reader, 0), bytes + 2);
  assert_null(reader_bytes(&reader, SIZE_MAX));
  assert_true(reader.failed);
}

static void texts_carry_their_length(void **state) {
  (void)state;
  Reader reader = reader_of("\3ann\2\0me\0\0\0", 11);
  Text name = reader_str8(&reader), token = reader_str16(&reader);
  assert_int_equal(name.size, 3);
  assert_memory_equal(name.bytes, "ann", 3);
  assert_int_equal(token.size, 2);
  assert_memory_equal(token.bytes, "me", 2);
  assert_int_equal(reader_str8(&reader).size, 0);
  assert_int_equal(reader_str16(&reader).size, 0);
  assert_true(reader_is_done(&reader));
}

static void a_text_longer_than_the_rest_is_empty_and_a_failure(void **state) {
  (void)state;
  Reader reader = reader_of("\4ann", 4);
  Text text = reader_str8(&reader);
  assert_int_equal(text.size, 0);
  assert_non_null(text.bytes);
  assert_true(reader.failed);
  reader = reader_of("\xff\xff x", 4);
  assert_int_equal(reader_str16(&reader).size, 0);
  assert_true(reader.failed);
  reader = reader_of("\1", 1);  // half of a length
  assert_int_equal(reader_str16(&reader).size, 0);
  assert_true(reader.failed);
}

static void nothing_is_done_at_once(void **state) {
  (void)state;
  Reader reader = reader_of(NULL, 0);
  assert_true(reader_is_done(&reader));
  assert_non_null(reader_bytes(&reader, 0));
  assert_int_equal(reader_u8(&reader), 0);
  assert_false(reader_is_done(&reader));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integers_are_little_endian),
      cmocka_unit_test(an_integer_that_is_not_all_there_is_zero_and_a_failure),
      cmocka_unit_test(after_a_failure_everything_fails),
      cmocka_unit_test(what_is_left_over_is_not_done),
      cmocka_unit_test(bytes_are_given_in_place),
      cmocka_unit_test(texts_carry_their_length),
      cmocka_unit_test(a_text_longer_than_the_rest_is_empty_and_a_failure),
      cmocka_unit_test(nothing_is_done_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
