// BLAKE2b, X25519 and ChaCha20-Poly1305, implemented by libsodium.
#include "wire/udp/keys.h"

#include <sodium.h>
#include <string.h>

#include "base/err.h"
#include "base/integers.h"

static const uint64_t SLOT_US = UDP_COOKIE_SLOT_S * UINT64_C(1000000);

int udp_keys_init(void) { return sodium_init() < 0 ? ERR_INVALID : 0; }

typedef crypto_generichash_state Hash;

static Hash hash_with(const uint8_t key[UDP_KEY_SIZE]) {
  Hash hash;
  crypto_generichash_init(&hash, key, UDP_KEY_SIZE, UDP_KEY_SIZE);
  return hash;
}

static void hash_bytes(Hash *hash, const void *bytes, size_t size) {
  crypto_generichash_update(hash, bytes, size);
}

static void hash_u64(Hash *hash, uint64_t value) {
  uint8_t bytes[8];
  put_u64(bytes, value);
  hash_bytes(hash, bytes, sizeof bytes);
}

static void hash_finish(Hash *hash, uint8_t out[UDP_KEY_SIZE]) {
  crypto_generichash_final(hash, out, UDP_KEY_SIZE);
}

void udp_offer_key(const uint8_t secret[UDP_KEY_SIZE], uint64_t nonce, uint32_t conn,
                   uint8_t key[UDP_KEY_SIZE]) {
  static const char label[] = "perigee udp offer";
  Hash state = hash_with(secret);
  hash_bytes(&state, label, sizeof label - 1);
  hash_u64(&state, nonce);
  hash_u64(&state, conn);
  hash_finish(&state, key);
}

static void next_secret(UdpCookies *cookies) {
  static const char label[] = "perigee udp cookie";
  memcpy(cookies->before, cookies->now, UDP_KEY_SIZE);
  Hash state = hash_with(cookies->before);
  hash_bytes(&state, label, sizeof label - 1);
  hash_finish(&state, cookies->now);
}

void udp_cookies_init(UdpCookies *cookies, const uint8_t seed[UDP_KEY_SIZE],
                      uint64_t now_us) {
  cookies->slot = now_us / SLOT_US;
  memcpy(cookies->now, seed, UDP_KEY_SIZE);
  next_secret(cookies);
}

void udp_cookies_rotate(UdpCookies *cookies, uint64_t now_us) {
  const uint64_t slot = now_us / SLOT_US;
  if (slot == cookies->slot) return;
  const bool is_next = slot == cookies->slot + 1;
  cookies->slot = slot;
  next_secret(cookies);
  if (!is_next) next_secret(cookies);  // because the previous cookies have expired
}

static void cookie_under(const uint8_t secret[UDP_KEY_SIZE], const UdpOrigin *origin,
                         uint64_t hash, uint8_t cookie[UDP_COOKIE_SIZE]) {
  Hash state = hash_with(secret);
  hash_bytes(&state, origin->ip, sizeof origin->ip);
  hash_u64(&state, origin->port);
  hash_u64(&state, hash);
  hash_finish(&state, cookie);
}

void udp_cookie_make(const UdpCookies *cookies, const UdpOrigin *origin, uint64_t hash,
                     uint8_t cookie[UDP_COOKIE_SIZE]) {
  cookie_under(cookies->now, origin, hash, cookie);
}

bool udp_cookie_is_good(const UdpCookies *cookies, const UdpOrigin *origin,
                        uint64_t hash, const uint8_t cookie[UDP_COOKIE_SIZE]) {
  uint8_t now[UDP_COOKIE_SIZE], before[UDP_COOKIE_SIZE];
  cookie_under(cookies->now, origin, hash, now);
  cookie_under(cookies->before, origin, hash, before);
  int is_now = sodium_memcmp(cookie, now, UDP_COOKIE_SIZE) == 0;
  int is_before = sodium_memcmp(cookie, before, UDP_COOKIE_SIZE) == 0;
  return is_now | is_before;
}

