// The event queue: a run of memory that is filled at one end and taken from at the other. A
// record is an Event and the bytes that it carries, rounded up so that the next Event is
// aligned.

#include "relay/events.h"

#include <string.h>

enum {
  ALIGNMENT = 8,
  KEEP_BYTES = 4 << 20,  // of an empty queue; it gives back more than this
};

static size_t padded(size_t size) {
  return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

void events_deinit(Events *events) {
  buf_deinit(&events->bytes);
  events->at = 0;
}

// Gives up the room of events that were taken; each byte is moved once at most, on average.
static void compact(Events *events) {
  if (events->at < events->bytes.size / 2) return;
  buf_consume(&events->bytes, events->at);
  events->at = 0;
}

void events_push(Events *events, const Event *event) {
  if (events->at > 0) compact(events);
  size_t whole = padded(sizeof *event + event->data.size);
  uint8_t *at = buf_reserve(&events->bytes, whole);
  memcpy(at, event, sizeof *event);
  if (event->data.size > 0)
    memcpy(at + sizeof *event, event->data.bytes, event->data.size);
  events->bytes.size += whole;
}

bool events_peek(const Events *events, Event *event) {
  if (events_is_empty(events)) return false;
  const uint8_t *at = events->bytes.data + events->at;
  memcpy(event, at, sizeof *event);
  event->data.bytes = (const char *)at + sizeof *event;
  return true;
}

bool events_next(Events *events, Event *event) {
  if (!events_peek(events, event)) return false;
  events->at += padded(sizeof *event + event->data.size);
  return true;
}

void events_trim(Events *events) {
  if (events_is_empty(events) && events->bytes.capacity > KEEP_BYTES)
    events_deinit(events);
}
