// Selects the next event and charges its handler to a source. The caller reads the
// clock for each handler. This file reads the clock after every SCHEDULE_LOOK pieces of
// work without a handler.

#include "relay/schedule.h"

#include <limits.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "relay/internal.h"

enum {
  COSTLY_MS = 1000,  // time that a source spends in the second class after it took too
                     // much time
  LOOK_SOURCES = 8,  // sources tried in search of an event that may be handled now
  // Number of iterations that may skip the second class after a handler that took many
  // slices. A new connection needs three iterations: to be accepted, read and answered.
  SKIPS_MAX = 3,
};

// --- Sources ---

void schedule_init(Relay *relay) {
  relay->schedule.is_timed = !net_is_simulated(relay->net);
}

void schedule_deinit(Relay *relay) {
  Schedule *schedule = &relay->schedule;
  events_deinit(&schedule->game.events);
  events_deinit(&schedule->background.events);
  events_deinit(&schedule->leavers.events);
  for (uint32_t i = 0; i < schedule->peer_capacity; i++) {
    if (!schedule->peers[i]) continue;
    events_deinit(&schedule->peers[i]->events);
    mem_free(schedule->peers[i]);
  }
  mem_free(schedule->peers);
  while (schedule->spare_count > 0)
    buf_deinit(&schedule->spare[--schedule->spare_count]);
  events_deinit(&schedule->urgent);
  events_deinit(&schedule->first);
}

// Returns the source at the peer's index. A later peer with the same index reuses the
// source.
static Source *take_place(Relay *relay, Peer *peer) {
  Schedule *schedule = &relay->schedule;
  uint32_t index = peer->id & SLOTS_MAX;
  schedule->peer_capacity = array_reach(&schedule->peers, schedule->peer_capacity,
                                        sizeof *schedule->peers, index);
  Source **place = &schedule->peers[index];
  if (!*place) *place = mem_zalloc(sizeof **place);
  Source *source = *place;
  source->peer = peer->id;
  source->costly_ms = source->slice_us = source->second_us = 0;
  return peer->relay.source = source;
}

static Source *source_of_peer(Relay *relay, Peer *peer) {
  if (!peer || peer->relay.is_gone) return &relay->schedule.leavers;
  return peer->relay.source ? peer->relay.source : take_place(relay, peer);
}

// Returns whether the event belongs to a peer that has not connected yet.
static bool event_is_newcomers(const Event *event, const Peer *peer) {
  return event->type == EVENT_CONNECT ||
         (event->type == EVENT_SIGN_IN && peer && !peer_has_session(peer));
}

// Returns the source that pays for an event. `peer` is the event's peer or NULL.
static Source *source_of(Relay *relay, const Event *event, Peer *peer) {
  if (event_is_newcomers(event, peer)) return &relay->schedule.newcomers;
  if (event->order == ORDER_BACKGROUND) return &relay->schedule.background;
  if (event->peer) return source_of_peer(relay, peer);
  if (event->room == 0) return &relay->schedule.game;
  Room *room = relay_room(relay, event->room);
  if (!room) return &relay->schedule.leavers;
  room->source.room = event->room;
  return &room->source;
}

static Source *find_source(Relay *relay, const Event *event) {
  return source_of(relay, event, session_find(relay->session, event->peer));
}

size_t schedule_waiting_bytes(const Peer *peer) {
  return peer->relay.source ? events_bytes(&peer->relay.source->events) : 0;
}

// Returns the source in whose queue the event waits. Each connecting peer has a queue
// of its own. All connecting peers are charged as one source, because each one alone
// would always be cheap.
static Source *queue_of(Relay *relay, const Event *event, Peer *peer) {
  return event_is_newcomers(event, peer) ? source_of_peer(relay, peer)
                                         : source_of(relay, event, peer);
}

// --- The ring ---

static void link_last(Schedule *schedule, Source *source) {
  if (!schedule->ring) schedule->ring = source->next = source->previous = source;
  if (source->next) return;
  Source *first = schedule->ring;
  source->next = first;
  source->previous = first->previous;
  first->previous->next = source;
  first->previous = source;
}

static void unlink(Schedule *schedule, Source *source) {
  if (schedule->ring == source) schedule->ring = source->next;
  if (schedule->ring == source) schedule->ring = NULL;
  source->previous->next = source->next;
  source->next->previous = source->previous;
  source->next = source->previous = NULL;
}

