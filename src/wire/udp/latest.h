// Finds LATEST packets that are out of date: keeps the order of the newest one taken for
// each key. Of very many keys it drops the one taken longest ago.
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

/// Takes a packet of `key` whose order has these low 16 bits. Returns false if this one, or
/// one of that key with a later order, was taken before.
bool udp_latest_take(UdpLatest *latest, uint32_t key, uint16_t order);
