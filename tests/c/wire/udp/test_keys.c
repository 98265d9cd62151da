// Keys, proofs and encryption, compared with the results of other implementations
// (BLAKE2b of CPython's hashlib, the rest of Node's crypto). Cookies, by their purpose.
#include "wire/udp/keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const uint64_t SECOND = 1000000;

// Returns 32 bytes that count up from `first`.
static const uint8_t *bytes_from(uint8_t first) {
  static uint8_t bytes[8][32];
  uint8_t *out = bytes[first / 32];
  for (int i = 0; i < 32; i++) out[i] = (uint8_t)(first + i);
  return out;
}

static void expect_hex(const uint8_t *bytes, size_t size, const char *hex) {
  assert_int_equal(strlen(hex), 2 * size);
  for (size_t i = 0; i < size; i++) {
    char two[3];
    snprintf(two, sizeof two, "%02x", bytes[i]);
    assert_memory_equal(two, hex + 2 * i, 2);
  }
}

static void keys_are_as_the_page_says(void **state) {
  (void)state;
  UdpAgreement agreement = {
      .secret = bytes_from(0), .cookie = bytes_from(32), .client_key = bytes_from(64)};
  UdpKeys client, server;
  udp_keys_derive(&client, UDP_CLIENT, &agreement);
  expect_hex(client.send, 32,
             "425e83de3e89cffcb9529866cbbfdeb79c545d796771957c33d6298b47abddc8");
  expect_hex(client.receive, 32,
             "21a44f7858e28c98311aa7309767bbbe7a57600906a02ba4cfd72571e1344ceb");
  expect_hex(client.channel, 3, "e3aefe");
  agreement.server_key = bytes_from(96);
  udp_keys_derive(&client, UDP_CLIENT, &agreement);
  udp_keys_derive(&server, UDP_SERVER, &agreement);
  expect_hex(client.send, 32,
             "b1d71ade3cdda4ebbc72e199893bfde361e8d3417a8fc30d0b97515c2793f8fb");
  expect_hex(client.receive, 32,
             "fb069399c509426a8eec7f3ba5ea782a8ff2622b38b9dbe70df46db571966517");
  expect_hex(client.channel, 3, "e2aaf5");
  assert_memory_equal(client.send, server.receive, 32);
  assert_memory_equal(client.receive, server.send, 32);
  assert_memory_equal(client.channel, server.channel, 3);
}

static void a_proof_is_of_its_key_cookie_and_client(void **state) {
  (void)state;
  uint8_t proof[32];
  udp_proof(bytes_from(0), bytes_from(32), bytes_from(64), proof);
  expect_hex(proof, 32,
             "9014330525af1b24fd279a0cc2a87c8f81fe89f611fd997f0e4d3975c4ac1e41");
  assert_true(udp_proof_is_good(bytes_from(0), bytes_from(32), bytes_from(64), proof));
  assert_false(
      udp_proof_is_good(bytes_from(32), bytes_from(32), bytes_from(64), proof));
  assert_false(udp_proof_is_good(bytes_from(0), bytes_from(64), bytes_from(64), proof));
  assert_false(udp_proof_is_good(bytes_from(0), bytes_from(32), bytes_from(32), proof));
  proof[31] ^= 1;
  assert_false(udp_proof_is_good(bytes_from(0), bytes_from(32), bytes_from(64), proof));
}

static void both_sides_share_a_secret(void **state) {
  (void)state;
  uint8_t ann[32], bob[32], shared[32];
  udp_public_key(bytes_from(0), ann);
  udp_public_key(bytes_from(32), bob);
  expect_hex(ann, 32,
             "8f40c5adb68f25624ae5b214ea767a6ec94d829d3d7b5e1ad1ba6f3e2138285f");
  expect_hex(bob, 32,
             "358072d6365880d1aeea329adf9121383851ed21a28e3b75e965d0d2cd166254");
  assert_true(udp_shared_secret(bytes_from(0), bob, shared));
  expect_hex(shared, 32,
             "9663aa1da97e848a914a436d04163dfbb89178f107f1b5b77ed3854203382854");
  assert_true(udp_shared_secret(bytes_from(32), ann, shared));
  expect_hex(shared, 32,
             "9663aa1da97e848a914a436d04163dfbb89178f107f1b5b77ed3854203382854");
}

static void points_of_small_order_give_no_secret(void **state) {
  (void)state;
  uint8_t point[32] = {0}, shared[32];
  assert_false(udp_shared_secret(bytes_from(0), point, shared));
  point[0] = 1;
  assert_false(udp_shared_secret(bytes_from(0), point, shared));
}

// Decrypts a copy; returns whether that succeeds.
static bool opens(const uint8_t *key, uint64_t number, const uint8_t *head,
                  size_t head_size, const uint8_t sealed[7 + UDP_TAG_SIZE]) {
  uint8_t bytes[7 + UDP_TAG_SIZE];
  memcpy(bytes, sealed, sizeof bytes);
  if (!udp_open(key, number, head, head_size, bytes, 7)) return false;
  assert_memory_equal(bytes, "perigee", 7);
  return true;
}

