// The datagrams of a connection: packets that may be lost, beside its stream or instead
// of it.
#pragma once

#include "net/udp.h"

typedef struct Datagrams Datagrams;

typedef struct DatagramsOps {
  /// Returns whether datagrams can carry a message with these flags (OutFlags) and this
  /// size now.
  bool (*carries)(const Datagrams *datagrams, uint8_t out_flags, uint32_t size);
  /// Takes a packet, and sends it after earlier packets. Returns false without taking
  /// the packet if it must wait in the backlog.
  bool (*send)(Datagrams *datagrams, const void *packet, uint32_t size, uint64_t key,
               uint32_t tag);
  /// Sends the waiting datagrams, after the connection has sent its part of this flush.
  void (*flush)(Datagrams *datagrams);
  /// Ends datagrams beside a stream, because the connection closes.
  void (*leave)(Datagrams *datagrams);
  void (*figures)(const Datagrams *datagrams, UdpFigures *figures);
} DatagramsOps;

struct Datagrams {
  const DatagramsOps *ops;
};
