// The events that the program has not taken, as a list of nodes. Each node is one
// allocation, which contains the event and everything that the event points to.
#include <string.h>

#include "base/mem.h"
#include "internal.h"

EventText text_of(const char *text) { return (EventText){text, strlen(text)}; }

// Copies a text and a NUL to `at`; returns the position behind them.
static char *put(char *at, EventText text, const char **out) {
  if (text.size > 0) memcpy(at, text.bytes, text.size);
  at[text.size] = '\0';
  *out = at;
  return at + text.size + 1;
}

static void append(Events *events, EventNode *node) {
  if (events->last)
    events->last->next = node;
  else
    events->first = node;
  events->last = node;
  events->count++;
  events->bytes += node->size;
}

void events_add(Events *events, const PerigeeEvent *event, const EventParts *parts) {
  static const EventParts NONE;
  if (!parts) parts = &NONE;
  size_t size = sizeof(EventNode) + parts->name.size + parts->text.size +
                parts->data.size + 3;  // one NUL for each
  EventNode *node = mem_alloc(size);
  *node = (EventNode){.event = *event, .size = size};
  node->event.by_udp = events->by_udp;
  const char *data;
  char *at = put((char *)(node + 1), parts->name, &node->event.name);
  at = put(at, parts->text, &node->event.text);
  put(at, parts->data, &data);
  node->event.data = (const uint8_t *)data;
  node->event.size = parts->data.size;
  append(events, node);
}

void events_add_rooms(Events *events, const PerigeeEvent *event,
                      const PerigeeRoomInfo *rooms, uint32_t count) {
  size_t size = sizeof(EventNode) + count * sizeof(PerigeeRoomInfo) + 1;
  for (uint32_t i = 0; i < count; i++) size += strlen(rooms[i].name) + 1;
  EventNode *node = mem_alloc(size);
  *node = (EventNode){.event = *event, .size = size};
  PerigeeRoomInfo *copies = (PerigeeRoomInfo *)(node + 1);
  char *at = (char *)(copies + count);
  for (uint32_t i = 0; i < count; i++) {
    copies[i].members = rooms[i].members;
    at = put(at, text_of(rooms[i].name), &copies[i].name);
  }
  put(at, (EventText){0}, &node->event.name);
  node->event.text = node->event.name;
  node->event.data = (const uint8_t *)node->event.name;
  node->event.rooms = copies;
  node->event.count = count;
  append(events, node);
}

void events_add_turn(Events *events, const PerigeeEvent *event, const uint8_t *bytes,
                     size_t size) {
  uint8_t count = bytes[0];
  size_t whole = sizeof(EventNode) + count * sizeof(PerigeeEntry) + size;
  EventNode *node = mem_alloc(whole);
  *node = (EventNode){.event = *event, .size = whole};
  PerigeeEntry *entries = (PerigeeEntry *)(node + 1);
  uint8_t *copy = memcpy(entries + count, bytes, size);
  Reader reader = reader_of(copy + 1, size - 1);
  for (uint8_t i = 0; i < count; i++) {
    entries[i].slot = reader_u8(&reader);
    entries[i].kind = (PerigeeEntryKind)reader_u8(&reader);
    entries[i].size = reader_u16(&reader);
    entries[i].data = reader_bytes(&reader, entries[i].size);
  }
  node->event.name = node->event.text = "";
  node->event.data = copy;
  node->event.entries = entries;
  node->event.entry_count = count;
  append(events, node);
}

const PerigeeEvent *events_take(Events *events) {
  mem_free(events->taken);
  EventNode *node = events->first;
  events->taken = node;
  if (!node) return NULL;
  events->first = node->next;
  if (!events->first) events->last = NULL;
  events->count--;
  events->bytes -= node->size;
  return &node->event;
}

void events_drop_turns(Events *events, uint32_t room) {
  EventNode **at = &events->first;
  events->last = NULL;
  while (*at) {
    EventNode *node = *at;
    if (node->event.type == PERIGEE_TURN && node->event.room == room) {
      *at = node->next;
      events->count--;
      events->bytes -= node->size;
      mem_free(node);
    } else {
      events->last = node;
      at = &node->next;
    }
  }
}

bool events_are_full(const Events *events) {
  return events->count >= EVENTS_MAX || events->bytes >= EVENTS_MAX_BYTES;
}

void events_free(Events *events) {
  while (events_take(events)) continue;
}
