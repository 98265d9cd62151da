// UTF-8, names and slips of the fingers.
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool is_utf8(const char *text) { return text_is_utf8(text, strlen(text)); }
static bool is_name(const char *text) { return text_is_name(text, strlen(text)); }

static void well_formed_text_is_utf8(void **state) {
  (void)state;
  assert_true(text_is_utf8(NULL, 0));
  assert_true(text_is_utf8("a\0b\n\x7f", 5));
  assert_true(is_utf8("Zo\xc3\xab \xe2\x82\xac \xf0\x9f\x9a\x80"));
}

static void the_first_and_last_character_of_each_length_is_utf8(void **state) {
  (void)state;
  assert_true(is_utf8("\xc2\x80"));
  assert_true(is_utf8("\xdf\xbf"));
  assert_true(is_utf8("\xe0\xa0\x80"));
  assert_true(is_utf8("\xed\x9f\xbf"));  // just before the surrogates
  assert_true(is_utf8("\xee\x80\x80"));  // just after them
  assert_true(is_utf8("\xef\xbf\xbf"));
  assert_true(is_utf8("\xf0\x90\x80\x80"));
  assert_true(is_utf8("\xf4\x8f\xbf\xbf"));  // U+10FFFF
}

static void overlong_forms_are_not_utf8(void **state) {
  (void)state;
  assert_false(is_utf8("\xc0\x80"));
  assert_false(is_utf8("\xc0\xaf"));
  assert_false(is_utf8("\xc1\xbf"));
  assert_false(is_utf8("\xe0\x80\xaf"));
  assert_false(is_utf8("\xe0\x9f\xbf"));
  assert_false(is_utf8("\xf0\x80\x80\xaf"));
  assert_false(is_utf8("\xf0\x8f\xbf\xbf"));
}

static void surrogates_are_not_utf8(void **state) {
  (void)state;
  assert_false(is_utf8("\xed\xa0\x80"));
  assert_false(is_utf8("\xed\xbf\xbf"));
  assert_false(is_utf8("\xed\xa0\xbd\xed\xb0\x80"));  // a pair of them
}

static void characters_past_the_end_of_unicode_are_not_utf8(void **state) {
  (void)state;
  assert_false(is_utf8("\xf4\x90\x80\x80"));
  assert_false(is_utf8("\xf5\x80\x80\x80"));
  assert_false(is_utf8("\xf7\xbf\xbf\xbf"));
  assert_false(is_utf8("\xf8\x88\x80\x80\x80"));
  assert_false(is_utf8("\xfe"));
  assert_false(is_utf8("\xff"));
}

static void truncated_characters_are_not_utf8(void **state) {
  (void)state;
  static const char *const whole[] = {"\xc3\xab", "\xe2\x82\xac", "\xf0\x9f\x9a\x80"};
  for (size_t i = 0; i < 3; i++) {
    for (size_t size = 1; size < strlen(whole[i]); size++) {
      char text[8] = {0};
      memcpy(text, whole[i], size);
      assert_false(text_is_utf8(text, size));      // at the end
      assert_false(text_is_utf8(text, size + 1));  // followed by a NUL
      text[size] = 'x';
      assert_false(is_utf8(text));
    }
  }
  assert_false(is_utf8("\x80"));
  assert_false(is_utf8("a\xbf"));
}

static void every_character_is_read_as_itself(void **state) {
  (void)state;
  uint32_t code = 0;
  assert_int_equal(text_read_char("a", 1, &code), 1);
  assert_int_equal(code, 'a');
  assert_int_equal(text_read_char("\xc3\xab!", 3, &code), 2);
  assert_int_equal(code, 0xeb);
  assert_int_equal(text_read_char("\xe2\x82\xac", 3, &code), 3);
  assert_int_equal(code, 0x20ac);
  assert_int_equal(text_read_char("\xf0\x9f\x9a\x80", 4, &code), 4);
  assert_int_equal(code, 0x1f680);
  assert_int_equal(text_read_char("", 0, &code), 0);
}

static void names_are_1_to_64_bytes(void **state) {
  (void)state;
  char text[66] = {0};
  memset(text, 'x', 65);
  assert_false(text_is_name(text, 0));
  assert_true(text_is_name(text, 1));
  assert_true(text_is_name(text, 64));
  assert_false(text_is_name(text, 65));
}

