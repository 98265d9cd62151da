// Any payload of any type: a payload that a decoder accepts has the same bytes when it
// is encoded again. The first byte of the input chooses the type.
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "wire/control.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_and_write(const Packet *packet, Buf *buf) {
  Hello hello;
  Text text, rest;
  uint16_t u16;
  uint32_t u32;
  uint64_t u64;
  int err;
  switch (packet->type) {
    case CONTROL_HELLO:
      if ((err = control_read_hello(packet, &hello))) return err;
      buf_u16(buf, hello.version);
      buf_u64(buf, hello.protocol_hash);
      buf_str8(buf, hello.name.bytes, hello.name.size);
      buf_str16(buf, hello.token.bytes, hello.token.size);
      buf_append(buf, hello.resume_token, UUID_SIZE);
      buf_u32(buf, hello.reliable_received);
      return 0;
    case CONTROL_JOIN:
      if ((err = control_read_name(packet, &text))) return err;
      buf_str8(buf, text.bytes, text.size);
      return 0;
    case CONTROL_JOIN_WITH:
      if ((err = control_read_name_rest(packet, &text, &rest))) return err;
      buf_str8(buf, text.bytes, text.size);
      buf_append(buf, rest.bytes, rest.size);
      return 0;
    case CONTROL_LEAVE:
      if ((err = control_read_u32(packet, &u32))) return err;
      buf_u32(buf, u32);
      return 0;
    case CONTROL_PING:
      if ((err = control_read_u64(packet, &u64))) return err;
      buf_u64(buf, u64);
      return 0;
    case CONTROL_CHANNEL_CLOSE:
      if ((err = control_read_u16(packet, &u16))) return err;
      buf_u16(buf, u16);
      return 0;
    case CONTROL_BROADCAST:
      if ((err = control_read_room_data(packet, &u32, &text))) return err;
      buf_u32(buf, u32);
      buf_append(buf, text.bytes, text.size);
      return 0;
    default:
      return control_read_empty(packet);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  Packet packet = {
      .type = data[0], .payload = data + 1, .length = (uint32_t)(size - 1)};
  Buf buf = {0};
  if (read_and_write(&packet, &buf) == 0) {
    assert(buf.size == packet.length);
    assert(buf.size == 0 || memcmp(buf.data, packet.payload, buf.size) == 0);
  }
  buf_deinit(&buf);
  return 0;
}
