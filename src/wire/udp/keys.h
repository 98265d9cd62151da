// The cryptography of UDP (docs/protocol.md, section 16): cookies, the proof of who
// attaches, the keys of a connection, and the sealing of its datagrams. libsodium does
// the work. No I/O, no clock, no randomness: secrets come from the caller.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  UDP_KEY_SIZE = 32,  // of every key, secret, cookie and proof
  UDP_COOKIE_SIZE = 32,
  UDP_CHANNEL_SIZE = 3,
  UDP_TAG_SIZE = 16,       // Poly1305
  UDP_COOKIE_SLOT_S = 10,  // a cookie is good for one to two of these
};

/// Where a request comes from: an IPv6 address, or an IPv4 one mapped into IPv6
/// (::ffff:a.b.c.d), so that both spellings are the same.
typedef struct UdpOrigin {
  uint8_t ip[16];
  uint16_t port;
} UdpOrigin;

typedef enum UdpRole { UDP_CLIENT, UDP_SERVER } UdpRole;

/// The keys with which one side of a connection seals and opens.
typedef struct UdpKeys {
  uint8_t send[UDP_KEY_SIZE];
  uint8_t receive[UDP_KEY_SIZE];
  uint8_t channel[UDP_CHANNEL_SIZE];
} UdpKeys;

/// Chooses the fastest code for this processor. The owner of the process calls it once before the
/// others; more calls do no harm. Returns 0, or ERR_INVALID where libsodium cannot work.
int udp_keys_init(void);

/// Computes the key with which a client may attach, from its connection `conn`, the
/// server's `secret`, and a `nonce` that is random and new for each key. The server has to
/// keep only the nonce.
void udp_offer_key(const uint8_t secret[UDP_KEY_SIZE], uint64_t nonce, uint32_t conn,
                   uint8_t key[UDP_KEY_SIZE]);

/// The secrets of a server's cookies, one for each slot of time. It keeps those of this slot
/// and the one before; nobody can compute earlier ones from these.
typedef struct UdpCookies {
  uint64_t slot;  // that `now` is for
  uint8_t now[UDP_KEY_SIZE], before[UDP_KEY_SIZE];
} UdpCookies;

/// `seed` is random and used for nothing else.
void udp_cookies_init(UdpCookies *cookies, const uint8_t seed[UDP_KEY_SIZE],
                      uint64_t now_us);

/// Moves to the time slot of `now_us`. Call this before the next two functions.
void udp_cookies_rotate(UdpCookies *cookies, uint64_t now_us);

/// Computes the cookie of a request from `origin` for protocol hash `hash`. The server need
/// not keep it.
void udp_cookie_make(const UdpCookies *cookies, const UdpOrigin *origin, uint64_t hash,
                     uint8_t cookie[UDP_COOKIE_SIZE]);

/// Returns whether `cookie` was made with the same arguments in this slot of time or the
/// one before. Takes the same time for any wrong cookie.
bool udp_cookie_is_good(const UdpCookies *cookies, const UdpOrigin *origin,
                        uint64_t hash, const uint8_t cookie[UDP_COOKIE_SIZE]);

/// Computes the proof that a client knows `key`, the UDP key of its WELCOME.
void udp_proof(const uint8_t key[UDP_KEY_SIZE], const uint8_t cookie[UDP_COOKIE_SIZE],
               const uint8_t client_key[UDP_KEY_SIZE], uint8_t proof[UDP_KEY_SIZE]);

bool udp_proof_is_good(const uint8_t key[UDP_KEY_SIZE],
                       const uint8_t cookie[UDP_COOKIE_SIZE],
                       const uint8_t client_key[UDP_KEY_SIZE],
                       const uint8_t proof[UDP_KEY_SIZE]);

/// Computes the X25519 public key of a secret key, which is 32 random bytes.
void udp_public_key(const uint8_t secret[UDP_KEY_SIZE],
                    uint8_t public_key[UDP_KEY_SIZE]);

/// Computes X25519 of this side's secret key and the other side's public key. Returns false
/// if the result is not secret (a point of small order).
bool udp_shared_secret(const uint8_t secret[UDP_KEY_SIZE],
                       const uint8_t public_key[UDP_KEY_SIZE],
                       uint8_t shared[UDP_KEY_SIZE]);

/// The values that both sides of a connection know, and derive its keys from.
typedef struct UdpAgreement {
  const uint8_t *secret;      // 32 bytes: the UDP key of WELCOME, or udp_shared_secret
  const uint8_t *cookie;      // 32 bytes
  const uint8_t *client_key;  // 32 bytes
  const uint8_t *server_key;  // 32 bytes; NULL when attached
} UdpAgreement;

/// Derives the keys of `role`'s side.
void udp_keys_derive(UdpKeys *keys, UdpRole role, const UdpAgreement *agreement);

/// Seals `size` bytes in place, number `number` of this key, and writes the tag after
/// them, where UDP_TAG_SIZE bytes are free. `head` is `head_size` bytes that are
/// protected but not hidden. A number must never be used twice with a key.
void udp_seal(const uint8_t key[UDP_KEY_SIZE], uint64_t number, const uint8_t *head,
              size_t head_size, uint8_t *bytes, size_t size);

/// Opens in place the bytes from udp_seal; `size` does not include the tag that follows.
/// Returns false and zeroes the bytes if they are not authentic.
bool udp_open(const uint8_t key[UDP_KEY_SIZE], uint64_t number, const uint8_t *head,
              size_t head_size, uint8_t *bytes, size_t size);
