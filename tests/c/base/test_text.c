// UTF-8, names, and suggestions for misspelt words.
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
  assert_false(is_utf8("\xed\xa0\xbd\xed\xb0\x80"));  // a pair of surrogates
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
      assert_false(text_is_utf8(text, size));      // cut at the end
      assert_false(text_is_utf8(text, size + 1));  // cut, and followed by a NUL
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
  assert_true(is_name("\xc2\xa1"));  // the first visible character after C1
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

// Place of a character in a name.
typedef enum Place { BEGINNING, MIDDLE, END } Place;

// Returns whether a name may have the character at that place, before or after letters.
static bool is_name_with(uint32_t code, Place place) {
  char text[8];
  size_t size = 0;
  if (place != BEGINNING) text[size++] = 'a';
  if (code < 0x80) {
    text[size++] = (char)code;
  } else {
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t leads[] = {0, 0xc0, 0xe0, 0xf0};
    text[size++] = (char)(leads[more] | code >> 6 * more);
    while (more-- > 0) text[size++] = (char)(0x80 | (code >> 6 * more & 0x3f));
  }
  if (place != END) text[size++] = 'b';
  return text_is_name(text, size);
}

static void expect_anywhere(uint32_t code, bool is_good) {
  for (Place place = BEGINNING; place <= END; place++) {
    if (is_name_with(code, place) != is_good)
      fail_msg("U+%04X, place %d", (unsigned)code, (int)place);
  }
}

// Tests all 65 characters of the Unicode category Cc.
static void names_hold_none_of_the_control_characters(void **state) {
  (void)state;
  for (uint32_t code = 0; code < 0x20; code++) expect_anywhere(code, false);
  for (uint32_t code = 0x7f; code < 0xa0; code++) expect_anywhere(code, false);
}

// Tests characters of the Unicode categories Cf, Zl and Zp: the first and last character
// of each run, and the best-known ones.
static void names_hold_no_invisible_characters(void **state) {
  (void)state;
  static const uint32_t codes[] = {
      0xad,                                                  // soft hyphen
      0x600,   0x603,   0x605,   0x61c,   0x6dd,   0x70f,    // Arabic, Syriac
      0x890,   0x891,   0x8e2,   0x180e,                     // and Mongolian
      0x200b,  0x200c,  0x200d,  0x200e,  0x200f,            // zero width, marks
      0x202a,  0x202b,  0x202c,  0x202d,  0x202e,            // embeddings
      0x2060,  0x2061,  0x2062,  0x2063,  0x2064,            // word joiner
      0x2066,  0x2067,  0x2068,  0x2069,  0x206a,  0x206f,   // isolates
      0xfeff,  0xfff9,  0xfffa,  0xfffb,                     // byte order mark
      0x110bd, 0x110cd, 0x13430, 0x13438, 0x13439, 0x1343f,  // Kaithi, Egyptian
      0x1bca0, 0x1bca3, 0x1d173, 0x1d17a,                    // shorthand, music
      0xe0001, 0xe0020, 0xe0041, 0xe007f,                    // tags
      0x2028,  0x2029,                                       // Zl and Zp
  };
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    expect_anywhere(codes[i], false);
}

// Tests all 17 characters of the Unicode category Zs.
static void names_hold_spaces_but_not_at_their_ends(void **state) {
  (void)state;
  static const uint32_t codes[] = {0x20,   0xa0,   0x1680, 0x2000, 0x2001, 0x2002,
                                   0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008,
                                   0x2009, 0x200a, 0x202f, 0x205f, 0x3000};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    if (is_name_with(codes[i], BEGINNING) || is_name_with(codes[i], END) ||
        !is_name_with(codes[i], MIDDLE))
      fail_msg("U+%04X", (unsigned)codes[i]);
  }
  assert_false(is_name(" "));
  assert_true(is_name("a  b"));
}

