// Packets that may be lost and wait to be sent, the oldest first. A packet with a key
// replaces the waiting packet with the same key.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A queue. If all fields but the limits are zero, it is empty.
typedef struct UdpQueue {
  uint8_t *bytes;  // entries back to back, each with a head and the packet
  uint32_t capacity;
  uint32_t head;       // beginning of the first entry
  uint32_t tail;       // end of the last entry
  uint32_t count;      // packets that wait
  uint32_t keyed;      // waiting packets with a key
  uint32_t size;       // bytes of the waiting packets
  uint32_t max_count;  // limit of waiting packets
  uint32_t max_size;   // limit of the bytes of the waiting packets
  bool drops_oldest;   // beyond a limit, drop the oldest packet; false: the new one
} UdpQueue;

typedef struct UdpQueueEntry {
  const uint8_t *packet;
  uint16_t size;
  uint32_t key;  // key of the packet; 0: none
} UdpQueueEntry;

void udp_queue_deinit(UdpQueue *queue);

/// Appends a copy of a packet of at most max_size bytes. Returns the number of packets
/// dropped for lack of room.
uint32_t udp_queue_push(UdpQueue *queue, const void *packet, uint16_t size,
                        uint32_t key);

/// Stores the first packet in `entry`, which is valid until the queue changes. Returns
/// false if the queue is empty.
bool udp_queue_peek(const UdpQueue *queue, UdpQueueEntry *entry);

/// Removes the first packet.
void udp_queue_pop(UdpQueue *queue);
