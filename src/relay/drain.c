// The order of events. The relay handles a packet at once unless earlier events of its
// peer wait. Otherwise it queues the packet and handles it in a drain.

#include "relay/internal.h"
#include "relay/notify.h"

enum {
  // Limit of captured events in a row. A queued event follows, because handlers may
  // cause events without end. A simulation needs the limit because it has no slices.
  CAPTURED_IN_A_ROW = 500,
};

// Removes an event from the counts of its peer, and releases the peer if few events are left.
static void uncount(Relay *relay, Peer *peer, const Event *event, bool is_ahead) {
  if (!peer || !event_is_counted(event->type)) return;
  peer->relay.queued--;
  peer->relay.ahead -= is_ahead;
  if (!(peer->throttle.reasons & THROTTLE_QUEUE)) return;
  if (peer->relay.queued > QUEUED_LOW ||
      schedule_waiting_bytes(peer) > QUEUED_BYTES / 2)
    return;
  session_release(relay->session, peer, THROTTLE_QUEUE);
  relay->has_released = true;
}

// --- Coming in ---

// Returns whether a packet of the peer can be handled now: no earlier event of the peer
// waits, and no handler has remaining commands, which would precede the packet.
static bool is_next(const Relay *relay, const Peer *peer) {
  return peer->relay.queued == 0 && !relay->batches.top;
}

void drain_packet(void *data, Peer *peer, const Packet *packet) {
  Relay *relay = data;
  if (is_next(relay, peer)) {
    relay_packet(relay, peer, packet);
    return;
  }
  Event deferred = relay_packet_event(EVENT_DEFERRED, peer, packet);
  event_queue(relay, peer, &deferred);
}

void drain_line(void *data, Peer *peer, const char *text, size_t size) {
  Relay *relay = data;
  Text line = {text, (uint32_t)size};
  if (is_next(relay, peer)) {
    relay_line(relay, peer, line);
    return;
  }
  event_queue(relay, peer,
              &(Event){.type = EVENT_DEFERRED_LINE, .peer = peer->id, .data = line});
}

// Handles the peer's disconnect.
static void end(Relay *relay, Peer *peer, Code reason) {
  peer->relay.is_gone = true;
  relay->bots -= peer->is_bot;
  channel_release_all(relay, peer);
  script_joins_end_all(relay, peer);
  leave_all(relay, peer, reason);
  if (relay->is_scripted)
    relay_emit(relay,
               &(Event){.type = EVENT_DISCONNECT, .peer = peer->id, .a = reason});
  else
    session_forget(relay->session, peer);
}

// Ends the peer at once, or behind its queued events. In a drain, the script or a
// queued packet has ended the peer, so its queued events are obsolete. A bot ends at
// once, even if events of it wait.
void drain_disconnect(void *data, Peer *peer, Code reason) {
  Relay *relay = data;
  if (relay->is_draining || peer->is_bot || peer->relay.queued == 0)
    end(relay, peer, reason);
  else
    event_queue(relay, peer,
                &(Event){.type = EVENT_GONE, .peer = peer->id, .a = reason});
}

// Returns whether a queued event must now precede the captured events.
static bool is_late(const Relay *relay) {
  return !relay->batches.top &&
         (relay->captured.row >= CAPTURED_IN_A_ROW || relay->captured.has_kept_waiting);
}

static bool take_captured(Relay *relay, Event *event) {
  captured_put_newest_first(relay);
  if (relay->captured.events.size == 0 || schedule_is_over(relay) || is_late(relay))
    return false;
  relay->captured.row++;
  captured_take(relay, event);
  batch_note_taken(relay);
  return true;
}

// --- Going out ---

// Frees the peer and the room whose last event has been handled.
static void free_ended(Relay *relay) {
  if (relay->ended_peer == 0 && relay->ended_room == 0) return;
  Peer *peer = session_find(relay->session, relay->ended_peer);
  Room *room = slots_find(&relay->rooms, relay->ended_room);
  relay->ended_peer = relay->ended_room = 0;
  if (peer) session_forget(relay->session, peer);
  if (room) room_free(relay, room);
}

void relay_begin_drain(Relay *relay, uint64_t now_us) {
  free_ended(relay);
  schedule_begin(relay, now_us);
  relay->is_draining = true;
}

void relay_end_drain(Relay *relay) {
  relay->is_draining = relay->has_released = false;
  relay->captured.row = 0;
  if (relay->batches.top) relay->captured.has_kept_waiting = true;
  schedule_end(relay);
  if (relay->captured.events.size == 0 &&
      relay->captured.events.capacity > SHRINK_BYTES)
    buf_deinit(&relay->captured.events);
}

