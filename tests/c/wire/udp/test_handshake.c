// The connection protocol: bytes as in docs/protocol.md, refusals, and the order of the
// server's checks.
#include "wire/udp/handshake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static const uint8_t KEY[32] = {1, 2, 3}, PROOF[32] = {4, 5}, SECRET[32] = {6};
static const UdpOrigin ORIGIN = {.port = 1};

enum { HASH = 42, NOW_US = 1000000000 };

typedef struct Datagram {
  uint8_t bytes[UDP_REQUEST_MAX];
  size_t size;
} Datagram;

static UdpExtension alone(const uint8_t *cookie) {
  return (UdpExtension){.cookie = cookie, .client_key = KEY};
}

static UdpExtension attached(const uint8_t *cookie) {
  return (UdpExtension){.flags = UDP_ATTACH,
                        .cookie = cookie,
                        .client_key = KEY,
                        .peer = 0x01020304,
                        .proof = PROOF};
}

static Datagram request_of(const UdpExtension *extension) {
  Datagram datagram;
  datagram.size = udp_write_request(datagram.bytes, HASH, 0x1234, extension);
  return datagram;
}

static const UdpCookies *cookies(void) {
  static UdpCookies all;
  udp_cookies_init(&all, SECRET, NOW_US);
  return &all;
}

static const uint8_t *good_cookie(void) {
  static uint8_t cookie[UDP_COOKIE_SIZE];
  udp_cookie_make(cookies(), &ORIGIN, HASH, cookie);
  return cookie;
}

static void a_request_has_the_bytes_of_the_page(void **state) {
  (void)state;
  const UdpExtension extension = attached(SECRET);
  const Datagram request = request_of(&extension);
  uint8_t expected[129] = {0};
  uint8_t *at = expected + 4;
  memcpy(at, "PERIGEE", 8), at += 8;
  *at = 1, at += 4;
  *at = HASH, at += 8;
  *at++ = 0x34, *at++ = 0x12;
  *at++ = 102;
  *at++ = 1, *at++ = UDP_ATTACH;
  memcpy(at, SECRET, 32), at += 32;
  memcpy(at, KEY, 32), at += 32;
  *at++ = 4, *at++ = 3, *at++ = 2, *at++ = 1;
  memcpy(at, PROOF, 32), at += 32;
  assert_int_equal(at - expected, sizeof expected);
  assert_int_equal(request.size, sizeof expected);
  assert_memory_equal(request.bytes, expected, sizeof expected);
}

static void a_request_is_read_as_written(void **state) {
  (void)state;
  const UdpExtension written = attached(SECRET);
  const Datagram datagram = request_of(&written);
  UdpRequest request;
  UdpExtension read;
  assert_int_equal(udp_read_request(datagram.bytes, datagram.size, &request), 0);
  assert_int_equal(request.version, 1);
  assert_int_equal(request.hash, HASH);
  assert_int_equal(request.sequence, 0x1234);
  assert_int_equal(udp_read_extension(&request, &read), 0);
  assert_int_equal(read.flags, UDP_ATTACH);
  assert_memory_equal(read.cookie, SECRET, 32);
  assert_memory_equal(read.client_key, KEY, 32);
  assert_int_equal(read.peer, 0x01020304);
  assert_memory_equal(read.proof, PROOF, 32);
}

static void no_answer_to_what_is_no_request(void **state) {
  (void)state;
  const UdpExtension extension = alone(NULL);
  Datagram good = request_of(&extension);
  UdpRequest request;
  for (size_t size = 0; size < good.size; size++)
    assert_int_equal(udp_read_request(good.bytes, size, &request), ERR_MALFORMED);
  for (size_t at = 0; at < 12; at++) {  // zeros, type, transport id
    Datagram bad = good;
    bad.bytes[at] ^= 0x10;
    assert_int_equal(udp_read_request(bad.bytes, bad.size, &request), ERR_MALFORMED);
  }
  Datagram longer = good;
  longer.bytes[longer.size++] = 0;
  assert_int_equal(udp_read_request(longer.bytes, longer.size, &request),
                   ERR_MALFORMED);
}

static UdpAnswerType judge(const Datagram *datagram, UdpDoor door, UdpFault *fault) {
  UdpRequest request;
  UdpExtension extension;
  door.cookies = cookies();
  *fault = (UdpFault){0};
  assert_int_equal(udp_read_request(datagram->bytes, datagram->size, &request), 0);
  return udp_judge(&door, &request, &ORIGIN, &extension, fault);
}

static void expect_judged(const Datagram *datagram, UdpDoor door,
                          UdpAnswerType expected) {
  UdpFault fault;
  assert_int_equal(judge(datagram, door, &fault), expected);
}

