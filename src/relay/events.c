// The event queue: two runs of memory, one being filled while the other is drained. A
// record is an Event and the bytes it carries, rounded up so that the next Event is
// aligned.

#include "relay/events.h"

#include <assert.h>
#include <string.h>

enum {
  ALIGNMENT = 8,
  KEEP_BYTES = 4 << 20,  // memory beyond this is given back after the drain
};

static size_t padded(size_t size) {
  return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

void events_deinit(Events *events) {
  buf_deinit(&events->filling);
  buf_deinit(&events->draining);
}

void events_push(Events *events, const Event *event) {
  size_t whole = padded(sizeof *event + event->data.size);
  uint8_t *at = buf_reserve(&events->filling, whole);
  memcpy(at, event, sizeof *event);
  if (event->data.size > 0)
    memcpy(at + sizeof *event, event->data.bytes, event->data.size);
  events->filling.size += whole;
}

bool events_is_empty(const Events *events) { return events->filling.size == 0; }

void events_begin(Events *events) {
  assert(events->at == events->draining.size);
  Buf drained = events->draining;
  drained.size = 0;
  if (drained.capacity > KEEP_BYTES) buf_deinit(&drained);
  events->draining = events->filling;
  events->filling = drained;
  events->at = 0;
}

bool events_next(Events *events, Event *event) {
  if (events->at == events->draining.size) return false;
  const uint8_t *at = events->draining.data + events->at;
  memcpy(event, at, sizeof *event);
  event->data.bytes = (const char *)at + sizeof *event;
  events->at += padded(sizeof *event + event->data.size);
  return true;
}
