// The order of things: what a peer sends is handled at once while nothing of it waits
// for the script, else it is queued and handled when its turn comes in the drain. The
// events that come of a queued packet are handed to the script next, before the rest of
// the drain.

#include <string.h>

#include "relay/internal.h"

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

// --- Coming in ---

static void defer(Relay *relay, Peer *peer, Event event) {
  event.peer = peer->id;
  events_push(&relay->events, &event);
  peer->queued++;
}

void drain_packet(void *data, Peer *peer, const Packet *packet) {
  Relay *relay = data;
  if (peer->queued == 0) {
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
  if (peer->queued == 0) {
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
  if (relay->captured.size == 0) relay_free_kept(relay);
  events_begin(&relay->events);
  relay->is_draining = true;
}

static void end_drain(Relay *relay) {
  relay->is_draining = false;
  if (relay->captured.capacity > SHRINK_BYTES) buf_deinit(&relay->captured);
}

static bool take_captured(Relay *relay, Event *event) {
  if (relay->captured_at == relay->captured.size) {
    relay->captured_at = relay->captured.size = 0;
    return false;
  }
  memcpy(event, relay->captured.data + relay->captured_at, sizeof *event);
  relay->captured_at += sizeof *event;
  return true;
}

static bool take_queued(Relay *relay, Event *event) {
  relay->questions = 0;
  return events_next(&relay->events, event);
}

// The next event, after what is left of commands that were given before it.
static bool take(Relay *relay, Event *event) {
  bool is_taken = take_captured(relay, event);
  while (!is_taken && batch_go_on(relay)) is_taken = take_captured(relay, event);
  if (!is_taken && !take_queued(relay, event)) return false;
  Peer *peer = session_find(relay->session, event->peer);
  if (peer && event_is_counted(event->type)) peer->queued--;
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
  relay->is_capturing = true;
  if (event->type == EVENT_DEFERRED)
    relay_packet(relay, peer, &packet);
  else if (event->type == EVENT_DEFERRED_LINE)
    relay_line(relay, peer, event->data);
  else
    end(relay, peer, (Code)event->a);
  relay->is_capturing = false;
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
  return id == 0 || (room && room->state != ROOM_GONE);
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
      return true;
    case EVENT_JOIN:
      return join_is_due(relay, event);
    case EVENT_TIMER:
      return slots_find(&relay->timers, event->a) != NULL;
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
  relay->stats.handlers++;
  if (event->type == EVENT_DISCONNECT) relay->told_peer = event->peer;
  if (event->type == EVENT_ROOM_DELETE) relay->told_room = event->room;
  if (event->type != EVENT_TIMER) return;
  ScriptTimer *timer = slots_find(&relay->timers, event->a);
  if (timer->repeat_ms == 0) script_timer_free(timer);
}

bool relay_next_event(Relay *relay, Event *event) {
  settle(relay);
  for (;;) {
    if (!take(relay, event)) break;
    if (handle_own(relay, event) || !is_alive(relay, event)) continue;
    note_told(relay, event);
    return true;
  }
  end_drain(relay);
  return false;
}
