// Errors of libgcrypt end the process, except for a bad public key. All arguments have
// fixed sizes, so an error means that libgcrypt lacks these algorithms or has no
// memory.
#include "sodium.h"

#include <gcrypt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>

#include <ntsecapi.h>
#endif

enum { KEY_SIZE = 32, TAG_SIZE = 16, NONCE_SIZE = 12 };

static void check(gcry_error_t error) {
  if (error == 0) return;
  fprintf(stderr, "perigee: libgcrypt: %s\n", gcry_strerror(error));
  abort();
}

int sodium_init(void) {
  if (gcry_control(GCRYCTL_INITIALIZATION_FINISHED_P)) return 1;
  if (!gcry_check_version("1.10.0")) return -1;
  gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
  gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
  return 0;
}

void sodium_memzero(void *bytes, size_t size) {
  volatile unsigned char *at = bytes;
  while (size-- > 0) *at++ = 0;
}

int sodium_memcmp(const void *a, const void *b, size_t size) {
  const volatile unsigned char *left = a, *right = b;
  unsigned char difference = 0;
  while (size-- > 0) difference |= (unsigned char)(*left++ ^ *right++);
  return difference == 0 ? 0 : -1;
}

// On Windows, uses the system's generator, because libgcrypt's own one prints notes
// about disk statistics.
void randombytes_buf(void *bytes, size_t size) {
#ifdef _WIN32
  if (!RtlGenRandom(bytes, (ULONG)size)) abort();
#else
  sodium_init();
  gcry_randomize(bytes, size, GCRY_STRONG_RANDOM);
#endif
}

// --- SipHash-2-4 ---

static uint64_t rotate(uint64_t value, int bits) {
  return value << bits | value >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds) {
  for (int i = 0; i < rounds; i++) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32) + v[3];
    v[2] += v[1];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
  }
}

static uint64_t read_u64(const unsigned char *bytes, size_t size) {
  uint64_t value = 0;
  for (size_t i = 0; i < size && i < 8; i++) value |= (uint64_t)bytes[i] << 8 * i;
  return value;
}

int crypto_shorthash(unsigned char *out, const unsigned char *bytes,
                     unsigned long long size, const unsigned char key[16]) {
  const uint64_t k0 = read_u64(key, 8), k1 = read_u64(key + 8, 8);
  uint64_t v[4] = {k0 ^ UINT64_C(0x736f6d6570736575), k1 ^ UINT64_C(0x646f72616e646f6d),
                   k0 ^ UINT64_C(0x6c7967656e657261),
                   k1 ^ UINT64_C(0x7465646279746573)};
  for (size_t at = 0; at <= size; at += 8) {
    bool is_last = size - at < 8;
    uint64_t word = read_u64(bytes + at, (size_t)(size - at));
    if (is_last) word |= (uint64_t)size << 56;
    v[3] ^= word;
    mix(v, 2);
    v[0] ^= word;
  }
  v[2] ^= 0xff;
  mix(v, 4);
  uint64_t hash = v[0] ^ v[1] ^ v[2] ^ v[3];
  for (int i = 0; i < 8; i++) out[i] = (unsigned char)(hash >> 8 * i);
  return 0;
}

// --- BLAKE2b ---

int crypto_generichash_init(crypto_generichash_state *state, const unsigned char *key,
                            size_t key_size, size_t size) {
  if (size != KEY_SIZE) return -1;
  check(gcry_md_open(&state->hash, GCRY_MD_BLAKE2B_256, 0));
  check(gcry_md_setkey(state->hash, key, key_size));
  return 0;
}

int crypto_generichash_update(crypto_generichash_state *state,
                              const unsigned char *bytes, unsigned long long size) {
  gcry_md_write(state->hash, bytes, (size_t)size);
  return 0;
}

int crypto_generichash_final(crypto_generichash_state *state, unsigned char *out,
                             size_t size) {
  memcpy(out, gcry_md_read(state->hash, GCRY_MD_BLAKE2B_256), size);
  gcry_md_close(state->hash);
  return 0;
}

// --- X25519 ---

int crypto_scalarmult_base(unsigned char *out, const unsigned char *secret) {
  check(gcry_ecc_mul_point(GCRY_ECC_CURVE25519, out, secret, NULL));
  return 0;
}

int crypto_scalarmult(unsigned char *out, const unsigned char *secret,
                      const unsigned char *point) {
  static const unsigned char ZEROS[KEY_SIZE];
  // For a point of small order, libgcrypt reports an error or returns zeros.
  if (gcry_ecc_mul_point(GCRY_ECC_CURVE25519, out, secret, point) != 0) return -1;
  return sodium_memcmp(out, ZEROS, KEY_SIZE) == 0 ? -1 : 0;
}

// --- ChaCha20-Poly1305 ---

static gcry_cipher_hd_t open_cipher(const unsigned char *key,
                                    const unsigned char *nonce,
                                    const unsigned char *head, size_t head_size) {
  gcry_cipher_hd_t cipher;
  check(gcry_cipher_open(&cipher, GCRY_CIPHER_CHACHA20, GCRY_CIPHER_MODE_POLY1305, 0));
  check(gcry_cipher_setkey(cipher, key, KEY_SIZE));
  check(gcry_cipher_setiv(cipher, nonce, NONCE_SIZE));
  check(gcry_cipher_authenticate(cipher, head, head_size));
  return cipher;
}

int crypto_aead_chacha20poly1305_ietf_encrypt_detached(
    unsigned char *out, unsigned char *tag, unsigned long long *tag_size,
    const unsigned char *bytes, unsigned long long size, const unsigned char *head,
    unsigned long long head_size, const unsigned char *secret_nonce,
    const unsigned char *nonce, const unsigned char *key) {
  (void)secret_nonce;
  gcry_cipher_hd_t cipher = open_cipher(key, nonce, head, (size_t)head_size);
  if (out != bytes) memmove(out, bytes, (size_t)size);
  check(gcry_cipher_encrypt(cipher, out, (size_t)size, NULL, 0));
  check(gcry_cipher_gettag(cipher, tag, TAG_SIZE));
  gcry_cipher_close(cipher);
  if (tag_size) *tag_size = TAG_SIZE;
  return 0;
}

int crypto_aead_chacha20poly1305_ietf_decrypt_detached(
    unsigned char *out, unsigned char *secret_nonce, const unsigned char *bytes,
    unsigned long long size, const unsigned char *tag, const unsigned char *head,
    unsigned long long head_size, const unsigned char *nonce,
    const unsigned char *key) {
  (void)secret_nonce;
  gcry_cipher_hd_t cipher = open_cipher(key, nonce, head, (size_t)head_size);
  if (out != bytes) memmove(out, bytes, (size_t)size);
  check(gcry_cipher_decrypt(cipher, out, (size_t)size, NULL, 0));
  bool is_good = gcry_cipher_checktag(cipher, tag, TAG_SIZE) == 0;
  gcry_cipher_close(cipher);
  if (!is_good) sodium_memzero(out, (size_t)size);
  return is_good ? 0 : -1;
}