static void what_is_sealed_opens_with_its_number_alone(void **state) {
  (void)state;
  const uint8_t head[] = {9, 8, 7, 5, 0};
  uint8_t bytes[7 + UDP_TAG_SIZE] = "perigee";
  udp_seal(bytes_from(0), 65536 + 5, head, sizeof head, bytes, 7);
  expect_hex(bytes, sizeof bytes, "4547991d9503a8d37f4bdf3de9ca461ffcdc138014f68f");
  assert_true(opens(bytes_from(0), 65536 + 5, head, sizeof head, bytes));
  assert_false(opens(bytes_from(0), 5, head, sizeof head, bytes));
  assert_false(opens(bytes_from(32), 65536 + 5, head, sizeof head, bytes));
  assert_false(opens(bytes_from(0), 65536 + 5, head, sizeof head - 1, bytes));
  for (size_t bit = 0; bit < 8 * sizeof bytes; bit++) {
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    assert_false(opens(bytes_from(0), 65536 + 5, head, sizeof head, bytes));
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
}

static UdpCookies cookies_at(uint64_t now_us) {
  UdpCookies cookies;
  udp_cookies_init(&cookies, bytes_from(0), now_us);
  return cookies;
}

static void a_cookie_is_for_one_place_and_hash(void **state) {
  (void)state;
  const UdpOrigin origin = {.ip = {[10] = 0xff, 0xff, 127, 0, 0, 1}, .port = 7777};
  const UdpCookies cookies = cookies_at(12345 * SECOND);
  UdpCookies others;
  uint8_t cookie[32];
  udp_cookie_make(&cookies, &origin, 42, cookie);
  assert_true(udp_cookie_is_good(&cookies, &origin, 42, cookie));
  udp_cookies_init(&others, bytes_from(32), 12345 * SECOND);
  assert_false(udp_cookie_is_good(&others, &origin, 42, cookie));
  assert_false(udp_cookie_is_good(&cookies, &origin, 43, cookie));
  UdpOrigin other = origin;
  other.port++;
  assert_false(udp_cookie_is_good(&cookies, &other, 42, cookie));
  other = origin;
  other.ip[15]++;
  assert_false(udp_cookie_is_good(&cookies, &other, 42, cookie));
  cookie[0] ^= 0x80;
  assert_false(udp_cookie_is_good(&cookies, &origin, 42, cookie));
}

static void a_cookie_is_good_for_10_to_20_seconds(void **state) {
  (void)state;
  const UdpOrigin origin = {.port = 1};
  for (uint64_t at_us = 100 * SECOND; at_us < 110 * SECOND; at_us += SECOND / 3) {
    UdpCookies cookies = cookies_at(at_us);
    uint8_t cookie[32], again[32];
    udp_cookie_make(&cookies, &origin, 0, cookie);
    udp_cookies_rotate(&cookies, at_us);
    udp_cookie_make(&cookies, &origin, 0, again);
    assert_memory_equal(cookie, again, sizeof cookie);
    UdpCookies later = cookies;
    udp_cookies_rotate(&later, at_us + 10 * SECOND);
    assert_true(udp_cookie_is_good(&later, &origin, 0, cookie));
    udp_cookies_rotate(&later, at_us + 20 * SECOND);
    assert_false(udp_cookie_is_good(&later, &origin, 0, cookie));
    later = cookies;  // no request has arrived for some time
    udp_cookies_rotate(&later, at_us + 20 * SECOND);
    assert_false(udp_cookie_is_good(&later, &origin, 0, cookie));
    udp_cookies_rotate(&later, at_us + 3600 * SECOND);
    assert_false(udp_cookie_is_good(&later, &origin, 0, cookie));
  }
}

static void the_secrets_of_cookies_change_and_old_ones_are_gone(void **state) {
  (void)state;
  UdpCookies cookies = cookies_at(0);
  for (uint64_t slot = 1; slot < 50; slot++) {
    const UdpCookies old = cookies;
    udp_cookies_rotate(&cookies, slot * 10 * SECOND);
    assert_memory_equal(cookies.before, old.now, sizeof old.now);
    assert_memory_not_equal(cookies.now, old.now, sizeof old.now);
    assert_memory_not_equal(cookies.now, old.before, sizeof old.before);
  }
  const UdpCookies old = cookies;
  udp_cookies_rotate(&cookies, 52 * 10 * SECOND);  // no secret of either time is left
  assert_memory_not_equal(cookies.before, old.now, sizeof old.now);
  assert_memory_not_equal(cookies.before, old.before, sizeof old.before);
}

static void an_offer_depends_on_all_that_it_is_for(void **state) {
  (void)state;
  uint8_t key[UDP_KEY_SIZE], other[UDP_KEY_SIZE];
  udp_offer_key(bytes_from(0), 7, 9, key);
  udp_offer_key(bytes_from(0), 7, 9, other);
  assert_memory_equal(key, other, sizeof key);
  udp_offer_key(bytes_from(1), 7, 9, other);
  assert_memory_not_equal(key, other, sizeof key);
  udp_offer_key(bytes_from(0), 8, 9, other);
  assert_memory_not_equal(key, other, sizeof key);
  udp_offer_key(bytes_from(0), 7, 8, other);
  assert_memory_not_equal(key, other, sizeof key);
}

int main(void) {
  if (udp_keys_init() < 0) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_offer_depends_on_all_that_it_is_for),
      cmocka_unit_test(keys_are_as_the_page_says),
      cmocka_unit_test(a_proof_is_of_its_key_cookie_and_client),
      cmocka_unit_test(both_sides_share_a_secret),
      cmocka_unit_test(points_of_small_order_give_no_secret),
      cmocka_unit_test(what_is_sealed_opens_with_its_number_alone),
      cmocka_unit_test(a_cookie_is_for_one_place_and_hash),
      cmocka_unit_test(a_cookie_is_good_for_10_to_20_seconds),
      cmocka_unit_test(the_secrets_of_cookies_change_and_old_ones_are_gone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
