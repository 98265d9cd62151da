// A valid token returns its claims. A text is no token if a bit is flipped, if it is
// cut or longer, if its encoding is another one, or if another key has signed it.
#include "account/token.h"

#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const TokenClaims CLAIMS = {.account = {1, 2, 255},
                                   .generation = 7,
                                   .sign_in = 4000000000u,
                                   .issued_s = 1700000000,
                                   .expires_s = 1702592000};

static void make(TokenKey *key, char token[TOKEN_SIZE + 1]) {
  uint8_t seed[TOKEN_SEED_SIZE];
  randombytes_buf(seed, sizeof seed);
  token_key_from(key, seed);
  token_make(key, &CLAIMS, token);
}

static void test_gives_back_its_claims(void **state) {
  (void)state;
  TokenKey key;
  char token[TOKEN_SIZE + 1];
  TokenClaims claims;
  make(&key, token);
  assert_int_equal(strlen(token), TOKEN_SIZE);
  assert_true(token_is_own(text_from(token)));
  assert_true(token_read(&key, text_from(token), &claims));
  assert_memory_equal(claims.account, CLAIMS.account, ACCOUNT_ID_SIZE);
  assert_int_equal(claims.generation, 7);
  assert_int_equal(claims.sign_in, 4000000000u);
  assert_int_equal(claims.issued_s, 1700000000);
  assert_int_equal(claims.expires_s, 1702592000);
}

static void test_a_flipped_bit_makes_it_invalid(void **state) {
  (void)state;
  TokenKey key;
  char token[TOKEN_SIZE + 1];
  TokenClaims claims;
  make(&key, token);
  for (size_t i = 0; i < TOKEN_SIZE; i++)
    for (int bit = 0; bit < 8; bit++) {
      token[i] = (char)(token[i] ^ (1 << bit));
      assert_false(token_read(&key, (Text){token, TOKEN_SIZE}, &claims));
      token[i] = (char)(token[i] ^ (1 << bit));
    }
}

static void test_other_sizes_are_invalid(void **state) {
  (void)state;
  TokenKey key;
  char token[TOKEN_SIZE + 9] = "";
  TokenClaims claims;
  make(&key, token);
  for (uint32_t size = 0; size < TOKEN_SIZE; size++)
    assert_false(token_read(&key, (Text){token, size}, &claims));
  memcpy(token + TOKEN_SIZE, "AAAA", 5);
  for (uint32_t size = TOKEN_SIZE + 1; size <= TOKEN_SIZE + 4; size++)
    assert_false(token_read(&key, (Text){token, size}, &claims));
  memset(token, '=', TOKEN_SIZE);
  assert_false(token_read(&key, (Text){token, TOKEN_SIZE}, &claims));
}

static void test_another_key_is_invalid(void **state) {
  (void)state;
  TokenKey key, other;
  char token[TOKEN_SIZE + 1], again[TOKEN_SIZE + 1];
  TokenClaims claims;
  make(&other, again);
  make(&key, token);
  assert_false(token_read(&other, text_from(token), &claims));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gives_back_its_claims),
      cmocka_unit_test(test_a_flipped_bit_makes_it_invalid),
      cmocka_unit_test(test_other_sizes_are_invalid),
      cmocka_unit_test(test_another_key_is_invalid),
  };
  return sodium_init() < 0 ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
