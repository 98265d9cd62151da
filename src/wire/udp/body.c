// Items of a body. Fields are in the order of docs/protocol.md.
#include "wire/udp/body.h"

#include "base/err.h"
#include "base/integers.h"
#include "wire/control.h"
#include "wire/udp/link.h"

bool udp_may_be_lost(const Packet *packet) {
  if (packet->flags) return false;
  return packet->channel != CHANNEL_CONTROL || packet->type == CONTROL_BROADCAST ||
         packet->type == CONTROL_RELAYED;
}

static int read_packet(Reader *body, Packet *packet) {
  int64_t size = packet_read(body->at, reader_left(body), UDP_PACKET_MAX, packet);
  if (size <= 0 || !udp_may_be_lost(packet)) return ERR_MALFORMED;
  reader_bytes(body, (size_t)size);
  return 0;
}

static int read_rest(Reader *body, UdpItem *item) {
  switch (item->kind) {
    case UDP_ITEM_LATEST:
      item->key = reader_u32(body);
      item->order = reader_u16(body);
      return read_packet(body, &item->packet);
    case UDP_ITEM_PACKET:
      return read_packet(body, &item->packet);
    case UDP_ITEM_STREAM:
      item->offset = reader_u32(body);
      item->size = reader_u16(body);
      item->bytes = reader_bytes(body, item->size);
      return item->size > 0 ? 0 : ERR_MALFORMED;
    case UDP_ITEM_PATH_CHALLENGE:
    case UDP_ITEM_PATH_RESPONSE:
      item->path = reader_u64(body);
      return 0;
    case UDP_ITEM_PROBE:
      return 0;
    case UDP_ITEM_CLOSE:
      item->code = reader_u16(body);
      return reader_left(body) == 0 ? 0 : ERR_MALFORMED;
  }
  return ERR_MALFORMED;
}

int udp_read_item(Reader *body, UdpItem *item) {
  item->kind = (UdpItemKind)reader_u8(body);
  int err = read_rest(body, item);
  return err < 0 || body->failed ? ERR_MALFORMED : 0;
}

uint8_t *udp_put_latest(uint8_t *out, uint32_t key, uint16_t order) {
  *out++ = UDP_ITEM_LATEST;
  return put_u16(put_u32(out, key), order);
}

uint8_t *udp_put_stream(uint8_t *out, uint64_t offset, uint16_t size) {
  *out++ = UDP_ITEM_STREAM;
  return put_u16(put_u32(out, (uint32_t)offset), size);
}
