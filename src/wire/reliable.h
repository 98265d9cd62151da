// One side of the RELIABLE stream of a session (docs/protocol.md, section 4). It counts
// the packets sent and received, and keeps the sent packets without an acknowledgement,
// the oldest first. No I/O and no clock.
//
// The wire carries no packet numbers, only counts, modulo 2^32. After a resume, each
// side continues from the count that the other side has reported in HELLO or WELCOME.
// Therefore a packet that has arrived is not sent again, and duplicates do not occur.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/blob.h"

enum {
  RELIABLE_WINDOW = 1024,        // most packets without an acknowledgement
  RELIABLE_ACK_PACKETS = 128,    // received packets that cause an immediate ACK
  RELIABLE_ACK_BYTES = 1 << 20,  // received bytes that cause an immediate ACK
  RELIABLE_ACK_MS = 500,         // delay of an ACK that is not immediate
};

/// A ring of whole packets.
typedef struct KeptRing {
  size_t bytes;       // bytes of the packets
  uint32_t capacity;  // number of places, a power of two
  uint32_t first;     // place of the oldest packet, modulo capacity
  Blob *packets[];
} KeptRing;

/// The state of one side. A zero-initialized one is the start of a session.
typedef struct Reliable {
  KeptRing *kept;         // sent packets without an acknowledgement; NULL: none
  uint32_t sent;          // packets sent so far
  uint32_t acked;         // sent packets that were acknowledged
  uint32_t received;      // packets received so far
  uint32_t reported;      // received packets that this side has acknowledged
  uint32_t untold_bytes;  // bytes of received packets that were not acknowledged
  uint32_t resent;        // packets sent again
} Reliable;

/// Releases the kept packets.
void reliable_deinit(Reliable *stream);

/// Returns the number of packets that were sent and not acknowledged.
static inline uint32_t reliable_waiting(const Reliable *stream) {
  return stream->sent - stream->acked;
}

/// Counts a packet as sent and keeps a reference to it. If the window is full, returns
/// false without an effect. It is full if it has RELIABLE_WINDOW packets, or if the
/// packet would make it exceed `max_bytes`.
/// An empty window accepts a packet of any size.
bool reliable_push(Reliable *stream, Blob *packet, size_t max_bytes);

/// Releases the packets that the other side has received. `count` is the number of all
/// packets that it has received so far. Returns ERR_MALFORMED for an impossible count:
/// a count lower than the previous one, or higher than the number of packets sent.
int reliable_ack(Reliable *stream, uint32_t count);

/// Returns whether `count` is possible; see reliable_ack.
bool reliable_is_count(const Reliable *stream, uint32_t count);

/// Returns the kept packet at `index`, counted from the oldest one; `index` must be
/// less than reliable_waiting. Does not add a reference.
const Blob *reliable_at(const Reliable *stream, uint32_t index);

/// Counts a packet of `bytes` as received. Returns whether to send an ACK at once.
bool reliable_receive(Reliable *stream, uint32_t bytes);

/// Returns whether received packets wait for an acknowledgement.
static inline bool reliable_owes(const Reliable *stream) {
  return stream->reported != stream->received;
}

/// Returns the count of received packets for an ACK, and stores that it was reported.
uint32_t reliable_tell(Reliable *stream);
