// Entries are contiguous in memory. If a packet of another size replaces an entry, the
// old entry stays as a blank. The first entry is never a blank.
#include "wire/udp/queue.h"

#include <string.h>

#include "base/mem.h"

enum { FIRST_CAPACITY = 1024 };

typedef struct Head {
  uint32_t key;
  uint16_t size;  // size of the packet behind this head
  uint16_t is_blank;
} Head;

void udp_queue_deinit(UdpQueue *queue) {
  mem_free(queue->bytes);
  *queue = (UdpQueue){.max_count = queue->max_count,
                      .max_size = queue->max_size,
                      .drops_oldest = queue->drops_oldest};
}

static Head head_at(const UdpQueue *queue, uint32_t at) {
  Head head;
  memcpy(&head, queue->bytes + at, sizeof head);
  return head;
}

static uint32_t entry_size(const Head *head) {
  return (uint32_t)sizeof *head + head->size;
}

bool udp_queue_peek(const UdpQueue *queue, UdpQueueEntry *entry) {
  if (queue->count == 0) return false;
  Head head = head_at(queue, queue->head);
  *entry =
      (UdpQueueEntry){queue->bytes + queue->head + sizeof head, head.size, head.key};
  return true;
}

static void skip_blanks(UdpQueue *queue) {
  while (queue->head < queue->tail) {
    Head head = head_at(queue, queue->head);
    if (!head.is_blank) return;
    queue->head += entry_size(&head);
  }
  queue->head = queue->tail = 0;
}

static void uncount(UdpQueue *queue, const Head *head) {
  queue->count--;
  queue->size -= head->size;
  if (head->key) queue->keyed--;
}

void udp_queue_pop(UdpQueue *queue) {
  Head head = head_at(queue, queue->head);
  uncount(queue, &head);
  queue->head += entry_size(&head);
  skip_blanks(queue);
}

// Moves the waiting entries to the beginning of the memory, without blanks.
static void compact(UdpQueue *queue) {
  uint32_t to = 0;
  for (uint32_t at = queue->head; at < queue->tail;) {
    Head head = head_at(queue, at);
    uint32_t size = entry_size(&head);
    if (!head.is_blank) {
      memmove(queue->bytes + to, queue->bytes + at, size);
      to += size;
    }
    at += size;
  }
  queue->head = 0;
  queue->tail = to;
}

// Makes room for an entry at the end. The memory doubles if more than half of it is in
// use, so that moving entries costs little in the long run.
static void reserve(UdpQueue *queue, uint32_t size) {
  if (queue->tail + size <= queue->capacity) return;
  compact(queue);
  uint32_t capacity = queue->capacity ? queue->capacity : FIRST_CAPACITY;
  while (2 * queue->tail > capacity || queue->tail + size > capacity) capacity *= 2;
  if (capacity == queue->capacity) return;
  queue->bytes = mem_grow(queue->bytes, capacity);
  queue->capacity = capacity;
}

// Replaces the waiting packet with the same key and returns true, if its size is equal.
// Otherwise removes the waiting packet, if any, and returns false.
static bool replace(UdpQueue *queue, const void *packet, uint16_t size, uint32_t key) {
  for (uint32_t at = queue->head; at < queue->tail;) {
    Head head = head_at(queue, at);
    if (head.key == key && !head.is_blank) {
      if (head.size == size) {
        memcpy(queue->bytes + at + sizeof head, packet, size);
        return true;
      }
      uncount(queue, &head);
      head.is_blank = 1;
      memcpy(queue->bytes + at, &head, sizeof head);
      skip_blanks(queue);
      return false;
    }
    at += entry_size(&head);
  }
  return false;
}

uint32_t udp_queue_push(UdpQueue *queue, const void *packet, uint16_t size,
                        uint32_t key) {
  if (key && queue->keyed && replace(queue, packet, size, key)) return 0;
  uint32_t dropped = 0;
  while (queue->count >= queue->max_count || queue->size + size > queue->max_size) {
    dropped++;
    if (!queue->drops_oldest) return dropped;
    udp_queue_pop(queue);
  }
  Head head = {.key = key, .size = size};
  reserve(queue, entry_size(&head));
  memcpy(queue->bytes + queue->tail, &head, sizeof head);
  memcpy(queue->bytes + queue->tail + sizeof head, packet, size);
  queue->tail += entry_size(&head);
  queue->count++;
  queue->size += size;
  if (key) queue->keyed++;
  return dropped;
}
