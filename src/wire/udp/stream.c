// Each direction keeps a window of the stream in a ring. Sets of ranges list which
// bytes of the window have arrived, or were acknowledged or lost.
#include "wire/udp/stream.h"

#include <string.h>

#include "base/least.h"
#include "base/mem.h"
#include "wire/udp/link.h"

enum {
  FIRST_CAPACITY = 256,
  GAPS_MAX = 1024,  // limit of gaps, about the number of datagrams in a window
};

// --- The ring ---

// Returns the number of bytes from `at` to the end of the ring.
static uint32_t until_wrap(const UdpBytes *ring, uint64_t at) {
  return ring->capacity - (uint32_t)(at & (ring->capacity - 1));
}

static uint8_t *place(const UdpBytes *ring, uint64_t at) {
  return ring->bytes + (at & (ring->capacity - 1));
}

static void write_at(UdpBytes *ring, uint64_t at, const uint8_t *bytes, size_t size) {
  size_t first = least(size, until_wrap(ring, at));
  memcpy(place(ring, at), bytes, first);
  if (size > first) memcpy(ring->bytes, bytes + first, size - first);
}

static void read_at(const UdpBytes *ring, uint64_t at, uint8_t *to, size_t size) {
  size_t first = least(size, until_wrap(ring, at));
  memcpy(to, place(ring, at), first);
  if (size > first) memcpy(to + first, ring->bytes, size - first);
}

// Enlarges the ring to `size` bytes. The bytes in `used` keep their places in the
// stream.
static void reserve(UdpBytes *ring, size_t size, const UdpRange *used, uint32_t count) {
  if (size <= ring->capacity) return;
  UdpBytes grown = {.capacity = ring->capacity ? ring->capacity : FIRST_CAPACITY};
  while (grown.capacity < size) grown.capacity *= 2;
  grown.bytes = mem_alloc(grown.capacity);
  for (uint32_t i = 0; i < count; i++) {
    for (uint64_t at = used[i].start; at < used[i].end;) {
      size_t chunk = least(used[i].end - at, until_wrap(ring, at));
      write_at(&grown, at, place(ring, at), chunk);
      at += chunk;
    }
  }
  mem_free(ring->bytes);
  *ring = grown;
}

static void bytes_deinit(UdpBytes *ring) {
  mem_free(ring->bytes);
  *ring = (UdpBytes){0};
}

// --- Out ---

void udp_stream_out_deinit(UdpStreamOut *out) {
  bytes_deinit(&out->kept);
  udp_ranges_deinit(&out->acked);
  udp_ranges_deinit(&out->lost);
}

size_t udp_stream_out_room(const UdpStreamOut *out) {
  size_t unsent = (size_t)(out->end - out->next);
  size_t window = UDP_STREAM_WINDOW - (size_t)(out->end - out->base);
  return unsent < UDP_STREAM_UNSENT ? least(window, UDP_STREAM_UNSENT - unsent) : 0;
}

void udp_stream_out_write(UdpStreamOut *out, const void *bytes, size_t size) {
  if (size == 0) return;
  const UdpRange used = {out->base, out->end};
  reserve(&out->kept, (size_t)(out->end - out->base) + size, &used, 1);
  write_at(&out->kept, out->end, bytes, size);
  out->end += size;
}

bool udp_stream_out_is_waiting(const UdpStreamOut *out) {
  return out->lost.count > 0 || out->next < out->end;
}

UdpRange udp_stream_out_take(UdpStreamOut *out, size_t max, uint8_t *to) {
  UdpRange piece = {out->next, out->end};
  const bool is_again = out->lost.count > 0;
  if (is_again) piece = out->lost.items[0];
  piece.end = least(piece.end, piece.start + max);
  if (piece.start == piece.end) return piece;
  if (is_again)
    udp_ranges_remove(&out->lost, piece.start, piece.end);
  else
    out->next = piece.end;
  read_at(&out->kept, piece.start, to, (size_t)(piece.end - piece.start));
  return piece;
}

void udp_stream_out_ack(UdpStreamOut *out, uint64_t start, uint64_t end) {
  if (start < out->base) start = out->base;
  if (start >= end) return;
  udp_ranges_remove(&out->lost, start, end);
  udp_ranges_add(&out->acked, start, end);
  if (out->acked.items[0].start != out->base) return;
  out->base = out->acked.items[0].end;
  udp_ranges_remove(&out->acked, 0, out->base);
}

void udp_stream_out_lose(UdpStreamOut *out, uint64_t start, uint64_t end) {
  if (start < out->base) start = out->base;
  udp_ranges_add(&out->lost, start, end);
  for (uint32_t i = 0; i < out->acked.count && out->acked.items[i].start < end; i++)
    udp_ranges_remove(&out->lost, out->acked.items[i].start, out->acked.items[i].end);
}

// --- In ---

static void count(const UdpStreamIn *in, uint32_t before) {
  if (in->total) *in->total += (uint64_t)in->kept.capacity - before;
}

void udp_stream_in_deinit(UdpStreamIn *in) {
  uint32_t before = in->kept.capacity;
  bytes_deinit(&in->kept);
  count(in, before);
  udp_ranges_deinit(&in->held);
}

// Returns the distance of a piece's beginning from `base`; negative if it is before
// `base`.
static int64_t distance_of(const UdpStreamIn *in, uint32_t offset) {
  return (int32_t)(offset - (uint32_t)in->base);
}

static uint32_t window_of(const UdpStreamIn *in) {
  bool is_wide = !in->is_narrow && (!in->total || *in->total < UDP_STREAM_TOTAL);
  if (is_wide) return UDP_STREAM_WINDOW;
  uint32_t has = in->kept.capacity;
  return has > UDP_STREAM_STRANGER ? has : UDP_STREAM_STRANGER;
}

bool udp_stream_in_fits(const UdpStreamIn *in, uint32_t offset, uint16_t size) {
  int64_t distance = distance_of(in, offset);
  if (distance <= 0) return true;
  return distance + size <= window_of(in) && in->held.count < GAPS_MAX;
}

void udp_stream_in_keep(UdpStreamIn *in, uint32_t offset, const uint8_t *bytes,
                        uint16_t size) {
  int64_t distance = distance_of(in, offset);
  int64_t old = distance < 0 ? -distance : 0;
  if (old >= size) return;
  bytes += old;
  size = (uint16_t)(size - old);
  uint64_t start = in->base + (uint64_t)(distance + old);
  uint64_t end = start + size;
  uint32_t before = in->kept.capacity;
  reserve(&in->kept, (size_t)(end - in->base), in->held.items, in->held.count);
  count(in, before);
  write_at(&in->kept, start, bytes, size);
  udp_ranges_add(&in->held, start, end);
}

static void step_to(UdpStreamIn *in, uint64_t base) {
  udp_ranges_remove(&in->held, in->base, base);
  in->base = base;
}

uint16_t udp_stream_in_pass(UdpStreamIn *in, uint32_t offset, uint16_t size) {
  int64_t distance = distance_of(in, offset);
  if (distance > 0 || distance + size <= 0) return 0;
  uint16_t fresh = (uint16_t)(distance + size);
  step_to(in, in->base + fresh);
  return fresh;
}

const uint8_t *udp_stream_in_next(UdpStreamIn *in, size_t *size) {
  if (in->held.count == 0 || in->held.items[0].start != in->base) return NULL;
  const uint8_t *bytes = place(&in->kept, in->base);
  *size = least(in->held.items[0].end - in->base, until_wrap(&in->kept, in->base));
  step_to(in, in->base + *size);
  return bytes;
}
