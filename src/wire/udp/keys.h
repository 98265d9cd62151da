// The cryptography of UDP (docs/protocol.md, section 16): cookies, the proof of an
// attaching client, the keys of a connection, and the sealing of its datagrams. Uses
// libsodium. No I/O, no clock, no randomness: the caller supplies secrets.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  UDP_KEY_SIZE = 32,  // size of every key, secret, cookie and proof
  UDP_COOKIE_SIZE = 32,
  UDP_CHANNEL_SIZE = 3,
  UDP_TAG_SIZE = 16,       // size of a Poly1305 tag
  UDP_COOKIE_SLOT_S = 10,  // a cookie is valid for one to two slots
};

/// The sender of a request: an IPv6 address, or an IPv4 address mapped into IPv6
/// (::ffff:a.b.c.d), so that both forms of an IPv4 address are equal.
typedef struct UdpOrigin {
  uint8_t ip[16];
  uint16_t port;
} UdpOrigin;

typedef enum UdpRole { UDP_CLIENT, UDP_SERVER } UdpRole;

/// The keys that one side of a connection uses to seal and open datagrams.
typedef struct UdpKeys {
  uint8_t send[UDP_KEY_SIZE];
  uint8_t receive[UDP_KEY_SIZE];
  uint8_t channel[UDP_CHANNEL_SIZE];
} UdpKeys;

/// Chooses the fastest code for this processor. Must be called once in a process before
/// the other functions; further calls have no effect. Returns 0, or ERR_INVALID if
/// libsodium cannot work.
int udp_keys_init(void);

/// Computes the key with which a client attaches UDP to its connection `conn`. `secret`
/// is the server's secret, and `nonce` is random and new for each key. The server
/// stores only the nonce.
void udp_offer_key(const uint8_t secret[UDP_KEY_SIZE], uint64_t nonce, uint32_t conn,
                   uint8_t key[UDP_KEY_SIZE]);

/// The secrets of a server's cookies, one for each time slot. The server keeps the
/// secrets of the current slot and the previous one. Earlier secrets cannot be computed
/// from these.
typedef struct UdpCookies {
  uint64_t slot;  // slot of `now`
  uint8_t now[UDP_KEY_SIZE], before[UDP_KEY_SIZE];
} UdpCookies;

/// Initializes the secrets. `seed` must be random, and must have no other use.
void udp_cookies_init(UdpCookies *cookies, const uint8_t seed[UDP_KEY_SIZE],
                      uint64_t now_us);

/// Changes to the time slot of `now_us`. Must be called before the next two functions.
void udp_cookies_rotate(UdpCookies *cookies, uint64_t now_us);

/// Computes the cookie of a request from `origin` with the protocol hash `hash`. The
/// server need not store it.
void udp_cookie_make(const UdpCookies *cookies, const UdpOrigin *origin, uint64_t hash,
                     uint8_t cookie[UDP_COOKIE_SIZE]);

/// Returns whether `cookie` was made from the same arguments in the current time slot
/// or the previous one. Takes the same time for any wrong cookie.
bool udp_cookie_is_good(const UdpCookies *cookies, const UdpOrigin *origin,
                        uint64_t hash, const uint8_t cookie[UDP_COOKIE_SIZE]);

/// Computes the proof that a client knows `key`, the UDP key in its WELCOME.
void udp_proof(const uint8_t key[UDP_KEY_SIZE], const uint8_t cookie[UDP_COOKIE_SIZE],
               const uint8_t client_key[UDP_KEY_SIZE], uint8_t proof[UDP_KEY_SIZE]);

bool udp_proof_is_good(const uint8_t key[UDP_KEY_SIZE],
                       const uint8_t cookie[UDP_COOKIE_SIZE],
                       const uint8_t client_key[UDP_KEY_SIZE],
                       const uint8_t proof[UDP_KEY_SIZE]);

/// Computes the X25519 public key of a secret key. A secret key is 32 random bytes.
void udp_public_key(const uint8_t secret[UDP_KEY_SIZE],
                    uint8_t public_key[UDP_KEY_SIZE]);

/// Computes the X25519 result of this side's secret key and the other side's public
/// key. Returns false if the result is not secret (a point of small order).
bool udp_shared_secret(const uint8_t secret[UDP_KEY_SIZE],
                       const uint8_t public_key[UDP_KEY_SIZE],
                       uint8_t shared[UDP_KEY_SIZE]);

/// The values that both sides of a connection know, and from which they derive its
/// keys.
typedef struct UdpAgreement {
  const uint8_t *secret;      // 32 bytes: the UDP key in WELCOME, or the result of
                              // udp_shared_secret
  const uint8_t *cookie;      // 32 bytes
  const uint8_t *client_key;  // 32 bytes
  const uint8_t *server_key;  // 32 bytes; NULL for an attached connection
} UdpAgreement;

/// Derives the keys for the side with the role `role`.
void udp_keys_derive(UdpKeys *keys, UdpRole role, const UdpAgreement *agreement);

/// Seals `size` bytes in place as datagram `number` of this key. Writes the tag behind
/// them, where UDP_TAG_SIZE bytes must be free. The tag also protects the
/// `head_size` bytes of `head`, which are not encrypted. A number must never be used
/// twice with a key.
void udp_seal(const uint8_t key[UDP_KEY_SIZE], uint64_t number, const uint8_t *head,
              size_t head_size, uint8_t *bytes, size_t size);

/// Opens the bytes from udp_seal in place; `size` does not include the tag behind them.
/// If they are not authentic, zeroes them and returns false.
bool udp_open(const uint8_t key[UDP_KEY_SIZE], uint64_t number, const uint8_t *head,
              size_t head_size, uint8_t *bytes, size_t size);
