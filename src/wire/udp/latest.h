// Detects outdated LATEST packets: stores the newest order for each key. If no
// place is free for a new key, forgets a key that was updated long ago.
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

/// Accepts a packet of `key`. `order` is the low 16 bits of its order. Returns false if
/// a packet with this key and the same or a later order was accepted before.
bool udp_latest_take(UdpLatest *latest, uint32_t key, uint16_t order);