void udp_proof(const uint8_t key[UDP_KEY_SIZE], const uint8_t cookie[UDP_COOKIE_SIZE],
               const uint8_t client_key[UDP_KEY_SIZE], uint8_t proof[UDP_KEY_SIZE]) {
  static const char label[] = "perigee udp attach";
  Hash state = hash_with(key);
  hash_bytes(&state, label, sizeof label - 1);
  hash_bytes(&state, cookie, UDP_COOKIE_SIZE);
  hash_bytes(&state, client_key, UDP_KEY_SIZE);
  hash_finish(&state, proof);
}

bool udp_proof_is_good(const uint8_t key[UDP_KEY_SIZE],
                       const uint8_t cookie[UDP_COOKIE_SIZE],
                       const uint8_t client_key[UDP_KEY_SIZE],
                       const uint8_t proof[UDP_KEY_SIZE]) {
  uint8_t expected[UDP_KEY_SIZE];
  udp_proof(key, cookie, client_key, expected);
  return sodium_memcmp(proof, expected, UDP_KEY_SIZE) == 0;
}

void udp_public_key(const uint8_t secret[UDP_KEY_SIZE],
                    uint8_t public_key[UDP_KEY_SIZE]) {
  crypto_scalarmult_base(public_key, secret);
}

bool udp_shared_secret(const uint8_t secret[UDP_KEY_SIZE],
                       const uint8_t public_key[UDP_KEY_SIZE],
                       uint8_t shared[UDP_KEY_SIZE]) {
  return crypto_scalarmult(shared, secret, public_key) == 0;
}

static void derive(const UdpAgreement *agreement, const char *label,
                   uint8_t out[UDP_KEY_SIZE]) {
  static const uint8_t zeros[UDP_KEY_SIZE];
  Hash state = hash_with(agreement->secret);
  hash_bytes(&state, label, strlen(label));
  hash_bytes(&state, agreement->cookie, UDP_COOKIE_SIZE);
  hash_bytes(&state, agreement->client_key, UDP_KEY_SIZE);
  hash_bytes(&state, agreement->server_key ? agreement->server_key : zeros,
             UDP_KEY_SIZE);
  hash_finish(&state, out);
}

void udp_keys_derive(UdpKeys *keys, UdpRole role, const UdpAgreement *agreement) {
  const bool is_client = role == UDP_CLIENT;
  uint8_t channel[UDP_KEY_SIZE];
  derive(agreement, "perigee udp client", is_client ? keys->send : keys->receive);
  derive(agreement, "perigee udp server", is_client ? keys->receive : keys->send);
  derive(agreement, "perigee udp channel", channel);
  memcpy(keys->channel, channel, UDP_CHANNEL_SIZE);
  static const uint8_t connecting[UDP_CHANNEL_SIZE];
  if (memcmp(channel, connecting, UDP_CHANNEL_SIZE) == 0) keys->channel[0] = 1;
}

static void write_nonce(uint64_t number,
                        uint8_t nonce[crypto_aead_chacha20poly1305_IETF_NPUBBYTES]) {
  memset(nonce, 0, 4);
  put_u64(nonce + 4, number);
}

void udp_seal(const uint8_t key[UDP_KEY_SIZE], uint64_t number, const uint8_t *head,
              size_t head_size, uint8_t *bytes, size_t size) {
  uint8_t nonce[crypto_aead_chacha20poly1305_IETF_NPUBBYTES];
  write_nonce(number, nonce);
  crypto_aead_chacha20poly1305_ietf_encrypt_detached(
      bytes, bytes + size, NULL, bytes, size, head, head_size, NULL, nonce, key);
}

bool udp_open(const uint8_t key[UDP_KEY_SIZE], uint64_t number, const uint8_t *head,
              size_t head_size, uint8_t *bytes, size_t size) {
  uint8_t nonce[crypto_aead_chacha20poly1305_IETF_NPUBBYTES];
  write_nonce(number, nonce);
  return crypto_aead_chacha20poly1305_ietf_decrypt_detached(
             bytes, NULL, bytes, size, bytes + size, head, head_size, nonce, key) == 0;
}
