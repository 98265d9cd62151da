// Requests that are read, and requests that are refused because two readers could
// understand them differently.
#include "wire/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"

static int read_bytes(const char *text, size_t size, HttpRequest *request) {
  char *copy = mem_alloc(size);  // has exactly its size, for ASan
  memcpy(copy, text, size);
  int result = http_read_request(copy, size, request);
  mem_free(copy);
  return result;
}

static int status_of(const char *text) {
  HttpRequest request;
  return read_bytes(text, strlen(text), &request);
}

#define HOST "Host: a\r\n"
#define GET(fields) "GET / HTTP/1.1\r\n" HOST fields "\r\n"

static void a_request_is_read_field_by_field(void **state) {
  (void)state;
  const char *text =
      "GET /a/b?c=d HTTP/1.1\r\nHost: example.org:80\r\nX-Empty:\r\n"
      "Accept: \t text/html, */* \t\r\n\r\nrest";
  HttpRequest request;
  assert_int_equal(http_read_request(text, strlen(text), &request), strlen(text) - 4);
  assert_int_equal(request.method, METHOD_GET);
  assert_true(request.keeps_alive);
  assert_false(request.is_old || request.has_body);
  assert_true(http_is_text(request.target, "/a/b?c=d"));
  assert_int_equal(request.field_count, 3);
  assert_true(http_is_text(*http_field(&request, "HOST"), "example.org:80"));
  assert_true(http_is_text(*http_field(&request, "x-empty"), ""));
  assert_true(http_is_text(*http_field(&request, "accept"), "text/html, */*"));
  assert_null(http_field(&request, "cookie"));
}

static void it_may_be_split_at_every_byte(void **state) {
  (void)state;
  const char *text = GET("Accept: */*\r\n");
  HttpRequest request;
  for (size_t size = 0; size < strlen(text); size++)
    assert_int_equal(read_bytes(text, size, &request), 0);
  assert_int_equal(read_bytes(text, strlen(text), &request), strlen(text));
}

static void what_keeps_the_connection(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool keeps_alive, is_old;
  } CASES[] = {
      {GET(""), true, false},
      {GET("Connection: close\r\n"), false, false},
      {GET("Connection: Upgrade, CLOSE\r\n"), false, false},
      {"GET / HTTP/1.0\r\n\r\n", false, true},
      {"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true, true},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    HttpRequest request;
    const char *text = CASES[i].text;
    assert_int_equal(http_read_request(text, strlen(text), &request), strlen(text));
    assert_int_equal(request.keeps_alive, CASES[i].keeps_alive);
    assert_int_equal(request.is_old, CASES[i].is_old);
  }
}

static void methods(void **state) {
  (void)state;
  HttpRequest request;
  const char *head = "HEAD / HTTP/1.1\r\n" HOST "\r\n";
  assert_true(http_read_request(head, strlen(head), &request) > 0);
  assert_int_equal(request.method, METHOD_HEAD);
  const char *post = "POST / HTTP/1.1\r\n" HOST "\r\n";
  assert_true(http_read_request(post, strlen(post), &request) > 0);
  assert_int_equal(request.method, METHOD_POST);
  const char *delete = "DELETE / HTTP/1.1\r\n" HOST "\r\n";
  assert_true(http_read_request(delete, strlen(delete), &request) > 0);
  assert_int_equal(request.method, METHOD_DELETE);
  static const char *const OTHERS[] = {
      "PUT / HTTP/1.1\r\n" HOST "\r\n", "OPTIONS * HTTP/1.1\r\n" HOST "\r\n",
      "CONNECT a:80 HTTP/1.1\r\n" HOST "\r\n", "TRACE / HTTP/1.1\r\n" HOST "\r\n"};
  for (size_t i = 0; i < sizeof OTHERS / sizeof *OTHERS; i++) {
    assert_true(http_read_request(OTHERS[i], strlen(OTHERS[i]), &request) > 0);
    assert_int_equal(request.method, METHOD_OTHER);
  }
  assert_int_equal(status_of("BREW / HTTP/1.1\r\n" HOST "\r\n"), -405);
  assert_int_equal(status_of("Get / HTTP/1.1\r\n" HOST "\r\n"), -400);
}

