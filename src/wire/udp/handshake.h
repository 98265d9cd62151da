// The connection protocol of UDP (docs/protocol.md, sections 5 and 16): the datagrams
// that begin with three zero bytes. The server stores nothing for a request without a
// cookie. No I/O, no clock, no allocation.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/code.h"
#include "wire/udp/keys.h"

enum {
  UDP_TRANSPORT_VERSION = 1,
  UDP_EXTENSION_VERSION = 1,
  UDP_DATAGRAM_MAX = 1200,  // most bytes of a datagram; every IPv6 path carries them
  UDP_REQUEST_HEAD = 27,    // bytes of a request without its extension
  UDP_REQUEST_MIN = 64,     // least bytes of a request, because no answer may be longer
  UDP_REQUEST_MAX = 27 + 255,
  UDP_EXTENSION_ALONE = 66,          // least bytes of an extension
  UDP_EXTENSION_ATTACH = 102,        // least bytes of an extension with ATTACH
  UDP_ANSWER_MAX = UDP_REQUEST_MAX,  // an answer is never longer than its request
};

enum UdpFlags { UDP_ATTACH = 1, UDP_PLAIN = 2 };

/// A request. Its pointers point into the datagram.
typedef struct UdpRequest {
  size_t size;  // size of the datagram
  uint32_t version;
  uint64_t hash;
  uint16_t sequence;  // sequence of the client's first data datagram
  uint8_t extension_size;
  const uint8_t *extension;
} UdpRequest;

/// The extension of a request. Its pointers point into the datagram or, when it is
/// written, to memory of the caller.
typedef struct UdpExtension {
  uint8_t flags;              // UdpFlags
  const uint8_t *cookie;      // UDP_COOKIE_SIZE bytes; NULL when writing: no cookie yet
  const uint8_t *client_key;  // UDP_KEY_SIZE bytes
  uint32_t peer;              // number of the peer, with UDP_ATTACH
  const uint8_t *proof;       // UDP_KEY_SIZE bytes, with UDP_ATTACH
} UdpExtension;

typedef enum UdpAnswerType {
  UDP_ACCEPTED = 1,
  UDP_REJECTED = 2,
  UDP_CHALLENGE = 3,
} UdpAnswerType;

/// The answer of a server to a request. Its pointers point into the datagram or, when
/// it is written, to memory of the caller.
typedef struct UdpAnswer {
  UdpAnswerType type;
  uint16_t sequence;          // ACCEPTED: sequence of the server's first data datagram
  uint16_t port;              // ACCEPTED: the port for all later datagrams
  const uint8_t *server_key;  // ACCEPTED: UDP_KEY_SIZE bytes; NULL for an attached
                              // connection
  Code code;                  // REJECTED
  const char *text;           // REJECTED: `text_size` bytes; a C string when writing
  size_t text_size;
  uint16_t retry_s;       // REJECTED with CODE_UNAVAILABLE: see Ending
  const uint8_t *cookie;  // CHALLENGE: UDP_COOKIE_SIZE bytes
} UdpAnswer;

/// Returns whether a datagram belongs to the connection protocol: it begins with three
/// zero bytes, and has more than three bytes.
bool udp_is_connecting(const uint8_t *bytes, size_t size);

/// Parses a request without its extension. Returns ERR_MALFORMED for a datagram that
/// gets no answer, because its type, its size or its transport is wrong.
int udp_read_request(const uint8_t *bytes, size_t size, UdpRequest *request);

/// Parses the extension of a request. Returns ERR_MALFORMED if its version or a flag is
/// unknown, or if it is too short. A server rejects such a request with Unsupported. In
/// any case, sets the fields that the extension contains.
int udp_read_extension(const UdpRequest *request, UdpExtension *extension);

/// Returns the cookie in the extension, or NULL if the extension is too short or the
/// cookie is zero.
const uint8_t *udp_request_cookie(const UdpRequest *request);

/// Writes a request for this version of the transport. Its size is at least
/// UDP_REQUEST_MIN bytes. Returns the size.
size_t udp_write_request(uint8_t out[UDP_REQUEST_MAX], uint64_t hash, uint16_t sequence,
                         const UdpExtension *extension);

/// Parses the answer of a server; returns ERR_MALFORMED for any other datagram. The
/// text of REJECTED may not be UTF-8.
int udp_read_answer(const uint8_t *bytes, size_t size, UdpAnswer *answer);

/// Writes an answer to a request of `request_size` bytes. Cuts the text of REJECTED
/// between characters, so that the answer is not longer than the request. Returns the
/// answer's size.
size_t udp_write_answer(uint8_t out[UDP_ANSWER_MAX], size_t request_size,
                        const UdpAnswer *answer);

/// The server's data for checking a request by the rules that need no state. These are
/// the rules in the table of section 16, down to the extension.
typedef struct UdpDoor {
  const UdpCookies *cookies;
  bool is_hash_good;  // whether HELLO could have the request's protocol hash
  bool allows_plain;
} UdpDoor;

/// The reason why a request is rejected.
typedef struct UdpFault {
  Code code;
  const char *text;  // the broken rule and the remedy; static
} UdpFault;

/// Checks a request that udp_read_request has parsed. Returns UDP_ACCEPTED and sets
/// `extension`; or UDP_REJECTED and sets `fault`; or UDP_CHALLENGE, and the caller
/// answers with the cookie of udp_cookie_make.
UdpAnswerType udp_judge(const UdpDoor *door, const UdpRequest *request,
                        const UdpOrigin *origin, UdpExtension *extension,
                        UdpFault *fault);
