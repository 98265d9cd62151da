// The packet that every transport carries: a 12-byte header and a payload
// (docs/protocol.md, section 1). No I/O, no clock, no allocation.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { PACKET_HEADER_SIZE = 12 };

typedef enum Priority {
  PRIORITY_CRITICAL,
  PRIORITY_HIGH,
  PRIORITY_NORMAL,
  PRIORITY_LOW,
  PRIORITY_COUNT
} Priority;

enum PacketFlags { PACKET_RELIABLE = 1, PACKET_REQUEST = 2, PACKET_RESPONSE = 4 };

enum Channels {
  CHANNEL_CONTROL = 0,
  CHANNEL_RESERVED = 1,
  CHANNEL_MESSAGE = 2,
  CHANNEL_SERVED_FIRST = 3,  // first channel that a client or the script may serve
  CHANNEL_PLUGIN_FIRST = 1000,
  CHANNEL_PLUGIN_LAST = 1999,
  CHANNEL_LLM_FIRST = 2000,
  CHANNEL_LLM_LAST = 2999,
};

typedef struct Packet {
  uint16_t channel;
  uint16_t type;
  uint8_t priority;
  uint8_t flags;
  uint16_t ref;
  uint32_t length;         // bytes of the payload
  const uint8_t *payload;  // payload inside the bytes that were read; not owned
} Packet;

/// Reads the packet at the start of `bytes`. Returns its size, 0 if a part of it has
/// not arrived, ERR_TOO_LARGE if its length exceeds `max_payload`, or ERR_MALFORMED if
/// the header breaks a rule. Checks the header before the payload arrives. Sets
/// `packet` only if the result is positive.
int64_t packet_read(const uint8_t *bytes, size_t size, uint32_t max_payload,
                    Packet *packet);

/// Writes the header of `packet` to `out`.
void packet_write_header(uint8_t out[PACKET_HEADER_SIZE], const Packet *packet);

/// Makes `packet` the answer to `request`, with RESPONSE and the request's ref. Does
/// nothing if `request` is NULL or lacks REQUEST.
void packet_answer(Packet *packet, const Packet *request);

/// Works like packet_answer, and makes the answer RELIABLE if `request` is RELIABLE. If
/// such an answer is lost with the connection, it arrives on the next connection.
void packet_answer_reliably(Packet *packet, const Packet *request);

/// Appends header and payload.
void packet_append(Buf *buf, const Packet *packet);