static void push_to(Schedule *schedule, Source *source, const Event *event) {
  Buf *bytes = &source->events.bytes;
  if (bytes->capacity == 0 && schedule->spare_count > 0)
    *bytes = schedule->spare[--schedule->spare_count];
  events_push(&source->events, event);
  link_last(schedule, source);
}

// Keeps or frees the memory of the last event's source if that source has no more
// events.
static void let_go(Schedule *schedule) {
  Source *source = schedule->taken;
  schedule->taken = NULL;
  if (!source || !events_is_empty(&source->events)) return;
  Buf *bytes = &source->events.bytes;
  if (schedule->spare_count < SCHEDULE_SPARE &&
      bytes->capacity <= SCHEDULE_SPARE_BYTES) {
    bytes->size = 0;
    schedule->spare[schedule->spare_count++] = *bytes;
    *bytes = (Buf){0};
  }
  events_deinit(&source->events);
}

void source_end(Relay *relay, Source *source) {
  Schedule *schedule = &relay->schedule;
  Event event;
  if (schedule->taken == source) schedule->taken = NULL;
  if (source->next) unlink(schedule, source);
  while (events_next(&source->events, &event))
    push_to(schedule, &schedule->leavers, &event);
  events_deinit(&source->events);
}

// --- Pushing ---

// Returns whether the event belongs to the first class.
static bool is_prompt(const Event *event) {
  static const bool IS_SECOND[EVENT_TYPE_COUNT] = {
      [EVENT_MESSAGE] = true, [EVENT_TEXT] = true,          [EVENT_PACKET] = true,
      [EVENT_CHANNEL] = true, [EVENT_BROADCAST] = true,     [EVENT_DEFERRED] = true,
      [EVENT_GONE] = true,    [EVENT_DEFERRED_LINE] = true, [EVENT_BOT_MESSAGE] = true,
  };
  return event->type < EVENT_TYPE_COUNT ? !IS_SECOND[event->type]
                                        : event->order != ORDER_BACKGROUND;
}

static bool is_costly(const Relay *relay, const Source *source) {
  if (source->costly_ms == 0) return false;
  return !source->is_cheap || net_now_ms(relay->net) - source->costly_ms < COSTLY_MS;
}

const Source *schedule_push(Relay *relay, const Event *event, Peer *peer) {
  Schedule *schedule = &relay->schedule;
  if (event->order == ORDER_URGENT) {
    events_push(&schedule->urgent, event);
    return NULL;
  }
  Source *queue = queue_of(relay, event, peer);
  if (!schedule->is_timed || (is_prompt(event) && events_is_empty(&queue->events) &&
                              !is_costly(relay, source_of(relay, event, peer)))) {
    events_push(&schedule->first, event);
    return NULL;
  }
  push_to(schedule, queue, event);
  return queue;
}

// --- Taking ---

bool schedule_is_over(const Relay *relay) {
  return relay->schedule.slice_us > 0 && relay->schedule.left_us <= 0;
}

// Returns whether an event of the first class, or a captured one, precedes the next event
// of this source.
static bool is_behind(const Relay *relay, const Source *source) {
  if (events_is_empty(&relay->schedule.first) && relay->captured.events.size == 0)
    return false;
  Event event;
  events_peek(&source->events, &event);
  const Peer *peer = session_find(relay->session, event.peer);
  return (peer && peer->relay.ahead > 0) || captured_concerns(relay, &event);
}

// Moves the source's events of the first class to the beginning of its second class.
static void demote(Relay *relay, Source *source) {
  Schedule *schedule = &relay->schedule;
  Events first = schedule->first, second = source->events;
  Event event;
  schedule->first = source->events = (Events){0};
  while (events_next(&first, &event)) {
    Peer *peer = session_find(relay->session, event.peer);
    if (source_of(relay, &event, peer) == source) {
      if (peer && event_is_counted(event.type)) peer->relay.ahead--;
      push_to(schedule, queue_of(relay, &event, peer), &event);
    } else {
      events_push(&schedule->first, &event);
    }
  }
  while (events_next(&second, &event)) push_to(schedule, source, &event);
  events_deinit(&first);
  events_deinit(&second);
}

