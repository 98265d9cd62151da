// Any stream of bytes: packets have the sizes in their headers, and encoding them again
// gives the same bytes.
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "wire/packet.h"

enum { MAX_PAYLOAD = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t at = 0;
  Packet packet;
  int64_t taken;
  while ((taken = packet_read(data + at, size - at, MAX_PAYLOAD, &packet)) > 0) {
    assert((size_t)taken <= size - at);
    assert(packet.length <= MAX_PAYLOAD);
    assert(taken == (int64_t)PACKET_HEADER_SIZE + packet.length);
    assert(packet.payload == data + at + PACKET_HEADER_SIZE);
    Buf buf = {0};
    packet_append(&buf, &packet);
    assert(buf.size == (size_t)taken && memcmp(buf.data, data + at, buf.size) == 0);
    buf_deinit(&buf);
    at += (size_t)taken;
  }
  assert(taken == 0 || taken == ERR_MALFORMED || taken == ERR_TOO_LARGE);
  // A header is checked alone: later bytes do not change an error.
  if (taken < 0)
    assert(packet_read(data + at, PACKET_HEADER_SIZE, MAX_PAYLOAD, &packet) == taken);
  return 0;
}
