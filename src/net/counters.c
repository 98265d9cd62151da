// See counters.h. Relaxed order is enough, because readers derive nothing else from
// these numbers.
#include "net/counters.h"

static void set(_Atomic uint64_t *place, uint64_t value) {
  atomic_store_explicit(place, value, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *place) {
  return atomic_load_explicit(place, memory_order_relaxed);
}

void counters_set(Counters *counters, NetSent sent, NetSent queued) {
  set(&counters->sent_packets, sent.packets);
  set(&counters->sent_bytes, sent.bytes);
  set(&counters->queued_packets, queued.packets);
  set(&counters->queued_bytes, queued.bytes);
}

void counters_set_udp(Counters *counters, const UdpFigures *figures) {
  static const UdpFigures NONE = {0};
  atomic_store_explicit(&counters->has_udp, figures != NULL, memory_order_relaxed);
  if (!figures) figures = &NONE;
  atomic_store_explicit(&counters->udp_passes, figures->passes, memory_order_relaxed);
  atomic_store_explicit(&counters->udp_rtt_us, figures->rtt_us, memory_order_relaxed);
  set(&counters->udp_received, figures->received);
  set(&counters->udp_received_bytes, figures->received_bytes);
  set(&counters->udp_sent, figures->sent);
  set(&counters->udp_sent_bytes, figures->sent_bytes);
  set(&counters->udp_lost, figures->lost);
  set(&counters->udp_resent_bytes, figures->resent_bytes);
}

NetSent counters_sent(const Counters *counters) {
  return (NetSent){get(&counters->sent_packets), get(&counters->sent_bytes)};
}

NetSent counters_queued(const Counters *counters) {
  return (NetSent){get(&counters->queued_packets), get(&counters->queued_bytes)};
}

bool counters_udp(const Counters *counters, UdpFigures *figures) {
  *figures = (UdpFigures){
      .received = get(&counters->udp_received),
      .received_bytes = get(&counters->udp_received_bytes),
      .sent = get(&counters->udp_sent),
      .sent_bytes = get(&counters->udp_sent_bytes),
      .lost = get(&counters->udp_lost),
      .resent_bytes = get(&counters->udp_resent_bytes),
      .rtt_us = atomic_load_explicit(&counters->udp_rtt_us, memory_order_relaxed),
      .passes = atomic_load_explicit(&counters->udp_passes, memory_order_relaxed)};
  return atomic_load_explicit(&counters->has_udp, memory_order_relaxed);
}

// Adds field by field; NetCounters consists of uint64_t fields only.
void counters_add(NetCounters *to, const NetCounters *from) {
  uint64_t *sums = (uint64_t *)to;
  const uint64_t *terms = (const uint64_t *)from;
  for (size_t i = 0; i < sizeof *to / sizeof *sums; i++) sums[i] += terms[i];
}
