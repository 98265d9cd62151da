// Both directions of the stream of a UDP connection: bytes numbered from 0, in pieces
// that arrive in any order, repeatedly, or not at all. Other files decide which
// datagram carries a piece, and when the datagram counts as lost.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/udp/ranges.h"

/// A ring of bytes by their place in the stream. The ring contains a window of the
/// stream, and grows with this window.
typedef struct UdpBytes {
  uint8_t *bytes;
  uint32_t capacity;  // number of places, a power of two
} UdpBytes;

/// The bytes that one side sends. A zero-initialized struct is at the beginning.
typedef struct UdpStreamOut {
  UdpBytes kept;    // bytes from `base` to `end`
  uint64_t base;    // first byte without an acknowledgement
  uint64_t next;    // first byte that was never sent
  uint64_t end;     // first byte that was not written yet
  UdpRanges acked;  // acknowledged bytes behind `base`
  UdpRanges lost;   // bytes that must be sent again
} UdpStreamOut;

void udp_stream_out_deinit(UdpStreamOut *out);

/// Returns how many bytes may be written now.
size_t udp_stream_out_room(const UdpStreamOut *out);

/// Appends bytes; udp_stream_out_room limits their number.
void udp_stream_out_write(UdpStreamOut *out, const void *bytes, size_t size);

/// Returns whether bytes wait to be sent, for the first time or again.
bool udp_stream_out_is_waiting(const UdpStreamOut *out);

/// Takes the next piece to send, of at most `max` (not 0) bytes; lost bytes come first.
/// Copies it to `to`. Returns its place in the stream, or an empty range.
UdpRange udp_stream_out_take(UdpStreamOut *out, size_t max, uint8_t *to);

/// Handle the fate of a taken piece. udp_stream_out_ack marks it as arrived.
/// udp_stream_out_lose sends it again, unless another copy of it has arrived.
void udp_stream_out_ack(UdpStreamOut *out, uint64_t start, uint64_t end);
void udp_stream_out_lose(UdpStreamOut *out, uint64_t start, uint64_t end);

/// The receiving half of a stream. A zero-initialized struct has received nothing.
typedef struct UdpStreamIn {
  UdpBytes kept;   // arrived bytes that were not returned yet; `held` lists them
  uint64_t base;   // first byte that was not returned yet
  UdpRanges held;  // ranges of arrived bytes, from `base` on
  bool is_narrow;  // whether the other side is a stranger; see udp_stream_in_fits
  _Atomic uint64_t *total;  // bytes of the memory of several streams; NULL: not counted
} UdpStreamIn;

void udp_stream_in_deinit(UdpStreamIn *in);

/// Returns whether a piece may be kept: it is inside the window, and the stream has few
/// gaps. Only an attack causes many gaps. The window has UDP_STREAM_WINDOW bytes. For a
/// stranger, or while `total` is at least UDP_STREAM_TOTAL, it has only
/// UDP_STREAM_STRANGER bytes, or as many as the memory of `kept` if that is more.
/// `offset` is the low 32 bits of the piece's beginning.
bool udp_stream_in_fits(const UdpStreamIn *in, uint32_t offset, uint16_t size);

/// Keeps the new bytes of a piece that fits.
void udp_stream_in_keep(UdpStreamIn *in, uint32_t offset, const uint8_t *bytes,
                        uint16_t size);

/// Advances past a piece that contains the next byte, and returns the number of the
/// piece's new bytes, which are at its end. Returns 0 for any other piece.
uint16_t udp_stream_in_pass(UdpStreamIn *in, uint32_t offset, uint16_t size);

/// Returns the next kept bytes in order, contiguous in memory; valid until more bytes
/// are kept. Returns NULL if none are in order.
const uint8_t *udp_stream_in_next(UdpStreamIn *in, size_t *size);
