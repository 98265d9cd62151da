// The connection protocol of UDP, as a server and as a client read it. A decoded
// datagram is encoded again and decodes to the same values. No answer is longer than
// its request.
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "wire/udp/handshake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t SECRET[UDP_KEY_SIZE] = {1};
static const UdpOrigin ORIGIN = {.port = 7777};

static const UdpCookies *cookies(void) {
  static UdpCookies all;
  if (all.slot == 0) udp_cookies_init(&all, SECRET, UINT64_MAX);
  return &all;
}

static void write_again(const UdpRequest *request, const UdpExtension *extension) {
  uint8_t out[UDP_REQUEST_MAX];
  UdpRequest again;
  UdpExtension same;
  size_t size = udp_write_request(out, request->hash, request->sequence, extension);
  assert(udp_read_request(out, size, &again) == 0);
  assert(again.hash == request->hash && again.sequence == request->sequence);
  assert(udp_read_extension(&again, &same) == 0);
  assert(same.flags == extension->flags && same.peer == extension->peer);
  assert(memcmp(same.cookie, extension->cookie, UDP_COOKIE_SIZE) == 0);
  assert(memcmp(same.client_key, extension->client_key, UDP_KEY_SIZE) == 0);
}

static void answer(const UdpRequest *request, const UdpAnswer *what) {
  uint8_t out[UDP_ANSWER_MAX];
  UdpAnswer read;
  size_t size = udp_write_answer(out, request->size, what);
  assert(size <= request->size);
  assert(udp_read_answer(out, size, &read) == 0 && read.type == what->type);
}

static void as_server(const uint8_t *data, size_t size) {
  UdpRequest request;
  UdpExtension extension;
  if (udp_read_request(data, size, &request) < 0) return;
  assert(request.size == size && size >= UDP_REQUEST_HEAD);
  if (udp_read_extension(&request, &extension) == 0) write_again(&request, &extension);
  UdpFault fault = {0};
  const UdpDoor door = {.cookies = cookies(), .is_hash_good = request.hash % 2 == 0};
  uint8_t cookie[UDP_COOKIE_SIZE];
  switch (udp_judge(&door, &request, &ORIGIN, &extension, &fault)) {
    case UDP_REJECTED:
      assert(fault.code != CODE_CLOSED && fault.text[0]);
      answer(
          &request,
          &(UdpAnswer){.type = UDP_REJECTED, .code = fault.code, .text = fault.text});
      answer(&request,
             &(UdpAnswer){.type = UDP_REJECTED,
                          .code = fault.code,
                          .text = "h\xc3\xa4tte l\xc3\xa4nger sein sollen, so "
                                  "geht das nicht"});
      break;
    case UDP_CHALLENGE:
      udp_cookie_make(cookies(), &ORIGIN, request.hash, cookie);
      answer(&request, &(UdpAnswer){.type = UDP_CHALLENGE, .cookie = cookie});
      break;
    case UDP_ACCEPTED:
      assert(!(extension.flags & UDP_PLAIN));
      answer(&request, &(UdpAnswer){.type = UDP_ACCEPTED, .server_key = SECRET});
      break;
  }
}

static void as_client(const uint8_t *data, size_t size) {
  UdpAnswer what;
  if (udp_read_answer(data, size, &what) < 0) return;
  if (what.type == UDP_REJECTED) assert(what.text_size == size - 6);
  if (what.type == UDP_ACCEPTED) assert(size == (what.server_key ? 41u : 8u));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // A valid cookie cannot be guessed, so the input decides whether to insert one.
  uint8_t copy[UDP_REQUEST_MAX];
  UdpRequest request;
  as_server(data, size);
  as_client(data, size);
  if (udp_read_request(data, size, &request) < 0 || request.extension_size < 34)
    return 0;
  memcpy(copy, data, size);
  udp_cookie_make(cookies(), &ORIGIN, request.hash, copy + UDP_REQUEST_HEAD + 2);
  as_server(copy, size);
  return 0;
}