// Expects a refusal. Its answer has the whole text of the rule, even if the request was
// short.
static void expect_rejected(const Datagram *datagram, UdpDoor door, Code expected,
                            const char *rule) {
  UdpFault fault;
  uint8_t out[UDP_ANSWER_MAX];
  UdpAnswer read;
  assert_int_equal(judge(datagram, door, &fault), UDP_REJECTED);
  assert_int_equal(fault.code, expected);
  const UdpAnswer answer = {
      .type = UDP_REJECTED, .code = fault.code, .text = fault.text};
  size_t size = udp_write_answer(out, datagram->size, &answer);
  assert_true(size <= datagram->size);
  assert_int_equal(udp_read_answer(out, size, &read), 0);
  assert_true(read.text_size >= strlen(rule));
  assert_memory_equal(read.text, rule, strlen(rule));
}

static const UdpDoor OPEN = {.is_hash_good = true, .allows_plain = true};

static void faults_are_found_in_their_order(void **state) {
  (void)state;
  UdpExtension extension = alone(good_cookie());
  extension.flags = UDP_PLAIN;
  Datagram datagram = request_of(&extension);
  expect_judged(&datagram, OPEN, UDP_ACCEPTED);
  expect_rejected(&datagram, (UdpDoor){.is_hash_good = true}, CODE_UNSUPPORTED,
                  "PLAIN is not allowed here: seal, or run the server with udp_plain");
  datagram.bytes[28] |= 4;  // an unknown flag
  expect_rejected(&datagram, OPEN, CODE_UNSUPPORTED,
                  "unknown flags in the extension: 1 (ATTACH) and 2 (PLAIN) are all");
  datagram.bytes[28] = 0;
  datagram.bytes[27] = 2;  // another version of the extension
  expect_rejected(&datagram, OPEN, CODE_UNSUPPORTED,
                  "version 1 of the extension is served");
  datagram.bytes[30] ^= 1;  // the cookie
  expect_judged(&datagram, OPEN, UDP_CHALLENGE);
  datagram.size = 63;
  datagram.bytes[26] = 63 - UDP_REQUEST_HEAD;
  expect_rejected(&datagram, OPEN, CODE_UNSUPPORTED, "pad requests to 64 bytes: no");
  expect_rejected(&datagram, (UdpDoor){0}, CODE_HASH_MISMATCH,
                  "not this server's protocol hash: send that");
  datagram.bytes[12] = 2;  // another transport version
  expect_rejected(&datagram, (UdpDoor){0}, CODE_VERSION_MISMATCH,
                  "version 1 of the UDP transport is served");
}

static void an_extension_has_all_its_fields(void **state) {
  (void)state;
  const UdpExtension extension = attached(good_cookie());
  Datagram datagram = request_of(&extension);
  expect_judged(&datagram, OPEN, UDP_ACCEPTED);
  datagram.bytes[26]--;
  datagram.size--;
  expect_rejected(&datagram, OPEN, CODE_UNSUPPORTED,
                  "an extension with ATTACH has 102 bytes at least");
  datagram.bytes[28] = 0;  // alone, and longer than necessary
  expect_judged(&datagram, OPEN, UDP_ACCEPTED);
  datagram.size = UDP_REQUEST_HEAD + UDP_EXTENSION_ALONE - 1;
  datagram.bytes[26] = UDP_EXTENSION_ALONE - 1;
  expect_rejected(&datagram, OPEN, CODE_UNSUPPORTED,
                  "an extension has 66 bytes at least");
}

static void no_cookie_is_challenged(void **state) {
  (void)state;
  const UdpExtension extension = alone(NULL);
  Datagram datagram = request_of(&extension);
  expect_judged(&datagram, OPEN, UDP_CHALLENGE);
  datagram.size = 64;  // long enough for an answer
  datagram.bytes[26] = 64 - UDP_REQUEST_HEAD;
  expect_judged(&datagram, OPEN, UDP_CHALLENGE);
  datagram.size = 27;
  datagram.bytes[26] = 0;
  expect_rejected(&datagram, OPEN, CODE_UNSUPPORTED, "pad requests to 64 by");
}

static size_t write(const UdpAnswer *answer, size_t request_size, uint8_t *out,
                    UdpAnswer *read) {
  size_t size = udp_write_answer(out, request_size, answer);
  assert_true(size <= request_size);
  assert_int_equal(udp_read_answer(out, size, read), 0);
  assert_int_equal(read->type, answer->type);
  for (size_t less = 0; less < size && answer->type != UDP_REJECTED; less++) {
    UdpAnswer cut;
    if (less == 8 && answer->server_key) continue;  // has this length when attached
    assert_int_equal(udp_read_answer(out, less, &cut), ERR_MALFORMED);
  }
  return size;
}

