// Counters of a connection, which another thread may read while they change, and sums
// for a whole Net.
#pragma once

#include <stdatomic.h>

#include "net/endpoint.h"

typedef struct Counters {
  _Atomic uint64_t sent_packets, sent_bytes;
  _Atomic uint64_t queued_packets, queued_bytes;
  // Counters of datagrams, as in UdpFigures.
  _Atomic bool has_udp, udp_passes;
  _Atomic uint32_t udp_rtt_us;
  _Atomic uint64_t udp_received, udp_received_bytes, udp_sent, udp_sent_bytes;
  _Atomic uint64_t udp_lost, udp_resent_bytes;
} Counters;

/// Sets the counters of the stream.
void counters_set(Counters *counters, NetSent sent, NetSent queued);
/// Sets the counters of UDP. `figures` is NULL for a connection without UDP.
void counters_set_udp(Counters *counters, const UdpFigures *figures);

NetSent counters_sent(const Counters *counters);
NetSent counters_queued(const Counters *counters);
/// Implements net_udp_figures.
bool counters_udp(const Counters *counters, UdpFigures *figures);

/// Adds all counters of `from`.
void counters_add(NetCounters *to, const NetCounters *from);
