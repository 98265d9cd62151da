// Lines of text peers.
#include "wire/line.h"

#include <string.h>

#include "leaks.h"

static void check_part(Text text, const char *expected) {
  assert_int_equal(text.size, strlen(expected));
  assert_non_null(text.bytes);
  assert_memory_equal(text.bytes, expected, text.size);
}

static void check(const char *text, LineVerb verb, const char *word, const char *rest) {
  size_t size = strlen(text);
  char *copy = mem_alloc(size);  // has exactly its size, for ASan
  memcpy(copy, text, size);
  Line line = line_read(copy, size);
  assert_int_equal(line.verb, verb);
  check_part(line.word, word);
  check_part(line.rest, rest);
  mem_free(copy);
}

static void a_plain_line_is_kept_as_it_is(void **state) {
  (void)state;
  check("hello there", LINE_TEXT, "", "hello there");
  check("  two spaces ", LINE_TEXT, "", "  two spaces ");
  check(" /join x", LINE_TEXT, "", " /join x");
  check("", LINE_TEXT, "", "");
}

static void names_may_contain_spaces_and_are_trimmed(void **state) {
  (void)state;
  check("/join lobby", LINE_JOIN, "lobby", "");
  check("/join   the big room \t", LINE_JOIN, "the big room", "");
  check("/leave duel:1", LINE_LEAVE, "duel:1", "");
  check("/name\tann b", LINE_NAME, "ann b", "");
}

static void commands_without_operands_ignore_the_rest(void **state) {
  (void)state;
  check("/rooms", LINE_ROOMS, "", "");
  check("/rooms please", LINE_ROOMS, "", "");
  check("/rooms  {\"kind\": 1} ", LINE_ROOMS, "", "{\"kind\": 1}");
  check("/quit ", LINE_QUIT, "", "");
}

static void join_with_has_a_name_and_an_object(void **state) {
  (void)state;
  check("/join_with lobby {\"a\": 1}", LINE_JOIN_WITH, "lobby", "{\"a\": 1}");
  check("/join_with my  room  {} ", LINE_JOIN_WITH, "my  room", "{}");
  check("/join_with a{b {\"c\":{}}", LINE_JOIN_WITH, "a{b", "{\"c\":{}}");
  check("/join_with lobby", LINE_JOIN_WITH, "lobby", "");
  check("/join_with {}", LINE_JOIN_WITH, "{}", "");
  check("/join_with", LINE_INCOMPLETE, "/join_with", "");
}

static void send_has_a_name_and_its_json(void **state) {
  (void)state;
  check("/send move {\"x\": 1, \"y\": 2}", LINE_SEND, "move", "{\"x\": 1, \"y\": 2}");
  check("/send  move   [1] ", LINE_SEND, "move", "[1]");
  check("/send ready", LINE_SEND, "ready", "");
}

static void a_command_without_its_word_is_incomplete(void **state) {
  (void)state;
  check("/join", LINE_INCOMPLETE, "/join", "");
  check("/leave  ", LINE_INCOMPLETE, "/leave", "");
  check("/name\t", LINE_INCOMPLETE, "/name", "");
  check("/send ", LINE_INCOMPLETE, "/send", "");
}

static void other_commands_are_unknown_by_name(void **state) {
  (void)state;
  check("/foo bar", LINE_UNKNOWN, "/foo", "");
  check("/joins x", LINE_UNKNOWN, "/joins", "");
  check("/joi", LINE_UNKNOWN, "/joi", "");
  check("/JOIN x", LINE_UNKNOWN, "/JOIN", "");
  check("/", LINE_UNKNOWN, "/", "");
  check("//x", LINE_UNKNOWN, "//x", "");
  check("/ join", LINE_UNKNOWN, "/", "");
}

static void a_line_of_no_bytes_is_plain(void **state) {
  (void)state;
  assert_int_equal(line_read(NULL, 0).verb, LINE_TEXT);
}

static void a_line_may_hold_zeros(void **state) {
  (void)state;
  Line line = line_read("/join a\0b", 9);
  assert_int_equal(line.verb, LINE_JOIN);
  assert_int_equal(line.word.size, 3);
  line = line_read("/join\0x", 7);
  assert_int_equal(line.verb, LINE_UNKNOWN);
  assert_int_equal(line.word.size, 7);
}

static void check_safe(const char *text, size_t size, const char *expected) {
  Buf buf = {0};
  buf_append(&buf, "> ", 2);
  line_append_safe(&buf, text, size);
  buf_u8(&buf, 0);
  assert_string_equal((char *)buf.data + 2, expected);
  buf_deinit(&buf);
}

