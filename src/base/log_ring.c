// See log_ring.h.
#include "base/log_ring.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"

void log_ring_put(LogRing *ring, const LogLine *line) {
  LogLine *slot = &ring->lines[ring->count++ % LOG_RING_LINES];
  mem_free(slot->text);
  *slot = *line;
  slot->size = (uint32_t)text_cut(line->text, line->size, LOG_RING_BYTES);
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
