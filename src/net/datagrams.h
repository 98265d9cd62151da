// The datagrams of a connection: packets that may be lost, beside its stream or instead of it.
#pragma once

#include "net/udp.h"

typedef struct Datagrams Datagrams;

typedef struct DatagramsOps {
  /// Returns whether a message with these flags (OutFlags) and this size can go by a
  /// datagram now.
  bool (*carries)(const Datagrams *datagrams, uint8_t out_flags, uint32_t size);
  /// Sends a packet, at once or after earlier ones; returns false if the packet must
  /// wait.
  bool (*send)(Datagrams *datagrams, const void *packet, uint32_t size, uint64_t key,
               uint32_t tag);
  /// Called after the connection has sent its part of this flush.
  void (*flush)(Datagrams *datagrams);
  /// Called when the connection closes. Datagrams beside a stream end now.
  void (*leave)(Datagrams *datagrams);
  void (*figures)(const Datagrams *datagrams, UdpFigures *figures);
} DatagramsOps;

struct Datagrams {
  const DatagramsOps *ops;
};
