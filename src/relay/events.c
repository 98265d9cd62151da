// A queue appends records at the end of its memory and removes them at the beginning. A
// record consists of an Event and its data. Its size is rounded up so that the next
// Event is aligned.

#include "relay/events.h"

#include <string.h>

enum { KEEP_BYTES = 4 << 20 };  // memory of an empty queue that is not freed

void events_deinit(Events *events) {
  buf_deinit(&events->bytes);
  events->at = 0;
}

// Appends an event. Reuses the memory of taken events only when it is half of the
// queue, so that on average each byte moves at most once.
void events_push(Events *events, const Event *event) {
  if (events->at > 0 && events->at >= events->bytes.size / 2) {
    buf_consume(&events->bytes, events->at);
    events->at = 0;
  }
  size_t whole = buf_padded(sizeof *event + event->data.size);
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
  events->at += buf_padded(sizeof *event + event->data.size);
  return true;
}

void events_trim(Events *events) {
  if (events_is_empty(events) && events->bytes.capacity > KEEP_BYTES)
    events_deinit(events);
}
