// The connection protocol of UDP (docs/protocol.md, sections 5 and 16): the datagrams
// that begin with three zero bytes. Bytes in, values out, and back; the server keeps
// nothing of a request without a cookie. No I/O, no clock, no memory.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/code.h"
#include "wire/udp/keys.h"

enum {
  UDP_TRANSPORT_VERSION = 1,
  UDP_EXTENSION_VERSION = 1,
  UDP_DATAGRAM_MAX = 1200,  // bytes; passes every path that IPv6 does (RFC 8200)
  UDP_REQUEST_HEAD = 27,    // bytes of a request without its extension
  UDP_REQUEST_MIN = 64,     // shorter ones are useless, because no answer may be longer
  UDP_REQUEST_MAX = 27 + 255,
  UDP_EXTENSION_ALONE = 66,          // bytes that an extension has at least,
  UDP_EXTENSION_ATTACH = 102,        // and with ATTACH
  UDP_ANSWER_MAX = UDP_REQUEST_MAX,  // no answer is longer than its request
};

enum UdpFlags { UDP_ATTACH = 1, UDP_PLAIN = 2 };

/// A request. Its pointers point into the datagram.
typedef struct UdpRequest {
  size_t size;  // of the datagram
  uint32_t version;
  uint64_t hash;
  uint16_t sequence;  // of the client's first data datagram
  uint8_t extension_size;
  const uint8_t *extension;
} UdpRequest;

/// The extension of a request. Its pointers point into the datagram, or to memory of the
/// caller that writes it.
typedef struct UdpExtension {
  uint8_t flags;              // UdpFlags
  const uint8_t *cookie;      // UDP_COOKIE_SIZE bytes; when written NULL for none yet
  const uint8_t *client_key;  // UDP_KEY_SIZE bytes
  uint32_t peer;              // with UDP_ATTACH
  const uint8_t *proof;       // with UDP_ATTACH: UDP_KEY_SIZE bytes
} UdpExtension;

typedef enum UdpAnswerType {
  UDP_ACCEPTED = 1,
  UDP_REJECTED = 2,
  UDP_CHALLENGE = 3,
} UdpAnswerType;

/// The answer of a server to a request. Its pointers point into the datagram, or to memory
/// of the caller that writes it.
typedef struct UdpAnswer {
  UdpAnswerType type;
  uint16_t sequence;          // ACCEPTED: of the server's first data datagram
  uint16_t port;              // ACCEPTED: the port for all later datagrams
  const uint8_t *server_key;  // ACCEPTED: UDP_KEY_SIZE bytes; NULL when attached
  Code code;                  // REJECTED
  const char *text;           // REJECTED: `text_size` bytes; when written, a C string
  size_t text_size;
  uint16_t retry_s;       // REJECTED with CODE_UNAVAILABLE: see Ending
  const uint8_t *cookie;  // CHALLENGE: UDP_COOKIE_SIZE bytes
} UdpAnswer;

/// Returns whether a datagram belongs to the connection protocol: three zero bytes, and more.
bool udp_is_connecting(const uint8_t *bytes, size_t size);

/// Reads a request, but not its extension. ERR_MALFORMED for a datagram that gets no
/// answer: another type, a wrong size, another transport.
int udp_read_request(const uint8_t *bytes, size_t size, UdpRequest *request);

/// Reads the extension. ERR_MALFORMED for one that a server rejects with Unsupported:
/// another version, unknown flags, too short. Fills the fields that it has in any case.
int udp_read_extension(const UdpRequest *request, UdpExtension *extension);

/// Returns the cookie in the extension, or NULL: too short for one, or zeros.
const uint8_t *udp_request_cookie(const UdpRequest *request);

/// Writes a request with `version` and transport id of this protocol, padded to at least
/// UDP_REQUEST_MIN bytes. Returns its size.
size_t udp_write_request(uint8_t out[UDP_REQUEST_MAX], uint64_t hash, uint16_t sequence,
                         const UdpExtension *extension);

/// Reads a server's answer; ERR_MALFORMED for anything else. The text of REJECTED may not
/// be UTF-8.
int udp_read_answer(const uint8_t *bytes, size_t size, UdpAnswer *answer);

/// Writes an answer to a request of `request_size` bytes, and cuts the text of REJECTED
/// (between characters) so that it is not longer. Returns its size.
size_t udp_write_answer(uint8_t out[UDP_ANSWER_MAX], size_t request_size,
                        const UdpAnswer *answer);

/// The server's data for judging a request by the rules that need no state (the table of
/// section 16, down to the extension).
typedef struct UdpDoor {
  const UdpCookies *cookies;
  bool is_hash_good;  // the request's protocol hash is one that HELLO could have
  bool allows_plain;
} UdpDoor;

/// The reason that a request is rejected for.
typedef struct UdpFault {
  Code code;
  const char *text;  // the rule, and what to do; static
} UdpFault;

/// Judges a request that udp_read_request has read. UDP_ACCEPTED: go on, `extension` is
/// filled; UDP_REJECTED: for `fault`; UDP_CHALLENGE: with udp_cookie_make's cookie.
UdpAnswerType udp_judge(const UdpDoor *door, const UdpRequest *request,
                        const UdpOrigin *origin, UdpExtension *extension,
                        UdpFault *fault);
