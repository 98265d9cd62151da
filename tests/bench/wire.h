// The bytes of the protocol that the bench needs, written from docs/protocol.md and not
// from src/wire, so that the floor and the load generator are independent.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  WIRE_HEADER = 12,
  WIRE_NAME_MAX = 64,
  WIRE_PAYLOAD_MAX = 65536,
  WIRE_PACKET_MAX = WIRE_HEADER + WIRE_PAYLOAD_MAX,
  WIRE_NORMAL = 2,  // priority
  WIRE_REQUEST = 2,
  WIRE_RESPONSE = 4,
};

enum WireType {
  WIRE_HELLO = 1,
  WIRE_JOIN = 2,
  WIRE_LEAVE = 3,
  WIRE_BROADCAST = 4,
  WIRE_PING = 5,
  WIRE_PONG = 6,
  WIRE_BYE = 11,
  WIRE_WELCOME = 129,
  WIRE_JOINED = 130,
  WIRE_LEFT = 131,
  WIRE_RELAYED = 132,
  WIRE_PEER_JOINED = 133,
  WIRE_PEER_LEFT = 134,
  WIRE_ERROR = 135,
  WIRE_REJECTED = 136,
  WIRE_CLOSING = 137,
};

typedef struct WireHeader {
  uint16_t channel;
  uint16_t type;
  uint8_t priority;
  uint8_t flags;
  uint16_t ref;
  uint32_t length;
} WireHeader;

/// Bytes that are added at the end and removed from the front.
typedef struct Bytes {
  uint8_t *data;
  size_t size, capacity;
} Bytes;

static inline uint16_t wire_u16(const uint8_t *p) {
  uint16_t v;
  memcpy(&v, p, 2);
  return v;
}

static inline uint32_t wire_u32(const uint8_t *p) {
  uint32_t v;
  memcpy(&v, p, 4);
  return v;
}

static inline uint64_t wire_u64(const uint8_t *p) {
  uint64_t v;
  memcpy(&v, p, 8);
  return v;
}

/// Returns space for `size` more bytes at the end, which the caller fills.
static inline uint8_t *bytes_add(Bytes *bytes, size_t size) {
  if (bytes->size + size > bytes->capacity) {
    bytes->capacity = (bytes->size + size) * 2;
    bytes->data = realloc(bytes->data, bytes->capacity);
    if (!bytes->data) abort();
  }
  uint8_t *at = bytes->data + bytes->size;
  bytes->size += size;
  return at;
}

static inline void bytes_put(Bytes *bytes, const void *data, size_t size) {
  if (size) memcpy(bytes_add(bytes, size), data, size);
}

static inline void bytes_u16(Bytes *bytes, uint16_t v) { bytes_put(bytes, &v, 2); }

static inline void bytes_u32(Bytes *bytes, uint32_t v) { bytes_put(bytes, &v, 4); }

static inline void bytes_u64(Bytes *bytes, uint64_t v) { bytes_put(bytes, &v, 8); }

static inline void bytes_str8(Bytes *bytes, const void *text, size_t size) {
  *bytes_add(bytes, 1) = (uint8_t)size;
  bytes_put(bytes, text, size);
}

static inline void bytes_zeros(Bytes *bytes, size_t size) {
  memset(bytes_add(bytes, size), 0, size);
}

/// Appends a header on the control channel; returns its offset for bytes_packet_end.
static inline size_t bytes_packet(Bytes *bytes, uint16_t type, uint8_t flags,
                                  uint16_t ref) {
  size_t start = bytes->size;
  const WireHeader header = {
      .type = type, .priority = WIRE_NORMAL, .flags = flags, .ref = ref};
  memcpy(bytes_add(bytes, WIRE_HEADER), &header, WIRE_HEADER);
  return start;
}

/// Writes the length of the packet that began at `start`.
static inline void bytes_packet_end(Bytes *bytes, size_t start) {
  uint32_t length = (uint32_t)(bytes->size - start - WIRE_HEADER);
  memcpy(bytes->data + start + 8, &length, 4);
}

static inline void bytes_deinit(Bytes *bytes) {
  free(bytes->data);
  *bytes = (Bytes){0};
}

_Static_assert(sizeof(WireHeader) == WIRE_HEADER, "the header has no padding");
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the bench is for little-endian machines"
#endif
