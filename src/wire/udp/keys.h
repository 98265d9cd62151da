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

/// Chooses the fastest code for this processor. The owner of the process calls it once
/// before the others; more calls do no harm. Returns 0, or ERR_INVALID where
/// libsodium cannot work.
int udp_keys_init(void);

/// The key by which a client may attach: of its connection `conn` under the server's
/// `secret`, and of a `nonce` that is random and new for each key, so that the nonce is all
/// that has to be kept.
void udp_offer_key(const uint8_t secret[UDP_KEY_SIZE], uint64_t nonce, uint32_t conn,
                   uint8_t key[UDP_KEY_SIZE]);

/// The secrets of a server's cookies, one for each slot of time. It keeps those of this slot
/// and the one before; nobody can compute earlier ones from these.
typedef struct UdpCookies {
  uint64_t slot;  // that `now` is for
  uint8_t now[UDP_KEY_SIZE], before[UDP_KEY_SIZE];
} UdpCookies;

/// `seed` is random and for this alone.
void udp_cookies_init(UdpCookies *cookies, const uint8_t seed[UDP_KEY_SIZE],
                      uint64_t now_us);

/// Goes on to the slot of `now_us`: to be called before the next two.
void udp_cookies_rotate(UdpCookies *cookies, uint64_t now_us);

/// The cookie of a request from `origin` for protocol hash `hash`; nothing has to be kept
/// of it.
void udp_cookie_make(const UdpCookies *cookies, const UdpOrigin *origin, uint64_t hash,
                     uint8_t cookie[UDP_COOKIE_SIZE]);

/// Returns whether `cookie` was made with the same arguments in this slot of time or the
/// one before. Takes the same time for any fault.
bool udp_cookie_is_good(const UdpCookies *cookies, const UdpOrigin *origin,
                        uint64_t hash, const uint8_t cookie[UDP_COOKIE_SIZE]);

/// Computes the proof that a client knows `key`, the UDP key of its WELCOME.
void udp_proof(const uint8_t key[UDP_KEY_SIZE], const uint8_t cookie[UDP_COOKIE_SIZE],
               const uint8_t client_key[UDP_KEY_SIZE], uint8_t proof[UDP_KEY_SIZE]);

bool udp_proof_is_good(const uint8_t key[UDP_KEY_SIZE],
                       const uint8_t cookie[UDP_COOKIE_SIZE],
                       const uint8_t client_key[UDP_KEY_SIZE],
                       const uint8_t proof[UDP_KEY_SIZE]);

/// The X25519 public key of a secret one, which is 32 random bytes.
void udp_public_key(const uint8_t secret[UDP_KEY_SIZE],
                    uint8_t public_key[UDP_KEY_SIZE]);

/// The X25519 of one's own secret key and the other side's public key. False where that
/// gives nothing secret (a point of small order).
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

/// Opens in place what udp_seal gave; `size` is without the tag that follows. False, and
/// the bytes are zeros, when it is not authentic.
bool udp_open(const uint8_t key[UDP_KEY_SIZE], uint64_t number, const uint8_t *head,
              size_t head_size, uint8_t *bytes, size_t size);