static void answers_are_read_as_written(void **state) {
  (void)state;
  uint8_t out[UDP_ANSWER_MAX];
  UdpAnswer read, answer = {.type = UDP_ACCEPTED, .sequence = 0x1234, .port = 7778};
  assert_int_equal(write(&answer, 129, out, &read), 8);
  assert_memory_equal(out, "\0\0\0\1\x34\x12\x62\x1e", 8);
  assert_int_equal(read.sequence, 0x1234);
  assert_int_equal(read.port, 7778);
  assert_null(read.server_key);
  answer.server_key = KEY;
  assert_int_equal(write(&answer, 93, out, &read), 41);
  assert_int_equal(out[8], 32);
  assert_memory_equal(read.server_key, KEY, 32);
  answer = (UdpAnswer){.type = UDP_CHALLENGE, .cookie = SECRET};
  assert_int_equal(write(&answer, 64, out, &read), 36);
  assert_memory_equal(read.cookie, SECRET, 32);
}

static void a_reason_is_cut_to_the_size_of_the_request(void **state) {
  (void)state;
  uint8_t out[UDP_ANSWER_MAX];
  UdpAnswer read, answer = {.type = UDP_REJECTED, .code = CODE_SERVER_FULL};
  answer.text = "no room";
  assert_int_equal(write(&answer, 64, out, &read), 13);
  assert_memory_equal(out, "\0\0\0\2\x08\0no room", 13);
  assert_int_equal(read.code, CODE_SERVER_FULL);
  assert_int_equal(read.text_size, 7);
  answer.text = "0123456789012345678\xc3\xa4\xc3\xb6";  // 27 - 6 = 21 bytes fit
  assert_int_equal(write(&answer, 27, out, &read), 27);
  answer.text = "01234567890123456789\xc3\xa4\xc3\xb6";
  assert_int_equal(write(&answer, 27, out, &read), 26);
}

static void unavailable_has_the_seconds_to_wait_behind_its_text(void **state) {
  (void)state;
  uint8_t out[UDP_ANSWER_MAX];
  UdpAnswer read,
      answer = {.type = UDP_REJECTED, .code = CODE_UNAVAILABLE, .retry_s = 300};
  answer.text = "no";
  assert_int_equal(write(&answer, 64, out, &read), 10);
  assert_memory_equal(out, "\0\0\0\2\x18\0no\x2c\1", 10);
  assert_int_equal(read.text_size, 2);
  assert_memory_equal(read.text, "no", 2);
  assert_int_equal(read.retry_s, 300);
  answer.text = "01234567890123456789";  // 27 - 6 - 2 = 19 bytes fit
  assert_int_equal(write(&answer, 27, out, &read), 27);
  assert_int_equal(read.text_size, 19);
  assert_int_equal(read.retry_s, 300);
}

static void other_answers_are_malformed(void **state) {
  (void)state;
  UdpAnswer read;
  assert_int_equal(udp_read_answer((const uint8_t *)"\0\0\0\0\0", 5, &read),
                   ERR_MALFORMED);
  assert_int_equal(udp_read_answer((const uint8_t *)"\0\0\0\4\0", 5, &read),
                   ERR_MALFORMED);
  assert_int_equal(udp_read_answer((const uint8_t *)"\0\0\1\1\1\1\1\1", 8, &read),
                   ERR_MALFORMED);
  assert_int_equal(udp_read_answer((const uint8_t *)"\0\0\0\2\1", 5, &read),
                   ERR_MALFORMED);
  assert_int_equal(udp_read_answer((const uint8_t *)"\0\0\0\2\x18\0\1", 7, &read),
                   ERR_MALFORMED);
}

int main(void) {
  if (udp_keys_init() < 0) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_request_has_the_bytes_of_the_page),
      cmocka_unit_test(a_request_is_read_as_written),
      cmocka_unit_test(no_answer_to_what_is_no_request),
      cmocka_unit_test(faults_are_found_in_their_order),
      cmocka_unit_test(an_extension_has_all_its_fields),
      cmocka_unit_test(no_cookie_is_challenged),
      cmocka_unit_test(answers_are_read_as_written),
      cmocka_unit_test(a_reason_is_cut_to_the_size_of_the_request),
      cmocka_unit_test(unavailable_has_the_seconds_to_wait_behind_its_text),
      cmocka_unit_test(other_answers_are_malformed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
