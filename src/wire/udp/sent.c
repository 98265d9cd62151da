// The ring doubles when all its places are in use. udp_sent_rest frees it.
#include "wire/udp/sent.h"

#include <assert.h>

#include "base/mem.h"

enum { FIRST_CAPACITY = 4 };

void udp_sent_deinit(UdpSentRing *ring) {
  mem_free(ring->items);
  *ring =
      (UdpSentRing){.first = ring->next, .next = ring->next, .flying_from = ring->next};
}

void udp_sent_rest(UdpSentRing *ring) {
  assert(ring->flying == 0);
  udp_sent_deinit(ring);
}

static UdpSent *place(const UdpSentRing *ring, uint64_t number) {
  return &ring->items[number & (ring->capacity - 1)];
}

bool udp_sent_has_room(const UdpSentRing *ring) {
  return ring->next - ring->first < UDP_SENT_MAX;
}

static void grow(UdpSentRing *ring) {
  UdpSentRing grown = *ring;
  grown.capacity = ring->capacity ? 2 * ring->capacity : FIRST_CAPACITY;
  grown.items = mem_alloc(grown.capacity * sizeof *grown.items);
  for (uint64_t n = ring->first; n != ring->next; n++)
    *place(&grown, n) = *place(ring, n);
  mem_free(ring->items);
  *ring = grown;
}

void udp_sent_push(UdpSentRing *ring, const UdpSent *sent) {
  if (ring->first == ring->next && sent->state == UDP_SENT_SETTLED) {
    ring->first = ++ring->next;
    return;
  }
  assert(udp_sent_has_room(ring));
  if (ring->next - ring->first == ring->capacity) grow(ring);
  *place(ring, ring->next++) = *sent;
  if (sent->state != UDP_SENT_FLYING) return;
  ring->flying++;
  ring->flying_bytes += sent->size;
}

UdpSent *udp_sent_at(const UdpSentRing *ring, uint64_t number) {
  if (number < ring->first || number >= ring->next) return NULL;
  return place(ring, number);
}

void udp_sent_settle(UdpSentRing *ring, UdpSent *sent, UdpSentState state) {
  if (sent->state == UDP_SENT_FLYING) {
    ring->flying--;
    ring->flying_bytes -= sent->size;
  }
  sent->state = (uint8_t)state;
}

void udp_sent_trim(UdpSentRing *ring, uint64_t before_us) {
  for (; ring->first != ring->next; ring->first++) {
    const UdpSent *sent = place(ring, ring->first);
    if (sent->state == UDP_SENT_FLYING) return;
    if (sent->state == UDP_SENT_LOST && sent->sent_us >= before_us) return;
  }
}
