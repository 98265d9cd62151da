// Reads and writes the 12-byte header.
#include "wire/packet.h"

#include <stdbool.h>

#include "base/err.h"
#include "base/integers.h"

enum { KNOWN_FLAGS = PACKET_RELIABLE | PACKET_REQUEST | PACKET_RESPONSE };

static bool is_well_formed(const Packet *packet) {
  const uint8_t both = PACKET_REQUEST | PACKET_RESPONSE;
  return packet->priority < PRIORITY_COUNT && !(packet->flags & ~KNOWN_FLAGS) &&
         (packet->flags & both) != both;
}

int64_t packet_read(const uint8_t *bytes, size_t size, uint32_t max_payload,
                    Packet *packet) {
  if (size < PACKET_HEADER_SIZE) return 0;
  Packet header = {
      .channel = get_u16(bytes),
      .type = get_u16(bytes + 2),
      .priority = bytes[4],
      .flags = bytes[5],
      .ref = get_u16(bytes + 6),
      .length = get_u32(bytes + 8),
      .payload = bytes + PACKET_HEADER_SIZE,
  };
  if (!is_well_formed(&header)) return ERR_MALFORMED;
  if (header.length > max_payload) return ERR_TOO_LARGE;
  if (size - PACKET_HEADER_SIZE < header.length) return 0;
  *packet = header;
  return (int64_t)PACKET_HEADER_SIZE + header.length;
}

void packet_write_header(uint8_t out[PACKET_HEADER_SIZE], const Packet *packet) {
  out = put_u16(out, packet->channel);
  out = put_u16(out, packet->type);
  out = put_u8(out, packet->priority);
  out = put_u8(out, packet->flags);
  out = put_u16(out, packet->ref);
  put_u32(out, packet->length);
}

void packet_answer(Packet *packet, const Packet *request) {
  if (!request || !(request->flags & PACKET_REQUEST)) return;
  packet->flags |= PACKET_RESPONSE;
  packet->ref = request->ref;
}

void packet_answer_reliably(Packet *packet, const Packet *request) {
  packet_answer(packet, request);
  if (packet->flags & PACKET_RESPONSE)
    packet->flags |= request->flags & PACKET_RELIABLE;
}

void packet_append(Buf *buf, const Packet *packet) {
  packet_write_header(buf_reserve(buf, PACKET_HEADER_SIZE), packet);
  buf->size += PACKET_HEADER_SIZE;
  buf_append(buf, packet->payload, packet->length);
}
