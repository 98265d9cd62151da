// The order of events. A peer's packet is handled at once while no event of that peer waits,
// else it is queued and handled in a drain. Events that a handler or a queued packet causes
// are captured: they come next, before all that waits in queues (schedule.c).

#include <string.h>

#include "base/mem.h"
#include "relay/internal.h"

enum {
  // Captured events in a row before others are handled: handlers whose events cause further
  // events could go on without end, and in a simulation no slice ends.
  CAPTURED_IN_A_ROW = 500,
};

bool event_is_counted(uint8_t type) {
  switch (type) {
    case EVENT_CONNECT:
    case EVENT_JOIN:
    case EVENT_LEAVE:
    case EVENT_RENAME:
    case EVENT_MESSAGE:
    case EVENT_TEXT:
    case EVENT_RESPONSE:
    case EVENT_PACKET:
    case EVENT_CHANNEL:
    case EVENT_CHANNEL_OPEN:
    case EVENT_CHANNEL_CLOSED:
    case EVENT_BROADCAST:
    case EVENT_DEFERRED:
    case EVENT_DEFERRED_LINE:
    case EVENT_GONE:
    case EVENT_SUSPEND:
    case EVENT_RESUME:
      return true;
    default:
      return false;
  }
}

static void unthrottle(Relay *relay, Peer *peer) {
  if (peer->queued <= QUEUED_LOW && schedule_waiting_bytes(peer) <= QUEUED_BYTES / 2) {
    session_release(relay->session, peer, THROTTLE_QUEUE);
    relay->has_released = true;
  }
}

// The event does not wait any more.
static void uncount(Relay *relay, Peer *peer, const Event *event, bool is_ahead) {
  if (!peer || !event_is_counted(event->type)) return;
  peer->queued--;
  peer->ahead -= is_ahead;
  if (peer->throttles & THROTTLE_QUEUE) unthrottle(relay, peer);
}

// --- Coming in ---

static void push(Relay *relay, Peer *peer, const Event *event) {
  const Source *source = schedule_push(relay, event, peer);
  if (!peer || !event_is_counted(event->type)) return;
  peer->queued++;
  peer->ahead += source == NULL;
  if (peer->queued > QUEUED_MAX ||
      (source && events_bytes(&source->events) > QUEUED_BYTES))
    session_throttle(relay->session, peer, THROTTLE_QUEUE);
}

static void defer(Relay *relay, Peer *peer, Event event) {
  event.peer = peer->id;
  push(relay, peer, &event);
}

// Returns whether a packet can be handled now: no event of its peer waits, and no
// handler has commands left, with which it would mix.
static bool is_next(const Relay *relay, const Peer *peer) {
  return peer->queued == 0 && !relay->batches.top;
}

void drain_packet(void *data, Peer *peer, const Packet *packet) {
  Relay *relay = data;
  if (is_next(relay, peer)) {
    relay_packet(relay, peer, packet);
    return;
  }
  defer(relay, peer,
        (Event){.type = EVENT_DEFERRED,
                .priority = packet->priority,
                .flags = packet->flags,
                .channel = packet->channel,
                .packet_type = packet->type,
                .ref = packet->ref,
                .data = {(const char *)packet->payload, packet->length}});
}

void drain_line(void *data, Peer *peer, const char *text, size_t size) {
  Relay *relay = data;
  Text line = {text, (uint32_t)size};
  if (is_next(relay, peer)) {
    relay_line(relay, peer, line);
    return;
  }
  defer(relay, peer, (Event){.type = EVENT_DEFERRED_LINE, .data = line});
}

static void forget(Relay *relay, Peer *peer) { session_forget(relay->session, peer); }

// The peer's disconnect, in its turn.
static void end(Relay *relay, Peer *peer, Code reason) {
  peer->is_gone = true;
  channel_release_all(relay, peer);
  script_joins_end_all(relay, peer);
  leave_all(relay, peer, reason);
  if (relay->is_scripted)
    relay_emit(relay,
               &(Event){.type = EVENT_DISCONNECT, .peer = peer->id, .a = reason});
  else
    forget(relay, peer);
}

// Inside the drain the script or a queued packet ended it, and what it still has queued
// is void.
void drain_disconnect(void *data, Peer *peer, Code reason) {
  Relay *relay = data;
  if (relay->is_draining || peer->queued == 0)
    end(relay, peer, reason);
  else
    defer(relay, peer, (Event){.type = EVENT_GONE, .a = reason});
}

// --- Events caused during a drain ---

static Event *captured_list(const Relay *relay) {
  return (Event *)(void *)relay->captured.data;
}

static void count_captured(Relay *relay, Peer *peer, const Event *event, int change) {
  Room *room = relay_room(relay, event->room);
  if (peer) peer->captured += (uint32_t)change;
  if (room) room->captured += (uint32_t)change;
}

static void capture(Relay *relay, const Event *event) {
  Event copy = *event;
  if (event->data.size > 0) {
    char *bytes = mem_alloc(event->data.size);
    copy.data.bytes = memcpy(bytes, event->data.bytes, event->data.size);
  }
  buf_append(&relay->captured, &copy, sizeof copy);
  Peer *peer = session_find(relay->session, event->peer);
  if (peer && event_is_counted(event->type)) peer->queued++;
  count_captured(relay, peer, event, 1);
}

