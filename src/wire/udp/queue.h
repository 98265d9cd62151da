// Packets that may be lost and wait for their turn to be sent, oldest first. One with a
// key replaces the one before it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// Zero-initialised but for the limits is empty.
typedef struct UdpQueue {
  uint8_t *bytes;  // entries back to back: a head, and the packet
  uint32_t capacity;
  uint32_t head;       // where the first entry begins,
  uint32_t tail;       // and where the last one ends
  uint32_t count;      // packets that wait,
  uint32_t keyed;      // of them with a key,
  uint32_t size;       // and their bytes
  uint32_t max_count;  // limits: of packets,
  uint32_t max_size;   // and of their bytes
  bool drops_oldest;   // over a limit; else the new one is dropped
} UdpQueue;

typedef struct UdpQueueEntry {
  const uint8_t *packet;
  uint16_t size;
  uint32_t key;  // 0: none
} UdpQueueEntry;

void udp_queue_deinit(UdpQueue *queue);

/// Appends a copy of a packet of at most max_size bytes. Returns how many packets were
/// dropped for want of room.
uint32_t udp_queue_push(UdpQueue *queue, const void *packet, uint16_t size,
                        uint32_t key);

/// Stores the first packet, valid until the queue changes; returns false when none waits.
bool udp_queue_peek(const UdpQueue *queue, UdpQueueEntry *entry);

/// Removes the first packet.
void udp_queue_pop(UdpQueue *queue);
