// One side's part in the RELIABLE stream of a session (docs/protocol.md, section 4):
// how many packets went each way, and those sent that are not acknowledged yet, oldest
// first. No I/O and no clock.
//
// The wire carries no numbers, only counts, all modulo 2^32. After a resume each side goes
// on from the count that the other one reported in HELLO or WELCOME, so a packet that has
// arrived is not sent again and no side has to recognise duplicates.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/blob.h"

enum {
  RELIABLE_WINDOW = 1024,        // packets sent and not acknowledged
  RELIABLE_ACK_PACKETS = 128,    // received: so many are acknowledged at once,
  RELIABLE_ACK_BYTES = 1 << 20,  // or so many bytes of them,
  RELIABLE_ACK_MS = 500,         // or fewer after this long
};

/// A ring of whole packets.
typedef struct KeptRing {
  size_t bytes;       // of the packets
  uint32_t capacity;  // power of two
  uint32_t first;     // the place of the oldest, modulo capacity
  Blob *packets[];
} KeptRing;

/// Zero-initialised is the start of a session.
typedef struct Reliable {
  KeptRing *kept;     // packets sent and not acknowledged; NULL: none
  uint32_t sent;      // packets so far
  uint32_t acked;     // of these, acknowledged
  uint32_t received;  // packets so far
  uint32_t reported;  // of these, acknowledged to the other side
  uint32_t untold_bytes;
  uint32_t resent;  // packets sent once more
} Reliable;

/// Releases the kept packets.
void reliable_deinit(Reliable *stream);

/// Returns the number of packets that were sent and not acknowledged.
static inline uint32_t reliable_waiting(const Reliable *stream) {
  return stream->sent - stream->acked;
}

/// Counts a packet as sent and keeps a reference to it. Returns false, and does nothing, when the
/// window is full: RELIABLE_WINDOW packets or more than `max_bytes`; an empty window
/// takes any one packet.
bool reliable_push(Reliable *stream, Blob *packet, size_t max_bytes);

/// Releases the first `count` packets, which the other side has received. Returns ERR_MALFORMED for
/// an impossible count: one that goes back or beyond what was sent.
int reliable_ack(Reliable *stream, uint32_t count);

/// Returns whether the other side can have sent `count`.
bool reliable_is_count(const Reliable *stream, uint32_t count);

/// Returns the packet sent `index` (less than reliable_waiting) after the oldest kept one, without
/// a new reference.
const Blob *reliable_at(const Reliable *stream, uint32_t index);

/// Counts a packet of `bytes` as received. Returns whether to acknowledge at once.
bool reliable_receive(Reliable *stream, uint32_t bytes);

/// Returns whether a packet waits for its acknowledgement.
static inline bool reliable_owes(const Reliable *stream) {
  return stream->reported != stream->received;
}

/// Returns the count to acknowledge now, and notes that it was reported.
uint32_t reliable_tell(Reliable *stream);