static bool take_queued(Relay *relay, Event *event) {
  if (relay->batches.top) return false;
  bool is_taken = schedule_take(relay, event);
  if (is_taken) relay->captured.row = 0;
  if (is_taken || !relay->schedule.is_skipping)
    relay->captured.has_kept_waiting = false;
  return is_taken;
}

// Removes the next event and sets *peer to its peer or NULL. First carries out
// remaining commands, which precede all waiting events.
static bool take(Relay *relay, Event *event, Peer **peer) {
  captured_free_data(relay);
  while (relay->batches.top && !relay->batches.top->is_awaiting) {
    if (schedule_is_over(relay)) return false;
    batch_continue(relay);
  }
  bool is_captured = take_captured(relay, event);
  if (!is_captured && !take_queued(relay, event)) return false;
  *peer = session_find(relay->session, event->peer);
  if (is_captured) captured_count(relay, *peer, event, -1);
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

// Handles one of the relay's own events, and replaces it with the first event that it
// causes. Returns false if it causes none.
static bool handle_own(Relay *relay, Event *event, Peer *peer) {
  if (!peer || peer->relay.is_gone) return false;
  Packet packet = packet_of(event);
  relay->captured.receiver = event;
  if (event->type == EVENT_DEFERRED)
    relay_packet(relay, peer, &packet);
  else if (event->type == EVENT_DEFERRED_LINE)
    relay_line(relay, peer, event->data);
  else if (event->type == EVENT_LOST)
    suspended_leave(relay, peer);
  else
    end(relay, peer, (Code)event->a);
  bool has_caused = relay->captured.receiver == NULL;
  relay->captured.receiver = NULL;
  if (!has_caused) schedule_work(relay, 1);
  return has_caused;
}

// --- Obsolete events ---

// Returns whether the sender of a waiting message is still in the message's room; sends
// it an ERROR if not.
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
    case EVENT_SIGN_IN:
      return peer->state != PEER_CLOSED;
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
    case EVENT_BOT_TICK:
      return !peer->relay.is_gone && member_find(peer, event->room);
    case EVENT_CHANNEL_OPEN:
      return peer_has_session(peer);
    default:
      return !peer->relay.is_gone;
  }
}

static bool is_alive(Relay *relay, const Event *event) {
  if (event->type >= EVENT_TYPE_COUNT)
    return relay->host->take(relay->host_data, event);
  const Room *room;
  switch (event->type) {
    case EVENT_JOINED:
    case EVENT_NOT_JOINED:
      return true;
    case EVENT_JOIN:
      return join_is_due(relay, event);
    case EVENT_TICK:
      room = relay_room(relay, event->room);
      if (relay->is_over) return false;
      return event->room == 0 ||
             (room && room->state != ROOM_GONE && room->kind.hooks & HOOK_TICK);
    case EVENT_CREATE:
    case EVENT_ROOM_CREATE:
    case EVENT_ROOM_DELETE:
      return relay_room(relay, event->room) != NULL;
    default:
      return is_peer_event_alive(relay, session_find(relay->session, event->peer),
                                 event);
  }
}

static bool take_alive(Relay *relay, Event *event) {
  Peer *peer;
  while (take(relay, event, &peer)) {
    if (event->type == EVENT_TICK) {
      tick_taken(relay, event);
      bots_tick(relay, event);
    }
    bool is_own = event->type <= EVENT_GONE;
    if (is_own && !handle_own(relay, event, peer)) continue;
    if (!is_alive(relay, event)) continue;
    if (!is_own && !is_still_member(relay, peer, event)) continue;
    if (event->type == EVENT_DISCONNECT) relay->ended_peer = event->peer;
    if (event->type == EVENT_ROOM_DELETE) relay->ended_room = event->room;
    return true;
  }
  return false;
}

// Reads from released peers while the slice lasts, so that a burst needs fewer iterations.
// Returns false when the drain is over.
static bool refill(Relay *relay) {
  if (!relay->has_released || relay->captured.events.size > 0 ||
      !relay->schedule.is_timed || schedule_is_over(relay))
    return false;
  relay->has_released = relay->is_draining = false;
  bool is_any = net_resume(relay->net);
  relay->is_draining = true;
  return is_any && schedule_work(relay, SCHEDULE_LOOK);
}

bool relay_next_event(Relay *relay, Event *event) {
  free_ended(relay);
  do {
    if (take_alive(relay, event)) return true;
  } while (refill(relay));
  relay_end_drain(relay);
  return false;
}

bool relay_has_events(const Relay *relay) {
  return relay->batches.top || relay->captured.events.size > 0 ||
         !schedule_is_empty(relay);
}

bool relay_has_urgent(const Relay *relay) {
  return relay->batches.top || !events_is_empty(&relay->schedule.urgent);
}

void relay_set_over(Relay *relay) { relay->is_over = true; }