static void names_may_hold_spaces_and_any_script(void **state) {
  (void)state;
  assert_true(is_name("duel:1"));
  assert_true(is_name("the big room"));
  assert_true(is_name("caf\xc3\xa9 \xf0\x9f\x8e\xb2"));
  assert_true(is_name("\xc2\xa0"));  // just after C1
}

static void names_hold_no_control_characters(void **state) {
  (void)state;
  assert_false(text_is_name("a\0b", 3));
  assert_false(is_name("a\nb"));
  assert_false(is_name("\x1b[31mred"));
  assert_false(is_name("a\x1f"));
  assert_false(is_name("a\x7f"));
  assert_false(is_name("a\xc2\x80"));
  assert_false(is_name("a\xc2\x9b"));  // CSI
  assert_false(is_name("a\xc2\x9f"));
}

static void names_are_utf8(void **state) {
  (void)state;
  assert_false(is_name("caf\xe9"));
  assert_false(is_name("x\xed\xa0\x80"));
}

static const char *const words[] = {"max_clients", "max_rooms", "port",
                                    "host",        "watch",     NULL};

static void a_slip_finds_the_word_that_was_meant(void **state) {
  (void)state;
  assert_string_equal(text_nearest("max_client", words), "max_clients");
  assert_string_equal(text_nearest("maxclients", words), "max_clients");
  assert_string_equal(text_nearest("max_romos", words), "max_rooms");
  assert_string_equal(text_nearest("prot", words), "port");
  assert_string_equal(text_nearest("port", words), "port");
  assert_string_equal(text_nearest("wtach", words), "watch");
}

static void a_different_word_finds_nothing(void **state) {
  (void)state;
  assert_null(text_nearest("colour", words));
  assert_null(text_nearest("max", words));
  assert_null(text_nearest("foo", (const char *const[]){"now", "to", NULL}));
  assert_null(text_nearest("", words));
  assert_null(text_nearest("xy", (const char *const[]){"ab", NULL}));
  assert_null(text_nearest("port", (const char *const[]){NULL}));
}

static void the_nearest_of_several_wins_and_the_first_of_equals(void **state) {
  (void)state;
  const char *const close[] = {"joined", "joint", "join", "loin", NULL};
  assert_string_equal(text_nearest("joi", close), "join");
  const char *const equal[] = {"cat", "bat", NULL};
  assert_string_equal(text_nearest("rat", equal), "cat");
}

static void words_beyond_all_measure_find_nothing(void **state) {
  (void)state;
  char word[200] = {0};
  memset(word, 'x', sizeof word - 1);
  assert_null(text_nearest(word, (const char *const[]){word, NULL}));
  word[64] = 0;
  assert_non_null(text_nearest(word, (const char *const[]){word, NULL}));
}

static size_t count_values(const char *text) {
  return text_json_count(text, strlen(text));
}

static void values_of_json_are_counted_outside_of_strings(void **state) {
  (void)state;
  assert_int_equal(count_values("5"), 1);
  assert_int_equal(count_values("[1,2,[3]]"), 5);
  assert_int_equal(count_values("{\"a\":1,\"b\":{}}"), 4);
  assert_int_equal(count_values("\"[,{\""), 1);
  assert_int_equal(count_values("[\"\\\"[,{\\\\\",\"[\"]"), 3);
  assert_int_equal(count_values("\"never ended [["), 1);
  assert_int_equal(count_values("\"\\"), 1);
  assert_int_equal(count_values(""), 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(well_formed_text_is_utf8),
      cmocka_unit_test(the_first_and_last_character_of_each_length_is_utf8),
      cmocka_unit_test(overlong_forms_are_not_utf8),
      cmocka_unit_test(surrogates_are_not_utf8),
      cmocka_unit_test(characters_past_the_end_of_unicode_are_not_utf8),
      cmocka_unit_test(truncated_characters_are_not_utf8),
      cmocka_unit_test(every_character_is_read_as_itself),
      cmocka_unit_test(names_are_1_to_64_bytes),
      cmocka_unit_test(names_may_hold_spaces_and_any_script),
      cmocka_unit_test(names_hold_no_control_characters),
      cmocka_unit_test(names_are_utf8),
      cmocka_unit_test(a_slip_finds_the_word_that_was_meant),
      cmocka_unit_test(a_different_word_finds_nothing),
      cmocka_unit_test(the_nearest_of_several_wins_and_the_first_of_equals),
      cmocka_unit_test(words_beyond_all_measure_find_nothing),
      cmocka_unit_test(values_of_json_are_counted_outside_of_strings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
