// The order of things: what a peer sends is handled at once while nothing of it waits
// for the script, else it is queued and handled when its turn comes in a drain. What a
// handler or a queued packet causes is captured and comes next, before all that waits in
// queues (schedule.c).

#include <string.h>

#include "base/mem.h"
#include "relay/internal.h"

enum {
  // Captured events before others have a turn: handlers that cause events in turn could go
  // on without end, and in a simulation no slice ends.
  CAPTURED_IN_A_ROW = 500,
};

static bool event_is_counted(uint8_t type) {
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

void event_count_ahead(Relay *relay, const Event *event, int change) {
  Peer *peer = session_find(relay->session, event->peer);
  if (peer && event_is_counted(event->type)) peer->ahead += (uint32_t)change;
}

static void unthrottle(Relay *relay, Peer *peer) {
  if (peer->queued <= QUEUED_LOW &&
      schedule_waiting_bytes(relay, peer) <= QUEUED_BYTES / 2)
    session_release(relay->session, peer, THROTTLE_QUEUE);
}

void event_count(Relay *relay, const Event *event, int change) {
  Peer *peer = session_find(relay->session, event->peer);
  if (!peer || !event_is_counted(event->type)) return;
  peer->queued += (uint32_t)change;
  if (change > 0 &&
      (peer->queued > QUEUED_MAX || schedule_waiting_bytes(relay, peer) > QUEUED_BYTES))
    session_throttle(relay->session, peer, THROTTLE_QUEUE);
  else if (peer->throttles & THROTTLE_QUEUE)
    unthrottle(relay, peer);
}

// --- Coming in ---

static void push(Relay *relay, const Event *event) {
  schedule_push(relay, event);
  event_count(relay, event, 1);
}

static void defer(Relay *relay, const Peer *peer, Event event) {
  event.peer = peer->id;
  push(relay, &event);
}

// Whether a packet can be handled now: nothing of its peer waits, and no handler has
// commands left, with which it would mix.
static bool is_next(const Relay *relay, const Peer *peer) {
  return peer->queued == 0 && !relay->batches;
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

// --- What is caused during a drain ---

// Copies the data, unless it is captured already.
static Text keep(Relay *relay, Text text) {
  Kept *kept = mem_alloc(sizeof *kept + text.size);
  kept->next = relay->kept;
  relay->kept = kept;
  memcpy(kept->bytes, text.bytes, text.size);
  return (Text){kept->bytes, text.size};
}

void captured_free_kept(Relay *relay) {
  while (relay->kept) {
    Kept *next = relay->kept->next;
    mem_free(relay->kept);
    relay->kept = next;
  }
}

static void capture(Relay *relay, const Event *event) {
  buf_append(&relay->captured, event, sizeof *event);
  event_count(relay, event, 1);
  event_count_ahead(relay, event, 1);
}

// What commands cause is captured whenever they are carried out.
static bool is_capturing(const Relay *relay) {
  return relay->is_draining || relay->batch_number != 0;
}

void relay_emit(Relay *relay, const Event *event) {
  if (is_capturing(relay))
    capture(relay, event);
  else
    push(relay, event);
}

void relay_emit_copy(Relay *relay, const Event *event) {
  Event copy = *event;
  if (is_capturing(relay) && event->data.size > 0) copy.data = keep(relay, event->data);
  relay_emit(relay, &copy);
}

void relay_push(Relay *relay, const Event *event) { relay_emit_copy(relay, event); }

static bool has_captured(const Relay *relay) {
  return relay->captured_at < relay->captured.size;
}

bool captured_concerns(const Relay *relay, uint32_t id, uint32_t room) {
  if (!has_captured(relay)) return false;
  const Peer *peer = session_find(relay->session, id);
  for (size_t at = relay->captured_at; at < relay->captured.size; at += sizeof(Event)) {
    Event event;
    memcpy(&event, relay->captured.data + at, sizeof event);
    if (event.peer && event.peer == id) return true;
    if (event.room && event.room == room) return true;
    if (event.room && peer && member_find(peer, event.room)) return true;
  }
  return false;
}

static void swap_runs(uint8_t *start, size_t first, size_t second) {
  uint8_t *copy = mem_alloc(second);
  memcpy(copy, start + first, second);
  memmove(start + second, start, first);
  memcpy(start, copy, second);
  mem_free(copy);
}

// What the last handler has caused goes before what those before it have.
static void put_newest_first(Relay *relay) {
  size_t at = relay->captured_at, end = relay->captured_end;
  size_t size = relay->captured.size;
  if (at < end && end < size)
    swap_runs(relay->captured.data + at, end - at, size - end);
  relay->captured_end = size;
}

static bool take_captured(Relay *relay, Event *event) {
  put_newest_first(relay);
  if (!has_captured(relay)) {
    relay->captured_at = relay->captured_end = relay->captured.size = 0;
    captured_free_kept(relay);
    return false;
  }
  if (relay->captured_row == CAPTURED_IN_A_ROW || schedule_is_over(relay)) return false;
  relay->captured_row++;
  memcpy(event, relay->captured.data + relay->captured_at, sizeof *event);
  relay->captured_at += sizeof *event;
  event_count_ahead(relay, event, -1);
  return true;
}

// What is left of it waits for the next drain; data that lies in a queue may not be there by
// then.
static void keep_captured(Relay *relay) {
  for (size_t at = relay->captured_at; at < relay->captured.size; at += sizeof(Event)) {
    Event event;
    memcpy(&event, relay->captured.data + at, sizeof event);
    if (!schedule_has_data(relay, event.data)) continue;
    event.data = keep(relay, event.data);
    memcpy(relay->captured.data + at, &event, sizeof event);
  }
}

// --- Going out ---

// Forgets the peer and the room whose last event has been handled.
static void settle(Relay *relay) {
  Peer *peer = session_find(relay->session, relay->told_peer);
  Room *room = slots_find(&relay->rooms, relay->told_room);
  relay->told_peer = relay->told_room = 0;
  if (peer) forget(relay, peer);
  if (room) room_free(relay, room);
}

void relay_begin_drain(Relay *relay) {
  settle(relay);
  schedule_begin(relay);
  relay->is_draining = true;
}

static void end_drain(Relay *relay) {
  relay->is_draining = false;
  relay->captured_row = 0;
  keep_captured(relay);
  schedule_end(relay);
  if (relay->captured.size == 0 && relay->captured.capacity > SHRINK_BYTES)
    buf_deinit(&relay->captured);
}

// Carries out what is left of commands that were given before any event which waits. False
// when the slice has ended before it is known what is next.
static bool go_on(Relay *relay) {
  if (relay->is_committing && !batch_go_on(relay)) return false;
  while (relay->batches && !has_captured(relay))
    if (schedule_is_over(relay) || !batch_go_on(relay)) return false;
  return true;
}

static bool take_queued(Relay *relay, Event *event) {
  if (relay->batches || !schedule_take(relay, event)) return false;
  relay->questions = relay->captured_row = 0;
  return true;
}

static bool take(Relay *relay, Event *event) {
  if (!go_on(relay)) return false;
  if (!take_captured(relay, event) && !take_queued(relay, event)) return false;
  event_count(relay, event, -1);
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

// Carries out the relay's own events; false for all others.
static bool handle_own(Relay *relay, const Event *event) {
  if (event->type < EVENT_DEFERRED) return false;
  Peer *peer = session_find(relay->session, event->peer);
  if (!peer || peer->is_gone) return true;
  Packet packet = packet_of(event);
  if (event->type == EVENT_DEFERRED)
    relay_packet(relay, peer, &packet);
  else if (event->type == EVENT_DEFERRED_LINE)
    relay_line(relay, peer, event->data);
  else
    end(relay, peer, (Code)event->a);
  schedule_work(relay, 1);
  return true;
}

// --- What is worth telling ---

// A packet for a room has to find it, and its sender in it, when its turn comes.
static bool is_still_member(Relay *relay, Peer *peer, const Event *event) {
  Packet request = packet_of(event);
  return event->room == 0 || member_room(relay, peer, event->room, &request);
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
      return peer_is_there(peer);
    case EVENT_MESSAGE:
    case EVENT_TEXT:
    case EVENT_BROADCAST:
      return !peer->is_gone && is_still_member(relay, peer, event);
    default:
      return !peer->is_gone;
  }
}

static bool is_tick_alive(const Relay *relay, uint32_t id) {
  const Room *room = relay_room(relay, id);
  return !relay->is_over && (id == 0 || (room && room->state != ROOM_GONE));
}

static bool is_alive(Relay *relay, const Event *event) {
  switch (event->type) {
    case EVENT_START:
    case EVENT_STOP:
    case EVENT_RELOAD:
    case EVENT_ERROR:
    case EVENT_HTTP:
    case EVENT_HTTP_GONE:
    case EVENT_RELOADED:
    case EVENT_CHILD:
    case EVENT_JOINED:
    case EVENT_NOT_JOINED:
    case EVENT_SYSTEM:
      return true;
    case EVENT_JOIN:
      return join_is_due(relay, event);
    case EVENT_TIMER:
      return !relay->is_over && slots_find(&relay->timers, event->a) != NULL;
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
static void note_told(Relay *relay, const Event *event) {
  relay->stats.handlers += event->type != EVENT_SYSTEM;
  if (event->type == EVENT_DISCONNECT) relay->told_peer = event->peer;
  if (event->type == EVENT_ROOM_DELETE) relay->told_room = event->room;
  if (event->type != EVENT_TIMER) return;
  ScriptTimer *timer = slots_find(&relay->timers, event->a);
  if (timer->repeat_ms == 0) script_timer_free(timer);
}

bool relay_next_event(Relay *relay, Event *event) {
  settle(relay);
  while (take(relay, event)) {
    tick_taken(relay, event);
    if (handle_own(relay, event) || !is_alive(relay, event)) continue;
    note_told(relay, event);
    return true;
  }
  end_drain(relay);
  return false;
}

void relay_follow(Relay *relay, const Event *event) { relay_emit(relay, event); }

bool relay_has_events(const Relay *relay) {
  return relay->batches || has_captured(relay) || !schedule_is_empty(relay);
}

bool relay_has_urgent(const Relay *relay) {
  return relay->batches || !events_is_empty(&relay->schedule.urgent);
}

void relay_set_over(Relay *relay) { relay->is_over = true; }