// Captures the events that commands cause, at any time.
static bool is_capturing(const Relay *relay) {
  return relay->is_draining || relay->batches.current != 0;
}

// Neither copied nor counted, because it does not wait.
static void hand_out(Relay *relay, const Event *event) {
  *relay->own = *event;
  relay->own = NULL;
}

void relay_emit(Relay *relay, const Event *event) {
  if (relay->own)
    hand_out(relay, event);
  else if (is_capturing(relay))
    capture(relay, event);
  else
    push(relay, session_find(relay->session, event->peer), event);
}

void relay_push(Relay *relay, const Event *event) { relay_emit(relay, event); }

bool captured_concerns(const Relay *relay, const Event *event) {
  if (relay->captured.size == 0) return false;
  const Room *room = relay_room(relay, event->room);
  if (room && room->captured > 0) return true;
  const Peer *peer = session_find(relay->session, event->peer);
  if (!peer || peer->captured > 0) return peer != NULL;
  for (uint32_t i = 0; i < peer->room_count; i++)
    if (relay_room(relay, peer->rooms[i].room)->captured > 0) return true;
  return false;
}

// Captured events are a stack. The events of the last handler are on top of those of
// earlier handlers, its first event at the very top.
static void put_newest_first(Relay *relay) {
  if (relay->captured_end == relay->captured.size) return;
  Event *list = captured_list(relay);
  size_t first = relay->captured_end / sizeof(Event);
  for (size_t end = relay->captured.size / sizeof(Event); first + 1 < end; first++) {
    Event event = list[--end];
    list[end] = list[first];
    list[first] = event;
  }
  relay->captured_end = relay->captured.size;
}

// Takes the event at the top, with its data.
static void pop(Relay *relay, Event *event) {
  relay->captured.size -= sizeof *event;
  relay->captured_end = relay->captured.size;
  memcpy(event, relay->captured.data + relay->captured.size, sizeof *event);
  if (event->data.size > 0) relay->taken_data = (void *)(uintptr_t)event->data.bytes;
  batch_note_taken(relay);
}

static void free_taken_data(Relay *relay) {
  if (!relay->taken_data) return;
  mem_free(relay->taken_data);
  relay->taken_data = NULL;
}

void captured_free(Relay *relay) {
  for (Event event; relay->captured.size > 0;) {
    free_taken_data(relay);
    pop(relay, &event);
  }
  free_taken_data(relay);
  buf_deinit(&relay->captured);
}

// Returns whether events that waited elsewhere come first this time.
static bool is_late(const Relay *relay) {
  return !relay->batches.top &&
         (relay->captured_row >= CAPTURED_IN_A_ROW || relay->has_kept_waiting);
}

static bool take_captured(Relay *relay, Event *event) {
  put_newest_first(relay);
  if (relay->captured.size == 0 || schedule_is_over(relay) || is_late(relay))
    return false;
  relay->captured_row++;
  pop(relay, event);
  return true;
}

// --- Going out ---

// Forgets the peer and the room whose last event has been handled.
static void settle(Relay *relay) {
  if (relay->ended_peer == 0 && relay->ended_room == 0) return;
  Peer *peer = session_find(relay->session, relay->ended_peer);
  Room *room = slots_find(&relay->rooms, relay->ended_room);
  relay->ended_peer = relay->ended_room = 0;
  if (peer) forget(relay, peer);
  if (room) room_free(relay, room);
}

void relay_begin_drain(Relay *relay) {
  settle(relay);
  schedule_begin(relay);
  relay->is_draining = true;
}

void relay_end_drain(Relay *relay) {
  relay->is_draining = relay->has_released = false;
  relay->captured_row = 0;
  if (relay->batches.top) relay->has_kept_waiting = true;
  schedule_end(relay);
  if (relay->captured.size == 0 && relay->captured.capacity > SHRINK_BYTES)
    buf_deinit(&relay->captured);
}

// Carries out commands that were given before any waiting event. Returns false when the
// slice has ended before the next event is known.
static bool go_on(Relay *relay) {
  while (relay->batches.top && !relay->batches.top->is_awaiting) {
    if (schedule_is_over(relay)) return false;
    batch_continue(relay);
  }
  return true;
}

static bool take_queued(Relay *relay, Event *event) {
  if (relay->batches.top) return false;
  bool is_taken = schedule_take(relay, event);
  if (is_taken) relay->captured_row = 0;
  if (is_taken || !relay->schedule.is_skipping) relay->has_kept_waiting = false;
  return is_taken;
}

// Takes an event; *peer is the event's, or NULL.
static bool take(Relay *relay, Event *event, Peer **peer) {
  free_taken_data(relay);
  if (!go_on(relay)) return false;
  bool is_captured = take_captured(relay, event);
  if (!is_captured && !take_queued(relay, event)) return false;
  *peer = session_find(relay->session, event->peer);
  if (is_captured) count_captured(relay, *peer, event, -1);
  uncount(relay, *peer, event, !is_captured && !relay->schedule.taken);
  return true;
}

