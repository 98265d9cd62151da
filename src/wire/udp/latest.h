// Which LATEST packets are out of date: per key the order of the newest one taken. What
// it remembers is bounded: of many keys the one taken longest ago is forgotten.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { UDP_LATEST_KEYS = 1024 };  // remembered at most

typedef struct UdpLatestKey {
  uint32_t key;
  uint32_t order;  // from 1; 0: none
} UdpLatestKey;

/// Zero-initialised has taken nothing.
typedef struct UdpLatest {
  UdpLatestKey *keys;
  uint32_t capacity;  // power of two
  uint32_t newest;    // order
} UdpLatest;

void udp_latest_deinit(UdpLatest *latest);

/// Takes a packet of `key` whose order has these low 16 bits. False when one of that key
/// with a later order, or this one, has been taken.
bool udp_latest_take(UdpLatest *latest, uint32_t key, uint16_t order);