static void names_hold_the_neighbours_of_what_they_may_not_hold(void **state) {
  (void)state;
  static const uint32_t codes[] = {
      0x21,    0x7e,    0xa1,    0xac,    0xae,    0x5ff,   0x606,   0x61b,   0x61d,
      0x6dc,   0x6de,   0x70e,   0x710,   0x88f,   0x892,   0x8e1,   0x8e3,   0x167f,
      0x1681,  0x180d,  0x180f,  0x1fff,  0x2010,  0x2027,  0x2030,  0x205e,  0x2065,
      0x2070,  0x2fff,  0x3001,  0xfefe,  0xff00,  0xfff8,  0xfffc,  0x110bc, 0x110be,
      0x110cc, 0x110ce, 0x1342f, 0x13440, 0x1bc9f, 0x1bca4, 0x1d172, 0x1d17b, 0xe0000,
      0xe0002, 0xe001f, 0xe0080, 0x10ffff};
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
    expect_anywhere(codes[i], true);
}

static void names_of_peers_do_not_begin_like_a_line_of_the_server(void **state) {
  (void)state;
  static const char *const bad[] = {"! Kicked", "!", "* joined", "/join", " ann", ""};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    assert_false(text_is_peer_name(bad[i], strlen(bad[i])));
  static const char *const good[] = {"ann", "a! b* c/", "\xc2\xa1ola", "guest-7"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    assert_true(text_is_peer_name(good[i], strlen(good[i])));
  assert_true(is_name("!"));  // may be the name of a room
}

static void names_are_utf8(void **state) {
  (void)state;
  assert_false(is_name("caf\xe9"));
  assert_false(is_name("x\xed\xa0\x80"));
}

static const char *const words[] = {"max_clients", "max_rooms", "port",
                                    "host",        "watch",     NULL};

static void text_is_cut_between_characters(void **state) {
  (void)state;
  static const char TEXT[] =
      "a\xc3\xa9\xf0\x9f\x9a\x80";  // characters of 1, 2 and 4 bytes
  static const size_t CUT[] = {0, 1, 1, 3, 3, 3, 3, 7, 7};
  for (size_t max = 0; max < sizeof CUT / sizeof *CUT; max++)
    assert_int_equal(text_cut(TEXT, sizeof TEXT - 1, max), CUT[max]);
  assert_int_equal(text_cut(TEXT, 2, 5), 2);
}

static void digits_are_hexadecimal(void **state) {
  (void)state;
  int sum = 0, count = 0;
  for (int c = -128; c < 128; c++) {
    int digit = text_hex_digit((char)c);
    if (digit < 0) continue;
    sum += digit;
    count++;
  }
  assert_int_equal(count, 22);
  assert_int_equal(sum, 45 + 2 * 75);
  assert_int_equal(text_hex_digit('9'), 9);
  assert_int_equal(text_hex_digit('a'), 10);
  assert_int_equal(text_hex_digit('F'), 15);
}

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
      cmocka_unit_test(names_hold_none_of_the_control_characters),
      cmocka_unit_test(names_hold_no_invisible_characters),
      cmocka_unit_test(names_hold_spaces_but_not_at_their_ends),
      cmocka_unit_test(names_hold_the_neighbours_of_what_they_may_not_hold),
      cmocka_unit_test(names_of_peers_do_not_begin_like_a_line_of_the_server),
      cmocka_unit_test(names_are_utf8),
      cmocka_unit_test(text_is_cut_between_characters),
      cmocka_unit_test(digits_are_hexadecimal),
      cmocka_unit_test(a_slip_finds_the_word_that_was_meant),
      cmocka_unit_test(a_different_word_finds_nothing),
      cmocka_unit_test(the_nearest_of_several_wins_and_the_first_of_equals),
      cmocka_unit_test(words_beyond_all_measure_find_nothing),
      cmocka_unit_test(values_of_json_are_counted_outside_of_strings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
