// Requests and answers. Fields are in the order of docs/protocol.md.
#include "wire/udp/handshake.h"

#include <string.h>

#include "base/err.h"
#include "base/integers.h"
#include "base/text.h"
#include "wire/reader.h"

static const uint64_t TRANSPORT_ID = 0x0045454749524550;  // "PERIGEE"

enum {
  CONNECTING_SIZE = 3,
  REQUEST_TYPE = 0,
  COOKIE_AT = 2,  // offset in the extension
  REJECTED_HEAD = 6,
  RETRY_SIZE = 2,  // size of retry_s, which CODE_UNAVAILABLE adds after the text
};

static const uint8_t connecting[CONNECTING_SIZE];

bool udp_is_connecting(const uint8_t *bytes, size_t size) {
  return size > CONNECTING_SIZE && memcmp(bytes, connecting, CONNECTING_SIZE) == 0;
}

// --- Reading ---

int udp_read_request(const uint8_t *bytes, size_t size, UdpRequest *request) {
  if (!udp_is_connecting(bytes, size)) return ERR_MALFORMED;
  Reader reader = reader_of(bytes + CONNECTING_SIZE, size - CONNECTING_SIZE);
  bool is_ours = reader_u8(&reader) == REQUEST_TYPE;
  is_ours = reader_u64(&reader) == TRANSPORT_ID && is_ours;
  request->size = size;
  request->version = reader_u32(&reader);
  request->hash = reader_u64(&reader);
  request->sequence = reader_u16(&reader);
  request->extension_size = reader_u8(&reader);
  request->extension = reader_bytes(&reader, request->extension_size);
  return is_ours && reader_is_done(&reader) ? 0 : ERR_MALFORMED;
}

int udp_read_extension(const UdpRequest *request, UdpExtension *extension) {
  Reader reader = reader_of(request->extension, request->extension_size);
  *extension = (UdpExtension){0};
  uint8_t version = reader_u8(&reader);
  extension->flags = reader_u8(&reader);
  extension->cookie = reader_bytes(&reader, UDP_COOKIE_SIZE);
  extension->client_key = reader_bytes(&reader, UDP_KEY_SIZE);
  if (extension->flags & UDP_ATTACH) {
    extension->peer = reader_u32(&reader);
    extension->proof = reader_bytes(&reader, UDP_KEY_SIZE);
  }
  bool is_known = version == UDP_EXTENSION_VERSION &&
                  (extension->flags & ~(UDP_ATTACH | UDP_PLAIN)) == 0;
  return is_known && !reader.failed ? 0 : ERR_MALFORMED;
}

const uint8_t *udp_request_cookie(const UdpRequest *request) {
  static const uint8_t none[UDP_COOKIE_SIZE];
  if (request->extension_size < COOKIE_AT + UDP_COOKIE_SIZE) return NULL;
  const uint8_t *cookie = request->extension + COOKIE_AT;
  return memcmp(cookie, none, UDP_COOKIE_SIZE) == 0 ? NULL : cookie;
}

static int read_accepted(Reader *reader, UdpAnswer *answer) {
  answer->sequence = reader_u16(reader);
  answer->port = reader_u16(reader);
  if (reader_left(reader) == 0) return reader_is_done(reader) ? 0 : ERR_MALFORMED;
  bool is_key = reader_u8(reader) == UDP_KEY_SIZE;
  answer->server_key = reader_bytes(reader, UDP_KEY_SIZE);
  return is_key && reader_is_done(reader) ? 0 : ERR_MALFORMED;
}

static int read_rejected(Reader *reader, UdpAnswer *answer) {
  answer->code = (Code)reader_u16(reader);
  if (reader->failed) return ERR_MALFORMED;
  answer->text_size = reader_left(reader);
  if (answer->code == CODE_UNAVAILABLE) {
    if (answer->text_size < RETRY_SIZE) return ERR_MALFORMED;
    answer->text_size -= RETRY_SIZE;
  }
  answer->text = (const char *)reader_bytes(reader, answer->text_size);
  if (answer->code == CODE_UNAVAILABLE) answer->retry_s = reader_u16(reader);
  return 0;
}

int udp_read_answer(const uint8_t *bytes, size_t size, UdpAnswer *answer) {
  if (!udp_is_connecting(bytes, size)) return ERR_MALFORMED;
  Reader reader = reader_of(bytes + CONNECTING_SIZE, size - CONNECTING_SIZE);
  *answer = (UdpAnswer){.type = (UdpAnswerType)reader_u8(&reader)};
  switch (answer->type) {
    case UDP_ACCEPTED:
      return read_accepted(&reader, answer);
    case UDP_REJECTED:
      return read_rejected(&reader, answer);
    case UDP_CHALLENGE:
      answer->cookie = reader_bytes(&reader, UDP_COOKIE_SIZE);
      return reader_is_done(&reader) ? 0 : ERR_MALFORMED;
  }
  return ERR_MALFORMED;
}

// --- Writing ---

