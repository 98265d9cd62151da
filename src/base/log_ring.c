// See log_ring.h.
#include "base/log_ring.h"

#include <string.h>

#include "base/mem.h"

// What is kept of a text: whole characters.
static uint32_t cut(const char *text, uint32_t size) {
  if (size <= LOG_RING_BYTES) return size;
  size = LOG_RING_BYTES;
  while (size > 0 && ((uint8_t)text[size] & 0xc0) == 0x80) size--;
  return size;
}

void log_ring_put(LogRing *ring, const LogLine *line) {
  LogLine *slot = &ring->lines[ring->count++ % LOG_RING_LINES];
  mem_free(slot->text);
  *slot = *line;
  slot->size = cut(line->text, line->size);
  slot->text = mem_alloc(slot->size + 1);
  memcpy(slot->text, line->text, slot->size);
  slot->text[slot->size] = '\0';
}

const LogLine *log_ring_at(const LogRing *ring, uint32_t back) {
  if (back >= ring->count || back >= LOG_RING_LINES) return NULL;
  return &ring->lines[(ring->count - 1 - back) % LOG_RING_LINES];
}

void log_ring_deinit(LogRing *ring) {
  for (int i = 0; i < LOG_RING_LINES; i++) mem_free(ring->lines[i].text);
  *ring = (LogRing){.count = 0};
}
