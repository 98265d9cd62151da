// A link whose other side has the keys and sends anything: any body, any number, any
// acknowledgement, at any time. Meanwhile the link sends, is throttled and unthrottled,
// requests paths, and is closed. Its memory stays bounded, and no number is accepted
// twice.
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/integers.h"
#include "base/mem.h"
#include "udp_check.h"
#include "wire/reader.h"

enum { PRODUCED_MAX = 5000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void flush(UdpLink *link, uint64_t now_us) {
  uint8_t out[UDP_DATAGRAM_MAX];
  for (int n = 0; udp_link_produce(link, now_us, out) > 0; n++) {
    assert(n < PRODUCED_MAX);
    check_link(link);
  }
  assert(udp_link_deadline(link) > now_us);
}

static void take(UdpLink *link) {
  UdpArrival arrival;
  while (udp_link_next(link, &arrival)) {
    if (arrival.kind == UDP_ARRIVAL_PACKET) assert(udp_may_be_lost(&arrival.packet));
    if (arrival.kind == UDP_ARRIVAL_STREAM) assert(arrival.bytes && arrival.size > 0);
  }
}

// Makes a datagram as the fuzzer's input says: a number near the next one, an
// acknowledgement near the last one sent, and a body.
static void receive(UdpLink *link, Reader *input, uint64_t now_us) {
  uint8_t bytes[UDP_DATAGRAM_MAX] = {9, 9, 9};
  const uint8_t how = reader_u8(input);
  uint16_t number = (uint16_t)(link->window.next + how - 2);
  if (how == UINT8_MAX) number = reader_u16(input);
  uint16_t ack = (uint16_t)(link->sent.next - 1 - reader_u8(input) % 64);
  uint8_t *at = put_u16(bytes + UDP_CHANNEL_SIZE, number);
  at = put_u16(at, ack);
  at = put_u64(at, reader_u64(input));
  size_t size = reader_u8(input) * 4u;
  if (size > reader_left(input)) size = reader_left(input);
  if (size > 0) memcpy(at, reader_bytes(input, size), size);
  size += (size_t)(at - bytes);
  UdpTaken taken = udp_link_receive(link, now_us, bytes, size);
  check_link(link);
  if (taken == UDP_TAKEN || taken == UDP_NEWEST) take(link);
  if (taken == UDP_BROKEN && reader_u8(input) % 2) udp_link_close(link, CODE_PROTOCOL);
  if (taken == UDP_REFUSED) return;
  assert(udp_link_receive(link, now_us, bytes, size) == UDP_REFUSED);
}

// Calls one function of the link between two datagrams, as its owner would.
static void act(UdpLink *link, uint8_t how, uint64_t now_us) {
  uint8_t out[UDP_DATAGRAM_MAX];
  switch (how % 8) {
    case 0:
      udp_link_throttle(link);
      break;
    case 1:
      udp_link_unthrottle(link);
      take(link);
      break;
    case 2: {
      size_t size = udp_link_produce_challenge(link, now_us, how, how, out);
      assert(size <= how);
      break;
    }
    case 3:
      udp_link_trust(link);
      break;
    case 4:
      udp_link_drop_queued(link);
      break;
    case 5:
      if (how == 253) udp_link_close(link, CODE_CLOSED);
      break;
    default:
      assert(udp_link_passing(link, now_us) <= UDP_GONE);
  }
  check_link(link);
}

static void send(UdpLink *link, uint8_t what) {
  static const uint8_t stream[4096];
  uint8_t packet[UDP_PACKET_MAX] = {0};
  packet_write_header(packet, &(Packet){.channel = 3000, .length = what});
  udp_link_send(link, packet, PACKET_HEADER_SIZE + what, what % 4);
  if (!link->is_attached) udp_link_stream_write(link, stream, what * 16u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  size_t live = mem_live();
  Reader input = reader_of(data, size);
  uint8_t options = reader_u8(&input);
  uint64_t now_us = 1000000;
  UdpLinkParams params = {.is_unencrypted = true,
                          .is_attached = options & 1,
                          .is_stranger = options & 2,
                          .queue_capacity = 8,
                          .first_sent = (uint16_t)(options * 300),
                          .first_received = (uint16_t)(options * 500),
                          .keys = {.channel = {9, 9, 9}}};
  UdpLink *link = udp_link_new(&params, now_us);
  while (reader_left(&input) > 0) {
    uint8_t what = reader_u8(&input);
    if (what % 4 == 0)
      send(link, what);
    else if (what % 16 == 1)
      act(link, reader_u8(&input), now_us);
    else if (what == 253)  // like after a sleep of the machine
      now_us += UINT64_C(1) << reader_u8(&input) % 38;
    else if (what % 4 == 1)
      now_us += (uint64_t)what * what * 20;
    else
      receive(link, &input, now_us);
    flush(link, now_us);
  }
  udp_link_free(link);
  assert(mem_live() == live);
  return 0;
}
