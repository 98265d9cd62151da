// Queues or captures events. Events outside of drains are queued (schedule.c). Events that
// a handler or a queued packet causes are captured: they precede all queued events.

#include <string.h>

#include "base/mem.h"
#include "relay/internal.h"

bool event_is_counted(uint8_t type) {
  static const bool IS_COUNTED[EVENT_TYPE_COUNT] = {
      [EVENT_CONNECT] = true,       [EVENT_SIGN_IN] = true,
      [EVENT_JOIN] = true,          [EVENT_LEAVE] = true,
      [EVENT_RENAME] = true,        [EVENT_MESSAGE] = true,
      [EVENT_TEXT] = true,          [EVENT_RESPONSE] = true,
      [EVENT_PACKET] = true,        [EVENT_CHANNEL] = true,
      [EVENT_CHANNEL_OPEN] = true,  [EVENT_CHANNEL_CLOSED] = true,
      [EVENT_BROADCAST] = true,     [EVENT_DEFERRED] = true,
      [EVENT_DEFERRED_LINE] = true, [EVENT_LOST] = true,
      [EVENT_GONE] = true,          [EVENT_SUSPEND] = true,
      [EVENT_RESUME] = true,        [EVENT_BOT_MESSAGE] = true,
  };
  return type < EVENT_TYPE_COUNT && IS_COUNTED[type];
}

void event_queue(Relay *relay, Peer *peer, const Event *event) {
  const Source *source = schedule_push(relay, event, peer);
  if (!peer || !event_is_counted(event->type)) return;
  peer->relay.queued++;
  peer->relay.ahead += source == NULL;
  if (peer->relay.queued > QUEUED_MAX ||
      (source && events_bytes(&source->events) > QUEUED_BYTES))
    session_throttle(relay->session, peer, THROTTLE_QUEUE);
}

// --- Captured ---

void captured_count(Relay *relay, Peer *peer, const Event *event, int change) {
  Room *room = relay_room(relay, event->room);
  if (peer) peer->relay.captured += (uint32_t)change;
  if (room) room->captured += (uint32_t)change;
}

static void capture(Relay *relay, const Event *event) {
  Event copy = *event;
  if (event->data.size > 0) {
    char *bytes = mem_alloc(event->data.size);
    copy.data.bytes = memcpy(bytes, event->data.bytes, event->data.size);
  }
  buf_append(&relay->captured.events, &copy, sizeof copy);
  Peer *peer = session_find(relay->session, event->peer);
  if (peer && event_is_counted(event->type)) peer->relay.queued++;
  captured_count(relay, peer, event, 1);
}

// Queues or captures an event. Also captures events that commands cause outside of
// drains.
void relay_emit(Relay *relay, const Event *event) {
  Event **receiver = &relay->captured.receiver;
  if (*receiver) {  // neither copied nor counted, because this event does not wait
    **receiver = *event;
    *receiver = NULL;
  } else if (relay->is_draining || relay->batches.current != 0) {
    capture(relay, event);
  } else {
    event_queue(relay, session_find(relay->session, event->peer), event);
  }
}

bool captured_concerns(const Relay *relay, const Event *event) {
  if (relay->captured.events.size == 0) return false;
  const Room *room = relay_room(relay, event->room);
  if (room && room->captured > 0) return true;
  const Peer *peer = session_find(relay->session, event->peer);
  if (!peer || peer->relay.captured > 0) return peer != NULL;
  for (uint32_t i = 0; i < peer->relay.room_count; i++)
    if (relay_room(relay, peer->relay.rooms[i].room)->captured > 0) return true;
  return false;
}

// Puts the events of the last handler on top of the stack of captured events, with its
// first event topmost.
void captured_put_newest_first(Relay *relay) {
  if (relay->captured.end == relay->captured.events.size) return;
  Event *list = (Event *)(void *)relay->captured.events.data;
  size_t first = relay->captured.end / sizeof(Event);
  for (size_t end = relay->captured.events.size / sizeof(Event); first + 1 < end;
       first++) {
    Event event = list[--end];
    list[end] = list[first];
    list[first] = event;
  }
  relay->captured.end = relay->captured.events.size;
}

void captured_take(Relay *relay, Event *event) {
  relay->captured.events.size -= sizeof *event;
  relay->captured.end = relay->captured.events.size;
  memcpy(event, relay->captured.events.data + relay->captured.events.size,
         sizeof *event);
  if (event->data.size > 0)
    relay->captured.taken_data = (void *)(uintptr_t)event->data.bytes;
}

void captured_free_data(Relay *relay) {
  if (!relay->captured.taken_data) return;
  mem_free(relay->captured.taken_data);
  relay->captured.taken_data = NULL;
}

void captured_free(Relay *relay) {
  for (Event event; relay->captured.events.size > 0;) {
    captured_free_data(relay);
    captured_take(relay, &event);
  }
  captured_free_data(relay);
  buf_deinit(&relay->captured.events);
}

Event relay_packet_event(EventType type, const Peer *peer, const Packet *packet) {
  return (Event){
      .type = type,
      .priority = packet->priority,
      .flags = packet->flags,
      .channel = packet->channel,
      .packet_type = packet->type,
      .ref = packet->ref,
      .peer = peer->id,
      .data = {(const char *)packet->payload, packet->length},
  };
}
