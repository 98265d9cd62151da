// Detects outdated LATEST packets: stores the newest order for each key. If the keys
// are too many, forgets the one that was updated longest ago.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { UDP_LATEST_KEYS = 1024 };  // most keys that are stored

typedef struct UdpLatestKey {
  uint32_t key;
  uint32_t order;  // order, from 1 on; 0: free
} UdpLatestKey;

/// The newest order of each key. A zero-initialized one is empty.
typedef struct UdpLatest {
  UdpLatestKey *keys;
  uint32_t capacity;  // number of places, a power of two
  uint32_t newest;    // newest order of all keys
} UdpLatest;

void udp_latest_deinit(UdpLatest *latest);

/// Accepts a packet of `key` whose order has these low 16 bits. Returns false if this
/// packet, or one with the same key and a later order, was accepted before.
bool udp_latest_take(UdpLatest *latest, uint32_t key, uint16_t order);
