// The stream of a UDP connection, each way: bytes numbered from 0, cut into pieces that
// arrive in any order, more than once, or not at all. Others decide which datagram a piece
// is in, and when it counts as lost.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/udp/ranges.h"

/// A ring of bytes by their place in the stream. It holds a window of it and grows with that.
typedef struct UdpBytes {
  uint8_t *bytes;
  uint32_t capacity;  // power of two
} UdpBytes;

/// The bytes that one side sends. A zero-initialised one is at the beginning.
typedef struct UdpStreamOut {
  UdpBytes kept;    // from `base` to `end`
  uint64_t base;    // the first byte that is not acknowledged,
  uint64_t next;    // that was never sent,
  uint64_t end;     // and that was not written yet
  UdpRanges acked;  // beyond `base`
  UdpRanges lost;   // to be sent again
} UdpStreamOut;

void udp_stream_out_deinit(UdpStreamOut *out);

/// Returns how many bytes may be written now.
size_t udp_stream_out_room(const UdpStreamOut *out);

/// Appends bytes, no more than there is room for.
void udp_stream_out_write(UdpStreamOut *out, const void *bytes, size_t size);

/// Returns whether there is something to send, for the first time or again.
bool udp_stream_out_is_waiting(const UdpStreamOut *out);

/// Takes the next piece to send, of at most `max` (not 0) bytes: what was lost first.
/// Copies its bytes to `to`. Returns where it lies; empty when there is none.
UdpRange udp_stream_out_take(UdpStreamOut *out, size_t max, uint8_t *to);

/// Notes that a taken piece has arrived, or has to be sent again unless another copy has arrived.
void udp_stream_out_ack(UdpStreamOut *out, uint64_t start, uint64_t end);
void udp_stream_out_lose(UdpStreamOut *out, uint64_t start, uint64_t end);

/// The bytes that one side receives. A zero-initialised one is at the beginning.
typedef struct UdpStreamIn {
  UdpBytes kept;   // bytes that have arrived and were not handed out, as listed in
                   // `held`
  uint64_t base;   // the first byte that was not handed out
  UdpRanges held;  // from `base` on
  bool is_narrow;  // no more than UDP_STREAM_STRANGER bytes of it
  _Atomic uint64_t *total;  // bytes of the memory of several streams; NULL: not counted
} UdpStreamIn;

void udp_stream_in_deinit(UdpStreamIn *in);

/// Returns whether a piece may be taken: within the window, which is UDP_STREAM_STRANGER or
/// the memory that the stream has once the total is UDP_STREAM_TOTAL, and without a number
/// of gaps that only an attack causes. `offset` is the low 32 bits of its beginning.
bool udp_stream_in_fits(const UdpStreamIn *in, uint32_t offset, uint16_t size);

/// Keeps what is new of a piece that fits.
void udp_stream_in_keep(UdpStreamIn *in, uint32_t offset, const uint8_t *bytes,
                        uint16_t size);

/// Steps over the piece if the next byte is in it, and returns how many of its bytes, from its end,
/// are new; else returns 0.
uint16_t udp_stream_in_pass(UdpStreamIn *in, uint32_t offset, uint16_t size);

/// Returns the next kept bytes in order, as one piece of memory, valid until more are kept; NULL
/// when there are none.
const uint8_t *udp_stream_in_next(UdpStreamIn *in, size_t *size);
