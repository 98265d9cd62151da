// The items in the body of a data datagram (docs/protocol.md, section 16). They are the
// sealed bytes behind the acknowledgement.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/packet.h"
#include "wire/reader.h"

enum {
  UDP_HEAD_SIZE = 5,    // size of channel and sequence
  UDP_ACK_SIZE = 10,    // size of the acknowledgement, with which every body begins
  UDP_ACK_BITS = 64,    // earlier numbers that an acknowledgement also reports
  UDP_PACKET_HEAD = 1,  // bytes before a packet
  UDP_LATEST_HEAD = 7,  // bytes before a packet with a key
  UDP_STREAM_HEAD = 7,  // bytes before a piece of the stream
  UDP_PATH_SIZE = 9,    // size of PATH_CHALLENGE and PATH_RESPONSE
};

typedef enum UdpItemKind {
  UDP_ITEM_PACKET = 0,
  UDP_ITEM_LATEST = 1,
  UDP_ITEM_STREAM = 2,
  UDP_ITEM_PATH_CHALLENGE = 3,
  UDP_ITEM_PATH_RESPONSE = 4,
  UDP_ITEM_PROBE = 5,
  UDP_ITEM_CLOSE = 6,
} UdpItemKind;

typedef struct UdpItem {
  UdpItemKind kind;
  Packet packet;         // PACKET, LATEST
  uint32_t key;          // LATEST
  uint16_t order;        // LATEST
  uint32_t offset;       // STREAM: low 32 bits of the offset
  uint16_t size;         // STREAM: number of bytes
  const uint8_t *bytes;  // STREAM
  uint64_t path;         // PATH_CHALLENGE, PATH_RESPONSE
  uint16_t code;         // CLOSE
} UdpItem;

/// Reads the next item, whose pointers point into the body. Returns 0, or ERR_MALFORMED
/// if the item breaks a rule.
int udp_read_item(Reader *body, UdpItem *item);

/// Write the head of an item; return the position behind it.
uint8_t *udp_put_latest(uint8_t *out, uint32_t key, uint16_t order);
uint8_t *udp_put_stream(uint8_t *out, uint64_t offset, uint16_t size);