static void safe_text_is_left_alone(void **state) {
  (void)state;
  const char *text = "Zo\xc3\xab, 3 \xe2\x82\xac \xf0\x9f\x9a\x80 \"\\/";
  check_safe(text, strlen(text), text);
  check_safe(NULL, 0, "");
}

static void no_line_can_be_forged(void **state) {
  (void)state;
  check_safe("hi\n* bob left lobby", 19, "hi?* bob left lobby");
  check_safe("hi\r\nx", 5, "hi??x");
  check_safe("a\0b", 3, "a?b");
  check_safe(
      "a\xc2\x85"
      "b",
      4, "a?b");  // NEL
}

static void no_line_can_be_forged_for_readers_who_know_other_ends_of_line(
    void **state) {
  (void)state;
  check_safe("hi\xe2\x80\xa8* bob left", 15, "hi?* bob left");    // U+2028
  check_safe("hi\xe2\x80\xa9! Kicked: x", 16, "hi?! Kicked: x");  // U+2029
}

static void check_name(const char *name, const char *expected) {
  Buf buf = {0};
  line_append_name(&buf, name, strlen(name));
  buf_u8(&buf, 0);
  assert_string_equal((const char *)buf.data, expected);
  buf_deinit(&buf);
}

static void a_name_cannot_be_taken_for_more_than_a_name(void **state) {
  (void)state;
  check_name("duel:1", "duel:1");
  check_name("O'Brien, 3rd * !", "O'Brien, 3rd * !");
  check_name("! Kicked: bye", "? Kicked? bye");
  check_name("* bob left", "? bob left");
  check_name("/join", "?join");
  check_name("alice: I quit", "alice? I quit");  // a name before ": " and its broadcast
  check_name("alice:", "alice?");
  check_name("score {\"bob\":1,\"x", "score {?bob?:1,?x");  // a message with JSON
  check_name("a\nb", "a?b");
}

static void no_terminal_sequence_gets_through(void **state) {
  (void)state;
  check_safe("\x1b[2J", 4, "?[2J");
  check_safe("\x1b]0;title\x07", 10, "?]0;title?");
  check_safe(
      "\xc2\x9b"
      "31m",
      5, "?31m");  // CSI as a C1 character
  check_safe(
      "\x9b"
      "31m",
      4, "?31m");  // CSI as a bare byte
  check_safe("a\x7f\x08", 3, "a??");
}

static void bytes_that_are_not_utf8_are_replaced_one_by_one(void **state) {
  (void)state;
  check_safe("\xff\xfe", 2, "??");
  check_safe("\xed\xa0\x80", 3, "???");
  check_safe("\xc0\x8a", 2, "??");       // overlong LF
  check_safe("\xf0\x9f\x9a", 3, "???");  // cut short
  check_safe("\xe2\x82\nx", 4, "???x");  // a bad start does not swallow what follows
}

static void the_first_line_of_an_http_request_is_known(void **state) {
  (void)state;
  const char *requests[] = {"GET / HTTP/1.1", "POST /a b HTTP/1.0", "X * HTTP/1.9"};
  const char *others[] = {"",
                          "GET",
                          "GET /",
                          "GET / HTTP/2.0",
                          "GET / HTTP/1.",
                          "GET / HTTP/1.1 ",
                          "get / HTTP/1.1",
                          "GET HTTP/1.1",
                          " HTTP/1.1",
                          "/join / HTTP/1.1"};
  for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
    assert_true(line_is_http_request(requests[i], strlen(requests[i])));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    assert_false(line_is_http_request(others[i], strlen(others[i])));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_plain_line_is_kept_as_it_is),
      TEST(names_may_contain_spaces_and_are_trimmed),
      TEST(commands_without_operands_ignore_the_rest),
      TEST(join_with_has_a_name_and_an_object),
      TEST(send_has_a_name_and_its_json),
      TEST(a_command_without_its_word_is_incomplete),
      TEST(other_commands_are_unknown_by_name),
      TEST(a_line_of_no_bytes_is_plain),
      TEST(a_line_may_hold_zeros),
      TEST(safe_text_is_left_alone),
      TEST(no_line_can_be_forged),
      TEST(no_line_can_be_forged_for_readers_who_know_other_ends_of_line),
      TEST(a_name_cannot_be_taken_for_more_than_a_name),
      TEST(no_terminal_sequence_gets_through),
      TEST(bytes_that_are_not_utf8_are_replaced_one_by_one),
      TEST(the_first_line_of_an_http_request_is_known),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
