// The functions of libsodium that the client uses. The test is built with libsodium,
// and with clients/c/gcrypt, which replaces it on Windows: both must return the same
// bytes.
#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROUNDS = 300, SIZE = 600, HEAD = 60, TAG = 16 };

// Returns the hash of all outputs of one function for inputs of many sizes.
typedef struct Digest {
  uint8_t sum[32];
} Digest;

static void add(Digest *digest, const void *bytes, size_t size) {
  crypto_generichash_state state;
  crypto_generichash_init(&state, digest->sum, 32, 32);
  crypto_generichash_update(&state, bytes, size);
  crypto_generichash_final(&state, digest->sum, 32);
}

static void expect(const Digest *digest, const char *hex) {
  char text[65];
  for (int i = 0; i < 32; i++) snprintf(text + 2 * i, 3, "%02x", digest->sum[i]);
  assert_string_equal(hex, text);
}

typedef struct Input {
  uint8_t key[32], point[32], nonce[12], head[HEAD], bytes[SIZE + TAG];
  size_t size, head_size;
} Input;

// Fills bytes that look random, but are the same on every machine.
static Input input_of(int round) {
  Input input = {.size = 2 * (size_t)round, .head_size = (size_t)round % HEAD};
  uint64_t state = (uint64_t)round + 1;
  uint8_t *parts[] = {input.key, input.point, input.nonce, input.head, input.bytes};
  const size_t sizes[] = {32, 32, 12, HEAD, SIZE};
  for (int part = 0; part < 5; part++) {
    for (size_t i = 0; i < sizes[part]; i++) {
      state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      parts[part][i] = (uint8_t)(state >> 56);
    }
  }
  return input;
}

static void hashes(void **state) {
  (void)state;
  Digest digest = {{0}};
  for (int round = 0; round < ROUNDS; round++) {
    Input input = input_of(round);
    uint8_t hash[8];
    crypto_shorthash(hash, input.bytes, input.size, input.key);
    add(&digest, hash, sizeof hash);
    add(&digest, input.bytes, input.size);
  }
  expect(&digest, "e3bcac196dff4d5a8425e0a54071cf0e07c6ddb0b264906276db48fd36cc13dd");
}

static void shared_secrets(void **state) {
  (void)state;
  Digest digest = {{0}};
  for (int round = 0; round < ROUNDS; round++) {
    Input input = input_of(round);
    uint8_t out[32];
    assert_int_equal(0, crypto_scalarmult_base(out, input.key));
    add(&digest, out, 32);
    assert_int_equal(0, crypto_scalarmult(out, input.key, input.point));
    add(&digest, out, 32);
  }
  expect(&digest, "4be8dec114b6e813eee408ba4cdf26124093028ca99dc352712b2b00033a9912");
}

static void sealed_bytes(void **state) {
  (void)state;
  Digest digest = {{0}};
  for (int round = 0; round < ROUNDS; round++) {
    Input input = input_of(round);
    uint8_t *bytes = input.bytes, *tag = bytes + input.size, before[SIZE];
    memcpy(before, bytes, SIZE);
    crypto_aead_chacha20poly1305_ietf_encrypt_detached(
        bytes, tag, NULL, bytes, input.size, input.head, input.head_size, NULL,
        input.nonce, input.key);
    add(&digest, bytes, input.size + TAG);
    bool is_forged = round % 3 == 0;
    if (is_forged) tag[round % TAG] ^= 1;
    int code = crypto_aead_chacha20poly1305_ietf_decrypt_detached(
        bytes, NULL, bytes, input.size, tag, input.head, input.head_size, input.nonce,
        input.key);
    assert_int_equal(is_forged ? -1 : 0, code);
    if (is_forged) memset(before, 0, SIZE);
    assert_memory_equal(before, bytes, input.size);
  }
  expect(&digest, "ead78f3bfd8fa78c944201ffaa5be9bdd9680c68c109de2150e0238132366292");
}

static void comparisons_and_random_numbers(void **state) {
  (void)state;
  uint8_t a[32] = {0}, b[32] = {0};
  assert_int_equal(0, sodium_memcmp(a, b, 32));
  randombytes_buf(a, 32);
  assert_int_equal(-1, sodium_memcmp(a, b, 32));
  sodium_memzero(a, 32);
  assert_int_equal(0, sodium_memcmp(a, b, 32));
}

int main(void) {
  if (sodium_init() < 0) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hashes),
      cmocka_unit_test(shared_secrets),
      cmocka_unit_test(sealed_bytes),
      cmocka_unit_test(comparisons_and_random_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
