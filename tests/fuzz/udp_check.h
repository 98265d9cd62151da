// Conditions that hold for a link in any state.
#pragma once

#include <assert.h>

#include "wire/udp/internal.h"

static inline void check_ranges(const UdpRanges *ranges, uint64_t from, uint64_t to) {
  for (uint32_t i = 0; i < ranges->count; i++) {
    const UdpRange *range = &ranges->items[i];
    assert(range->start < range->end && range->start >= from && range->end <= to);
    if (i > 0) assert(ranges->items[i - 1].end < range->start);
  }
}

static inline void check_sent(const UdpLink *link) {
  uint32_t flying = 0, bytes = 0;
  assert(link->sent.next - link->sent.first <= UDP_SENT_MAX);
  for (uint64_t n = link->sent.first; n < link->sent.next; n++) {
    const UdpSent *sent = udp_sent_at(&link->sent, n);
    if (sent->state != UDP_SENT_FLYING) continue;
    assert(n >= link->sent.flying_from);
    flying++;
    bytes += sent->size;
  }
  assert(flying == link->sent.flying && bytes == link->sent.flying_bytes);
}

static inline void check_link(const UdpLink *link) {
  if (udp_link_is_closed(link)) return;
  check_sent(link);
  const UdpStreamOut *out = &link->out;
  assert(out->base <= out->next && out->next <= out->end);
  assert(out->end - out->base <= UDP_STREAM_WINDOW);
  check_ranges(&out->acked, out->base + 1, out->next);
  check_ranges(&out->lost, out->base, out->next);
  const UdpStreamIn *in = &link->in;
  check_ranges(&in->held, in->base, in->base + UDP_STREAM_WINDOW);
  assert(in->kept.capacity <= UDP_STREAM_WINDOW && in->held.count <= 2048);
  if (in->is_narrow) assert(in->kept.capacity <= UDP_STREAM_STRANGER);
  assert(link->queue.size <= UDP_QUEUE_BYTES);
  assert(link->latest.capacity <= UDP_LATEST_KEYS);
  assert(link->rate.pace > 0 && link->rate.window > 0);
}