static void what_is_ambiguous_is_refused(void **state) {
  (void)state;
  static const char *const CASES[] = {
      // ends of lines
      "GET / HTTP/1.1\n" HOST "\r\n",
      "GET / HTTP/1.1\r\nHost: a\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\n\n",
      "GET / HTTP/1.1\rHost: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n",
      "\r\nGET / HTTP/1.1\r\n" HOST "\r\n",
      // folded lines
      GET(" folded: b\r\n"),
      GET("X: a\r\n b\r\n"),
      GET("X: a\r\n\tb\r\n"),
      // Host
      "GET / HTTP/1.1\r\n\r\n",
      GET(HOST),
      GET("Host: b\r\n"),
      "GET / HTTP/1.1\r\nHost:\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: <b>\r\n\r\n",
      // lengths
      GET("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n"),
      GET("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
      GET("Content-Length: 1\r\nContent-Length: 1\r\n"),
      GET("Content-Length: 1\r\nContent-Length: 2\r\n"),
      GET("Content-Length: -1\r\n"),
      GET("Content-Length: +1\r\n"),
      GET("Content-Length: 0x10\r\n"),
      GET("Content-Length: 1, 1\r\n"),
      GET("Content-Length: 99999999999999999999999\r\n"),
      // names
      GET("Bad Name: a\r\n"),
      GET("Name : a\r\n"),
      GET(": a\r\n"),
      GET("Name\r\n"),
      GET("N\x80: a\r\n"),
      GET("N(): a\r\n"),
      // values
      GET("X: a\x01\r\n"),
      GET("X: a\x7f\r\n"),
      GET("Origin: http://a\r\nOrigin: http://b\r\n"),
      GET("Sec-WebSocket-Key: a\r\nSec-WebSocket-Key: a\r\n"),
      // the request line
      "GET  / HTTP/1.1\r\n" HOST "\r\n",
      "GET /  HTTP/1.1\r\n" HOST "\r\n",
      "GET\t/ HTTP/1.1\r\n" HOST "\r\n",
      "GET / HTTP/1.1 \r\n" HOST "\r\n",
      "GET /\r\n" HOST "\r\n",
      "GET HTTP/1.1\r\n" HOST "\r\n",
      "GET\r\n\r\n",
      "GET / a HTTP/1.1\r\n" HOST "\r\n",
      "GET a HTTP/1.1\r\n" HOST "\r\n",
      "GET http://a/ HTTP/1.1\r\n" HOST "\r\n",
      "GET * HTTP/1.1\r\n" HOST "\r\n",
      "GET /\xc3\xa4 HTTP/1.1\r\n" HOST "\r\n",
      // versions
      "GET / HTTP/0.9\r\n" HOST "\r\n",
      "GET / HTTP/1.2\r\n" HOST "\r\n",
      "GET / HTTP/2.0\r\n" HOST "\r\n",
      "GET / HTTP/11.1\r\n" HOST "\r\n",
      "GET / HTTP/1.10\r\n" HOST "\r\n",
      "GET / http/1.1\r\n" HOST "\r\n",
      "GET / HTTQ/1.1\r\n" HOST "\r\n",
      "GET / ICE/1.0\r\n" HOST "\r\n",
      "GET / HTTP/1\r\n" HOST "\r\n",
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
    if (status_of(CASES[i]) != -400)
      fail_msg("not refused with 400 but %d: %s", status_of(CASES[i]), CASES[i]);
}

static void nul_is_refused_wherever_it_is(void **state) {
  (void)state;
  const char text[] = GET("X: abc\r\n");
  for (size_t at = 0; at + 1 < sizeof text; at++) {
    char copy[sizeof text];
    HttpRequest request;
    memcpy(copy, text, sizeof text);
    copy[at] = '\0';
    assert_int_equal(read_bytes(copy, sizeof text - 1, &request), -400);
  }
}

static void bad_bytes_are_refused_as_they_come(void **state) {
  (void)state;
  assert_int_equal(status_of("GET / HTTP/1.1\n"), -400);
  assert_int_equal(status_of("GET / HTTP/1.1\r\nX: a\r\n "), -400);
  assert_int_equal(status_of("GET / HTTP/1.1\r\nX: \x01"), -400);
}

static void bodies_are_seen(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool has_body;
  } CASES[] = {
      {GET("Content-Length: 0\r\n"), false},
      {GET("Content-Length: 5\r\n"), true},
      {GET("Transfer-Encoding: chunked\r\n"), true},
      {GET("Transfer-Encoding: gzip, chunked\r\n"), true},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
    HttpRequest request;
    assert_true(http_read_request(CASES[i].text, strlen(CASES[i].text), &request) > 0);
    assert_int_equal(request.has_body, CASES[i].has_body);
  }
}

static void limits(void **state) {
  (void)state;
  Buf buf = {0};
  buf_printf(&buf, "GET /%0*d HTTP/1.1\r\n" HOST "\r\n", HTTP_TARGET_MAX - 1, 0);
  HttpRequest request;
  assert_true(http_read_request((char *)buf.data, buf.size, &request) > 0);
  buf.size = 0;
  buf_printf(&buf, "GET /%0*d HTTP/1.1\r\n" HOST "\r\n", HTTP_TARGET_MAX, 0);
  assert_int_equal(http_read_request((char *)buf.data, buf.size, &request), -414);
  buf.size = 0;
  buf_printf(&buf, "GET /%0*d", 3000, 0);  // the line never ends
  assert_int_equal(http_read_request((char *)buf.data, buf.size, &request), -414);

  for (int count = HTTP_FIELDS_MAX - 1; count <= HTTP_FIELDS_MAX; count++) {
    buf.size = 0;
    buf_printf(&buf, "GET / HTTP/1.1\r\n" HOST);
    for (int i = 0; i < count; i++) buf_printf(&buf, "X: %d\r\n", i);
    buf_printf(&buf, "\r\n");
    int result = http_read_request((char *)buf.data, buf.size, &request);
    assert_int_equal(result, count < HTTP_FIELDS_MAX ? (int)buf.size : -431);
  }

  for (int over = 0; over <= 1; over++) {
    buf.size = 0;
    buf_printf(&buf, "GET / HTTP/1.1\r\n" HOST "X: ");
    int size = HTTP_HEAD_MAX - (int)buf.size - 4 + over;
    buf_printf(&buf, "%0*d\r\n\r\n", size, 0);
    int result = http_read_request((char *)buf.data, buf.size, &request);
    assert_int_equal(result, over ? -431 : HTTP_HEAD_MAX);
  }
  buf_deinit(&buf);
}

static void tokens_in_lists(void **state) {
  (void)state;
  const char *text = GET(
      "Connection: keep-alive, \t Upgrade\r\nConnection: x\r\nUpgrade:websocket\r\n");
  HttpRequest request;
  assert_true(http_read_request(text, strlen(text), &request) > 0);
  assert_true(http_has_token(&request, "connection", "upgrade"));
  assert_true(http_has_token(&request, "connection", "X"));
  assert_true(http_has_token(&request, "upgrade", "WebSocket"));
  assert_false(http_has_token(&request, "connection", "up"));
  assert_false(http_has_token(&request, "accept", "x"));
}

static void origins(void **state) {
  (void)state;
  static const struct {
    const char *origin, *host;
    bool is_same;
  } CASES[] = {
      {"http://a:7777", "a:7777", true},
      {"https://a", "a", true},
      {"https://A.b", "a.B", true},
      {"https://a:443", "a", true},
      {"https://a", "a:443", true},
      {"http://a", "a:80", true},
      {"http://[::1]:7", "[::1]:7", true},
      {"http://a", "a:443", false},
      {"http://a:7777", "a:7778", false},
      {"http://a", "b", false},
      {"http://a.b", "b", false},
      {"http://b", "a.b", false},
      {"null", "null", false},
      {"", "", false},
      {"http://", "", false},
      {"file://a", "a", false},
      {"http://a/", "a", false},
      {"http://a@b", "b", false},
      {"http://b.evil", "b", false},
  };
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
    assert_int_equal(
        http_is_same_origin(text_from(CASES[i].origin), text_from(CASES[i].host)),
        CASES[i].is_same);
  assert_true(http_is_listed_origin(text_from("https://a"), "https://b, https://a"));
  assert_true(http_is_listed_origin(text_from("null"), "*"));
  assert_false(http_is_listed_origin(text_from("https://a.c"), "https://a"));
  assert_false(http_is_listed_origin(text_from("https://a"), ""));
  assert_false(http_is_listed_origin(text_from(""), "https://a,"));
}

static void origins_that_no_page_has(void **state) {
  (void)state;
  static const char *const GOOD[] = {"",
                                     "*",
                                     "null",
                                     "https://a.example",
                                     "http://a:7777, https://[::1]:1,",
                                     "chrome-extension://abc"};
  static const char *const BAD[] = {
      "a.example", "https://a.example/", "https://a/b", "https://",
      "://a",      "https://a b",        "https:/a",    "https://me@a",
      "**",        "https://*.a.example"};
  Text bad;
  for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++)
    assert_false(http_find_bad_origin(GOOD[i], &bad));
  for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
    char list[64];
    snprintf(list, sizeof list, "https://good , %s, *", BAD[i]);
    assert_true(http_find_bad_origin(list, &bad));
    assert_int_equal(bad.size, strlen(BAD[i]));
    assert_memory_equal(bad.bytes, BAD[i], bad.size);
  }
}

