// Bodies with a length and in chunks, read at once and byte by byte.
#include "wire/http_body.h"

#include <string.h>

#include "expect.h"

#define HEAD "POST / HTTP/1.1\r\nHost: a\r\n"

static int begin(HttpBody *body, const char *head, uint32_t limit) {
  HttpRequest request;
  int taken = http_read_request(head, strlen(head), &request);
  if (taken <= 0) return taken;
  return http_body_begin(body, &request, limit);
}

// Reads all of `bytes` in pieces of `step`; returns the number of used bytes, or the
// refusal.
static int64_t read_all(const char *head, const char *bytes, size_t step, Buf *out) {
  HttpBody body;
  size_t size = strlen(bytes), used = 0;
  assert_int_equal(begin(&body, head, 100), 0);
  while (used < size && !body.is_done) {
    size_t count = size - used < step ? size - used : step;
    int64_t taken = http_body_read(&body, bytes + used, count, out);
    if (taken < 0) return taken;
    used += (size_t)taken;
  }
  return body.is_done ? (int64_t)used : 0;
}

static void check(const char *head, const char *bytes, int64_t used, const char *text) {
  static const size_t STEPS[] = {1, 2, 3, 7, 1000};
  for (size_t i = 0; i < sizeof STEPS / sizeof *STEPS; i++) {
    Buf out = {0};
    assert_int_equal(read_all(head, bytes, STEPS[i], &out), used);
    if (used > 0) {
      assert_int_equal(out.size, strlen(text));
      assert_memory_equal(out.data, text, out.size);
    }
    buf_deinit(&out);
  }
}

#define CHUNKED HEAD "Transfer-Encoding: chunked\r\n\r\n"

static void lengths(void **state) {
  (void)state;
  check(HEAD "Content-Length: 5\r\n\r\n", "hello and more", 5, "hello");
  check(HEAD "Content-Length: 100\r\n\r\n", "too short", 0, "");
  HttpBody body;
  assert_int_equal(begin(&body, HEAD "\r\n", 100), 0);
  assert_true(body.is_done);
  assert_int_equal(begin(&body, HEAD "Content-Length: 0\r\n\r\n", 100), 0);
  assert_true(body.is_done);
  assert_int_equal(begin(&body, HEAD "Content-Length: 100\r\n\r\n", 100), 0);
  assert_int_equal(begin(&body, HEAD "Content-Length: 101\r\n\r\n", 100), -413);
  assert_int_equal(begin(&body, HEAD "Content-Length: 4294967297\r\n\r\n", 100), -413);
}

static void chunks(void **state) {
  (void)state;
  check(CHUNKED, "5\r\nhello\r\n0\r\n\r\n", 15, "hello");
  check(CHUNKED, "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\nPOST", 21, "hello!");
  check(CHUNKED, "0a\r\n0123456789\r\n000\r\n\r\n", 23, "0123456789");
  check(CHUNKED, "A\r\n0123456789\r\n0\r\n\r\n", 20, "0123456789");
  check(CHUNKED, "5\r\nhel", 0, "");
}

static void bad_chunks(void **state) {
  (void)state;
  static const char *const BAD[] = {
      "\r\n",         "x\r\n",          "5\nhello",          "5\rhello",
      " 5\r\nhello",  "5;a=b\r\nhello", "-5\r\nhello",       "0x5\r\nhello",
      "1\r\nab",      "1\r\na\n",       "0\r\nX: y\r\n\r\n", "1\r\na\r\r\n",
      "0\r\n\rx\r\n",
  };
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
    check(CHUNKED, BAD[i], -400, "");
  check(CHUNKED, "65\r\n", -413, "");
  check(CHUNKED, "fffffffff\r\n", -413, "");
  check(CHUNKED,
        "64\r\n"
        "0123456789012345678901234567890123456789012345678901234567890123456789"
        "012345678901234567890123456789\r\n1\r\n",
        -413, "");
}

static void codings(void **state) {
  (void)state;
  HttpBody body;
  assert_int_equal(begin(&body, HEAD "Transfer-Encoding: gzip\r\n\r\n", 9), -501);
  assert_int_equal(begin(&body, HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n", 9),
                   -501);
  assert_int_equal(
      begin(&body,
            HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 9),
      -400);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lengths),
      cmocka_unit_test(chunks),
      cmocka_unit_test(bad_chunks),
      cmocka_unit_test(codings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