static uint8_t *put_bytes(uint8_t *out, const void *bytes, size_t size) {
  memcpy(out, bytes, size);
  return out + size;
}

static uint8_t *put_head(uint8_t *out, uint8_t type) {
  out = put_bytes(out, connecting, CONNECTING_SIZE);
  return put_u8(out, type);
}

static void put_extension(uint8_t *out, const UdpExtension *extension) {
  out = put_u8(out, UDP_EXTENSION_VERSION);
  out = put_u8(out, extension->flags);
  if (extension->cookie) memcpy(out, extension->cookie, UDP_COOKIE_SIZE);
  out += UDP_COOKIE_SIZE;
  out = put_bytes(out, extension->client_key, UDP_KEY_SIZE);
  if (!(extension->flags & UDP_ATTACH)) return;
  out = put_u32(out, extension->peer);
  put_bytes(out, extension->proof, UDP_KEY_SIZE);
}

size_t udp_write_request(uint8_t out[UDP_REQUEST_MAX], uint64_t hash, uint16_t sequence,
                         const UdpExtension *extension) {
  const size_t size =
      extension->flags & UDP_ATTACH ? UDP_EXTENSION_ATTACH : UDP_EXTENSION_ALONE;
  memset(out, 0, UDP_REQUEST_HEAD + size);
  uint8_t *at = put_head(out, REQUEST_TYPE);
  at = put_u64(at, TRANSPORT_ID);
  at = put_u32(at, UDP_TRANSPORT_VERSION);
  at = put_u64(at, hash);
  at = put_u16(at, sequence);
  at = put_u8(at, size);
  put_extension(at, extension);
  return UDP_REQUEST_HEAD + size;
}

static uint8_t *put_rejected(uint8_t *at, size_t request_size,
                             const UdpAnswer *answer) {
  size_t max = request_size - REJECTED_HEAD;
  bool has_retry = answer->code == CODE_UNAVAILABLE;
  if (has_retry) max -= RETRY_SIZE;
  at = put_u16(at, answer->code);
  at = put_bytes(at, answer->text, text_cut(answer->text, strlen(answer->text), max));
  return has_retry ? put_u16(at, answer->retry_s) : at;
}

size_t udp_write_answer(uint8_t out[UDP_ANSWER_MAX], size_t request_size,
                        const UdpAnswer *answer) {
  uint8_t *at = put_head(out, (uint8_t)answer->type);
  switch (answer->type) {
    case UDP_ACCEPTED:
      at = put_u16(at, answer->sequence);
      at = put_u16(at, answer->port);
      if (!answer->server_key) break;
      at = put_u8(at, UDP_KEY_SIZE);
      at = put_bytes(at, answer->server_key, UDP_KEY_SIZE);
      break;
    case UDP_REJECTED:
      at = put_rejected(at, request_size, answer);
      break;
    case UDP_CHALLENGE:
      at = put_bytes(at, answer->cookie, UDP_COOKIE_SIZE);
      break;
  }
  return (size_t)(at - out);
}

// --- Checking a request ---

static UdpAnswerType reject(UdpFault *fault, Code code, const char *text) {
  *fault = (UdpFault){code, text};
  return UDP_REJECTED;
}

// Returns why an extension that udp_read_extension has refused is malformed.
static const char *extension_fault(const UdpRequest *request,
                                   const UdpExtension *extension) {
  if (request->extension[0] != UDP_EXTENSION_VERSION)
    return "version 1 of the extension is served: send that";
  if (extension->flags & ~(UDP_ATTACH | UDP_PLAIN))
    return "unknown flags in the extension: 1 (ATTACH) and 2 (PLAIN) are all";
  return extension->flags & UDP_ATTACH
             ? "an extension with ATTACH has 102 bytes at least: send all its fields"
             : "an extension has 66 bytes at least: send all its fields";
}

UdpAnswerType udp_judge(const UdpDoor *door, const UdpRequest *request,
                        const UdpOrigin *origin, UdpExtension *extension,
                        UdpFault *fault) {
  if (request->version != UDP_TRANSPORT_VERSION)
    return reject(fault, CODE_VERSION_MISMATCH,
                  "version 1 of the UDP transport is served: ask for that");
  if (!door->is_hash_good)
    return reject(fault, CODE_HASH_MISMATCH,
                  "not this server's protocol hash: send that, or 0 for no schema");
  if (request->size < UDP_REQUEST_MIN)
    return reject(fault, CODE_UNSUPPORTED,
                  "pad requests to 64 bytes: no answer is longer");
  const uint8_t *cookie = udp_request_cookie(request);
  if (!cookie || !udp_cookie_is_good(door->cookies, origin, request->hash, cookie))
    return UDP_CHALLENGE;
  if (udp_read_extension(request, extension) < 0)
    return reject(fault, CODE_UNSUPPORTED, extension_fault(request, extension));
  if (extension->flags & UDP_PLAIN && !door->allows_plain)
    return reject(fault, CODE_UNSUPPORTED,
                  "PLAIN is not allowed here: seal, or run the server with udp_plain");
  return UDP_ACCEPTED;
}