static void heads_of_answers(void **state) {
  (void)state;
  Buf buf = {0};
  http_put_status(&buf, 404);
  http_put_field(&buf, "Content-Length", "%d", 5);
  http_put_end(&buf);
  buf_u8(&buf, 0);
  assert_string_equal((char *)buf.data,
                      "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\n");
  // The longest possible field, a Location, is written completely.
  char target[HTTP_TARGET_MAX + 2];
  memset(target, 'a', sizeof target - 1);
  target[sizeof target - 1] = '\0';
  buf.size = 0;
  http_put_field(&buf, "Location", "%s", target);
  assert_int_equal(buf.size, strlen("Location: \r\n") + sizeof target - 1);
  assert_string_equal(http_reason(431), "Request Header Fields Too Large");
  assert_string_equal(http_reason(999), "Unknown");
  buf_deinit(&buf);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_request_is_read_field_by_field),
      cmocka_unit_test(it_may_be_split_at_every_byte),
      cmocka_unit_test(what_keeps_the_connection),
      cmocka_unit_test(methods),
      cmocka_unit_test(what_is_ambiguous_is_refused),
      cmocka_unit_test(nul_is_refused_wherever_it_is),
      cmocka_unit_test(bad_bytes_are_refused_as_they_come),
      cmocka_unit_test(bodies_are_seen),
      cmocka_unit_test(limits),
      cmocka_unit_test(tokens_in_lists),
      cmocka_unit_test(origins),
      cmocka_unit_test(origins_that_no_page_has),
      cmocka_unit_test(heads_of_answers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