// Takes the first event that need not wait for captured events. Moves events that must
// wait to their sources, so that they do not delay other sources. In a simulation, all
// events keep their order.
static bool take_first(Relay *relay, Event *event) {
  Schedule *schedule = &relay->schedule;
  if (schedule_is_over(relay) && schedule->has_first) return false;
  for (int i = 0; i < LOOK_SOURCES && events_peek(&schedule->first, event); i++) {
    if (!captured_concerns(relay, event)) {
      schedule->has_first = true;
      return events_next(&schedule->first, event);
    }
    if (!schedule->is_timed) return false;
    demote(relay, find_source(relay, event));
  }
  return false;
}

static bool take_second(Relay *relay, Event *event) {
  Schedule *schedule = &relay->schedule;
  if (schedule->is_skipping || (schedule_is_over(relay) && schedule->has_second))
    return false;
  for (int i = 0; schedule->ring && i < LOOK_SOURCES; i++) {
    Source *source = schedule->ring;
    schedule->ring = source->next;
    if (is_behind(relay, source)) continue;
    schedule->has_second = true;
    schedule->taken = source;
    events_next(&source->events, event);
    if (events_is_empty(&source->events)) unlink(schedule, source);
    return true;
  }
  return false;
}

bool schedule_take(Relay *relay, Event *event) {
  let_go(&relay->schedule);
  return events_next(&relay->schedule.urgent, event) || take_first(relay, event) ||
         take_second(relay, event);
}

bool schedule_is_empty(const Relay *relay) {
  const Schedule *schedule = &relay->schedule;
  return events_is_empty(&schedule->urgent) && events_is_empty(&schedule->first) &&
         !schedule->ring;
}

// --- The slice ---

static void set_clock(Schedule *schedule, uint64_t now_us) {
  schedule->left_us -= (int64_t)(now_us - schedule->clock_us);
  schedule->clock_us = now_us;
  schedule->unclocked = 0;
}

void schedule_begin(Relay *relay, uint64_t now_us) {
  Schedule *schedule = &relay->schedule;
  schedule->slice++;
  schedule->slice_us = schedule->is_timed ? relay->limits.slice_us : 0;
  schedule->left_us = (int64_t)schedule->slice_us;
  schedule->clock_us = now_us;
  schedule->unclocked = 0;
  schedule->has_first = schedule->has_second = false;
  schedule->is_skipping = schedule->skips > 0;
  if (schedule->is_skipping) schedule->skips--;
}

void schedule_end(Relay *relay) {
  Schedule *schedule = &relay->schedule;
  let_go(schedule);
  events_trim(&schedule->first);
  if (!schedule_is_over(relay) || schedule->is_skipping) return;
  uint64_t slices = (uint64_t)-schedule->left_us / schedule->slice_us;
  schedule->skips = slices < SKIPS_MAX ? (uint32_t)slices : SKIPS_MAX;
}

bool schedule_work(Relay *relay, uint64_t pieces) {
  Schedule *schedule = &relay->schedule;
  schedule->unclocked += pieces;
  if (schedule->slice_us > 0 && schedule->unclocked >= SCHEDULE_LOOK)
    set_clock(schedule, net_clock_us(relay->net));
  return !schedule_is_over(relay);
}

static void charge(Relay *relay, Source *source, uint64_t us) {
  Schedule *schedule = &relay->schedule;
  if (source->slice != schedule->slice) source->slice_us = 0;
  source->slice = schedule->slice;
  source->slice_us += us;
  bool was_costly = is_costly(relay, source);
  source->is_cheap = source->slice_us <= schedule->slice_us / 2;
  if (source->is_cheap) return;
  if (!was_costly) demote(relay, source);
  source->costly_ms = net_now_ms(relay->net);
}

uint64_t relay_charge(Relay *relay, const Event *taken, const Event *handled,
                      uint64_t started_us, uint64_t now_us) {
  Schedule *schedule = &relay->schedule;
  if (!schedule->is_timed || schedule->slice_us == 0) return 0;
  set_clock(schedule, now_us);
  relay->batches.payer.type = handled->type;
  relay->batches.payer.order = handled->order;
  relay->batches.payer.peer = handled->peer;
  relay->batches.payer.room = handled->room;
  Source *source = find_source(relay, handled), *bringer = source;
  if (taken->type != handled->type || taken->peer != handled->peer)
    bringer = find_source(relay, taken);
  uint64_t us = now_us - started_us;
  charge(relay, source, us);
  if (bringer != source) charge(relay, bringer, us);
  uint32_t second = (uint32_t)(now_us / 1000000);
  if (source->second != second) source->second_us = 0;
  source->second = second;
  return source->second_us += us;
}