static Packet packet_of(const Event *event) {
  return (Packet){
      .channel = event->channel,
      .type = event->packet_type,
      .priority = event->priority,
      .flags = event->flags,
      .ref = event->ref,
      .length = event->data.size,
      .payload = (const uint8_t *)event->data.bytes,
  };
}

// Carries out one of the relay's own events. The first event that it causes replaces it;
// returns false when it causes none.
static bool handle_own(Relay *relay, Event *event, Peer *peer) {
  if (!peer || peer->is_gone) return false;
  Packet packet = packet_of(event);
  relay->own = event;
  if (event->type == EVENT_DEFERRED)
    relay_packet(relay, peer, &packet);
  else if (event->type == EVENT_DEFERRED_LINE)
    relay_line(relay, peer, event->data);
  else
    end(relay, peer, (Code)event->a);
  bool has_caused = relay->own == NULL;
  relay->own = NULL;
  if (!has_caused) schedule_work(relay, 1);
  return has_caused;
}

// --- Events that still matter ---

// A packet for a room that has waited has to find the room, and its sender in it.
static bool is_still_member(Relay *relay, Peer *peer, const Event *event) {
  bool is_of_member = event->type == EVENT_MESSAGE || event->type == EVENT_TEXT ||
                      event->type == EVENT_BROADCAST;
  if (!is_of_member || event->room == 0) return true;
  Packet request = packet_of(event);
  return member_room(relay, peer, event->room, &request) != NULL;
}

static bool is_peer_event_alive(Relay *relay, Peer *peer, const Event *event) {
  if (!peer) return false;
  switch (event->type) {
    case EVENT_CONNECT:
      return peer->state == PEER_CONNECTING;
    case EVENT_DISCONNECT:
      return true;
    case EVENT_LEAVE:
      return relay_room(relay, event->room) != NULL;
    case EVENT_BACKPRESSURE:
      return peer->state == PEER_CONNECTED &&
             (event->room == 0 || relay_room(relay, event->room));
    case EVENT_RESUME:
      return !peer->is_gone && member_find(peer, event->room);
    case EVENT_CHANNEL_OPEN:
      return peer_has_session(peer);
    default:
      return !peer->is_gone;
  }
}

static bool is_tick_alive(const Relay *relay, uint32_t id) {
  const Room *room = relay_room(relay, id);
  return !relay->is_over && (id == 0 || (room && room->state != ROOM_GONE));
}

static bool is_alive(Relay *relay, const Event *event) {
  if (event->type >= EVENT_TYPE_COUNT)
    return relay->host->take(relay->host_data, event);
  switch (event->type) {
    case EVENT_JOINED:
    case EVENT_NOT_JOINED:
      return true;
    case EVENT_JOIN:
      return join_is_due(relay, event);
    case EVENT_TICK:
      return is_tick_alive(relay, event->room);
    case EVENT_CREATE:
    case EVENT_ROOM_CREATE:
    case EVENT_ROOM_DELETE:
      return relay_room(relay, event->room) != NULL;
    default:
      return is_peer_event_alive(relay, session_find(relay->session, event->peer),
                                 event);
  }
}

// What has to follow when this event has been handled, or has been taken.
static void note_ended(Relay *relay, const Event *event) {
  if (event->type == EVENT_DISCONNECT) relay->ended_peer = event->peer;
  if (event->type == EVENT_ROOM_DELETE) relay->ended_room = event->room;
}

static bool take_alive(Relay *relay, Event *event) {
  Peer *peer;
  while (take(relay, event, &peer)) {
    if (event->type == EVENT_TICK) tick_taken(relay, event);
    bool is_own = event->type <= EVENT_GONE;
    if (is_own && !handle_own(relay, event, peer)) continue;
    if (!is_alive(relay, event)) continue;
    if (!is_own && !is_still_member(relay, peer, event)) continue;
    note_ended(relay, event);
    return true;
  }
  return false;
}

// Reads on from throttled peers while the slice lasts, so that bursts need not wait for
// the next iteration. Returns false when the drain is over.
static bool refill(Relay *relay) {
  if (!relay->has_released || relay->captured.size > 0 || !relay->schedule.is_timed ||
      schedule_is_over(relay))
    return false;
  relay->has_released = relay->is_draining = false;
  bool is_any = net_resume(relay->net);
  relay->is_draining = true;
  return is_any && schedule_work(relay, SCHEDULE_LOOK);
}

bool relay_next_event(Relay *relay, Event *event) {
  settle(relay);
  do {
    if (take_alive(relay, event)) return true;
  } while (refill(relay));
  relay_end_drain(relay);
  return false;
}

bool relay_has_events(const Relay *relay) {
  return relay->batches.top || relay->captured.size > 0 || !schedule_is_empty(relay);
}

bool relay_has_urgent(const Relay *relay) {
  return relay->batches.top || !events_is_empty(&relay->schedule.urgent);
}

void relay_set_over(Relay *relay) { relay->is_over = true; }
