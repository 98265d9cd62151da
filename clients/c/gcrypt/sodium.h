// The functions of libsodium that libperigee uses, implemented with libgcrypt for
// systems without libsodium. They produce the same bytes as libsodium.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct gcry_md_handle;

enum { crypto_aead_chacha20poly1305_IETF_NPUBBYTES = 12 };

int sodium_init(void);
void sodium_memzero(void *bytes, size_t size);
int sodium_memcmp(const void *a, const void *b, size_t size);
void randombytes_buf(void *bytes, size_t size);

/// SipHash-2-4.
int crypto_shorthash(unsigned char *out, const unsigned char *bytes,
                     unsigned long long size, const unsigned char key[16]);

/// BLAKE2b, only with 32 bytes of output and a key of 32 bytes. Each state needs a call
/// of crypto_generichash_final, because only that call frees it.
typedef struct crypto_generichash_state {
  struct gcry_md_handle *hash;
} crypto_generichash_state;

int crypto_generichash_init(crypto_generichash_state *state, const unsigned char *key,
                            size_t key_size, size_t size);
int crypto_generichash_update(crypto_generichash_state *state,
                              const unsigned char *bytes, unsigned long long size);
int crypto_generichash_final(crypto_generichash_state *state, unsigned char *out,
                             size_t size);

/// X25519.
int crypto_scalarmult(unsigned char *out, const unsigned char *secret,
                      const unsigned char *point);
int crypto_scalarmult_base(unsigned char *out, const unsigned char *secret);

/// ChaCha20-Poly1305 of RFC 8439.
int crypto_aead_chacha20poly1305_ietf_encrypt_detached(
    unsigned char *out, unsigned char *tag, unsigned long long *tag_size,
    const unsigned char *bytes, unsigned long long size, const unsigned char *head,
    unsigned long long head_size, const unsigned char *secret_nonce,
    const unsigned char *nonce, const unsigned char *key);
int crypto_aead_chacha20poly1305_ietf_decrypt_detached(
    unsigned char *out, unsigned char *secret_nonce, const unsigned char *bytes,
    unsigned long long size, const unsigned char *tag, const unsigned char *head,
    unsigned long long head_size, const unsigned char *nonce, const unsigned char *key);
