// Lockstep (docs/protocol.md, section 17): turns are handed out in order, inputs are told until their
// turn has come, and hashes with them. The game simulates a turn when it takes its event, and says so
// with perigee_lockstep_done.
#include "lockstep.h"

#include <string.h>

#include "base/mem.h"
#include "internal.h"

enum {
  LOCKSTEP_VERSION = 1,
  INPUTS_TOLD = 16,  // in one INPUT
  HASHES_TOLD = 4,
  PIECE_SIZE = 16384,  // of a snapshot
  SNAPSHOT_MAX = 64 << 20,
  NEED_AGAIN_MS = 500,
  PAUSED_MS = 1000,     // between two INPUTs of a match that is paused
  TURN_SIZE = 1 << 16,  // bytes of its entries; a server's have 48 KiB
};

// Turns and their inputs are counted on from here without wrapping round.
static const uint32_t TURN_MAX = UINT32_MAX - 4096;

static Room *room_of(const Match *match) {
  return rooms_find(&match->client->rooms, match->room);
}

// Begins a packet about the match's room.
static Buf *begin(const Match *match) {
  Buf *payload = packet_begin(match->client);
  buf_u32(payload, room_of(match)->id);
  return payload;
}

static int finish(const Match *match, LockstepType type, uint32_t flags) {
  return packet_send(match->client,
                     (Packet){.channel = LOCKSTEP_CHANNEL, .type = (uint16_t)type},
                     flags);
}

static void tell(const Match *match, PerigeeEvent event) {
  event.room = match->room;
  client_tell(match->client, &event);
}

// --- Beginning and end ---

static void forget(Match *match) {
  for (int i = 0; i < MATCH_AHEAD; i++) match->ahead[i].turn = 0;
  match->done = match->delivered = 0;
  match->hash_count = 0;
  match->hash_turn = 0;
  match->snapshot.size = 0;
}

void match_pause(Match *match) {
  timers_stop(&match->client->timers, &match->late);
  timers_stop(&match->client->timers, &match->need);
}

void match_free(Match *match) {
  if (!match) return;
  match_pause(match);
  for (int i = 0; i < MATCH_INPUTS; i++) buf_deinit(&match->inputs[i]);
  for (int i = 0; i < MATCH_AHEAD; i++) buf_deinit(&match->ahead[i].bytes);
  buf_deinit(&match->queue);
  buf_deinit(&match->snapshot);
  mem_free(match);
}

int match_enter(Match *match) {
  if (match->is_over) return 0;
  bool has_state = match->is_ready && match->delivered > 0;
  Buf *payload = begin(match);
  buf_u8(payload, LOCKSTEP_VERSION);
  buf_u8(payload, match->flags);
  buf_append(payload, match->seat, sizeof match->seat);
  buf_u32(payload, has_state ? match->id : 0);
  buf_u32(payload, has_state ? match->delivered : 0);
  return finish(match, UP_ENTER, 0);
}

// --- Inputs ---

// Makes the inputs up to a turn: those that wait, and then empty ones.
static void submit(Match *match, uint32_t last) {
  if (match->slot == PERIGEE_SPECTATOR) return;
  if (match->submitted < match->delivered) match->submitted = match->delivered;
  while (match->submitted < last &&
         match->submitted - match->delivered < MATCH_INPUTS - 1) {
    Buf *input = &match->inputs[++match->submitted % MATCH_INPUTS];
    input->size = 0;
    if (match->queue.size == 0) continue;
    Reader reader = reader_of(match->queue.data, match->queue.size);
    uint16_t size = reader_u16(&reader);
    const uint8_t *bytes = reader_bytes(&reader, size);
    // One that was given before START said what the kind takes may be too large.
    if (size <= match->largest) buf_append(input, bytes, size);
    buf_consume(&match->queue, 2u + size);
  }
}

// With the inputs from a turn on.
static void send_input(const Match *match, uint32_t first) {
  Buf *payload = begin(match);
  buf_u32(payload, match->start);
  buf_u32(payload, match->done);
  buf_u32(payload, match->hash_turn);
  buf_u8(payload, match->hash_count);
  for (int i = 0; i < match->hash_count; i++) buf_u32(payload, match->hashes[i]);
  uint32_t count = match->submitted >= first ? match->submitted - first + 1 : 0;
  if (count > INPUTS_TOLD) count = INPUTS_TOLD;
  buf_u32(payload, first);
  buf_u8(payload, (uint8_t)count);
  for (uint32_t i = 0; i < count; i++) {
    const Buf *input = &match->inputs[(first + i) % MATCH_INPUTS];
    buf_u16(payload, (uint16_t)input->size);
    buf_append(payload, input->data, input->size);
  }
  finish(match, UP_INPUT, PERIGEE_UNRELIABLE | PERIGEE_CRITICAL);
}

// Milliseconds of so many halves of a turn's interval.
static uint64_t interval_ms(const Match *match, uint32_t halves) {
  if (match->speed == 0) return PAUSED_MS;
  return (uint64_t)match->turn_us * halves * 50 / match->speed / 1000 + 1;
}

static void on_late(void *data, uint64_t now_ms) {
  Match *match = data;
  if (match->speed > 0) submit(match, match->done + match->delay + 1u);
  // Where the server waits, it waits for the oldest.
  send_input(match, match->delivered + 1);
  timers_set(&match->client->timers, &match->late, now_ms + interval_ms(match, 2),
             on_late, match);
}

static void speak(Match *match) {
  if (!room_of(match)->is_joined) return;  // it is being joined in a new session
  uint32_t first = match->submitted + 1;   // that is new
  submit(match, match->done + match->delay);
  // Those before may be lost: the newest of them, where there are more than fit.
  uint32_t newest =
      match->submitted < INPUTS_TOLD ? 1 : match->submitted + 1 - INPUTS_TOLD;
  if (newest < first) first = newest;
  if (first <= match->delivered) first = match->delivered + 1;
  do {
    send_input(match, first);
    first += INPUTS_TOLD;
  } while (first <= match->submitted);
  timers_set(&match->client->timers, &match->late, clock_ms() + interval_ms(match, 3),
             on_late, match);
}

void match_resume(Match *match) {
  if (match->is_ready) on_late(match, clock_ms());
}

// --- Turns ---

static bool has_ahead(const Match *match) {
  for (int i = 0; i < MATCH_AHEAD; i++) {
    if (match->ahead[i].turn > match->delivered) return true;
  }
  return false;
}

static void on_need(void *data, uint64_t now_ms) {
  Match *match = data;
  if (!has_ahead(match)) return;
  buf_u32(begin(match), match->delivered + 1);
  finish(match, UP_NEED, 0);
  timers_set(&match->client->timers, &match->need, now_ms + NEED_AGAIN_MS, on_need,
             match);
}

// Hands out what has come, as far as nothing is missing.
static void advance(Match *match) {
  for (;;) {
    Ahead *next = &match->ahead[(match->delivered + 1) % MATCH_AHEAD];
    if (next->turn != match->delivered + 1) break;
    PerigeeEvent event = {
        .type = PERIGEE_TURN, .room = match->room, .count = next->turn};
    events_push_turn(&match->client->events, &event, next->bytes.data,
                     next->bytes.size);
    match->delivered = next->turn;
    next->turn = 0;
  }
  if (!has_ahead(match))
    timers_stop(&match->client->timers, &match->need);
  else if (!timers_is_set(&match->need))
    timers_set(&match->client->timers, &match->need,
               clock_ms() + match->turn_us / 2000 + 1, on_need, match);
}

// Passes over the entries of a turn; their bytes, NULL where they are cut off.
static const uint8_t *skip_turn(Reader *reader) {
  const uint8_t *first = reader->at;
  uint8_t count = reader_u8(reader);
  for (uint8_t i = 0; i < count; i++) {
    reader_u8(reader);
    if (reader_u8(reader) > PERIGEE_PLAYER_LEFT) return NULL;
    reader_bytes(reader, reader_u16(reader));
  }
  return reader->failed ? NULL : first;
}

static bool take_turns(Match *match, Reader *reader) {
  uint32_t id = reader_u32(reader), first = reader_u32(reader);
  uint8_t count = reader_u8(reader);
  if (id != match->id || !match->is_ready) return true;
  for (uint32_t i = 0; i < count; i++) {
    const uint8_t *bytes = skip_turn(reader);
    if (!bytes || reader->at - bytes > TURN_SIZE) return false;
    uint32_t turn = first + i;
    if (turn - match->delivered - 1 >= MATCH_AHEAD) continue;  // had, or too far ahead
    if (turn > TURN_MAX) return false;
    Ahead *ahead = &match->ahead[turn % MATCH_AHEAD];
    if (ahead->turn == turn) continue;
    ahead->turn = turn;
    ahead->bytes.size = 0;
    buf_append(&ahead->bytes, bytes, (size_t)(reader->at - bytes));
  }
  if (!reader_is_done(reader)) return false;
  advance(match);
  return true;
}

// --- What the server says besides ---

static void take_pace_fields(Match *match, Reader *reader) {
  match->turn_us = reader_u32(reader);
  match->speed = reader_u16(reader);
  match->delay = reader_u8(reader);
}

static bool take_start(Match *match, Reader *reader) {
  uint32_t start = reader_u32(reader), id = reader_u32(reader);
  uint8_t slot = reader_u8(reader);
  const uint8_t *seat = reader_bytes(reader, sizeof match->seat);
  uint32_t seed = reader_u32(reader);
  uint8_t how = reader_u8(reader);
  uint32_t turn = reader_u32(reader);
  uint8_t every = reader_u8(reader);
  uint16_t largest = reader_u16(reader);
  bool goes_on = how == PERIGEE_MATCH_GOES_ON && id == match->id;
  uint32_t delivered = match->delivered, done = match->done;
  take_pace_fields(match, reader);
  if (!reader_is_done(reader) || how > PERIGEE_MATCH_GOES_ON || every == 0 ||
      turn > TURN_MAX)
    return false;
  forget(match);
  if (!goes_on) {
    match->submitted = 0;
    events_drop_turns(&match->client->events, match->room);
  }
  match->start = start;
  match->id = id;
  match->slot = slot;
  match->seed = seed;
  match->every = every;
  match->largest = largest;
  if (slot != PERIGEE_SPECTATOR) memcpy(match->seat, seat, sizeof match->seat);
  match->is_ready = how != PERIGEE_MATCH_FROM_SNAPSHOT;
  if (!match->is_ready) {
    match_pause(match);
    return true;
  }
  // Turns may have come since ENTER.
  match->delivered = goes_on && delivered > turn ? delivered : turn;
  match->done = goes_on && done < match->delivered ? done : match->delivered;
  tell(match,
       (PerigeeEvent){.type = PERIGEE_MATCH, .number = how, .count = match->delivered});
  speak(match);
  return true;
}

static bool take_snapshot(Match *match, Reader *reader) {
  uint32_t id = reader_u32(reader), turn = reader_u32(reader);
  uint32_t size = reader_u32(reader), offset = reader_u32(reader);
  size_t piece = reader_left(reader);
  if (reader->failed || size > SNAPSHOT_MAX || turn > TURN_MAX) return false;
  if (id != match->id || match->is_ready) return true;
  if (offset == 0) match->snapshot.size = 0;
  if (offset != match->snapshot.size || piece > size - offset) return true;
  buf_append(&match->snapshot, reader_bytes(reader, piece), piece);
  if (match->snapshot.size < size) return true;
  match->is_ready = true;
  match->delivered = match->done = turn;
  PerigeeEvent event = {.type = PERIGEE_MATCH,
                        .room = match->room,
                        .number = PERIGEE_MATCH_FROM_SNAPSHOT,
                        .count = turn};
  EventParts parts = {.data = {match->snapshot.data, match->snapshot.size}};
  events_push(&match->client->events, &event, &parts);
  buf_deinit(&match->snapshot);
  speak(match);
  return true;
}

static bool take_pace(Match *match, Reader *reader) {
  take_pace_fields(match, reader);
  if (!reader_is_done(reader)) return false;
  tell(match, (PerigeeEvent){.type = PERIGEE_PACE});
  if (match->is_ready) speak(match);
  return true;
}

// SNAPSHOT_ASK, TREE_ASK: one number.
static bool take_wish(const Match *match, PerigeeEventType type, Reader *reader) {
  uint32_t number = reader_u32(reader);
  if (reader_is_done(reader))
    tell(match, (PerigeeEvent){.type = type, .count = number});
  return reader_is_done(reader);
}

// DESYNC and WAITING: a turn and slots.
static bool take_slots(const Match *match, PerigeeEventType type, Reader *reader) {
  PerigeeEvent event = {.type = type, .room = match->room, .count = reader_u32(reader)};
  if (type == PERIGEE_DESYNC) event.is_odd = reader_u8(reader);
  uint8_t count = reader_u8(reader);
  const uint8_t *slots = reader_bytes(reader, count);
  if (!reader_is_done(reader)) return false;
  events_push(&match->client->events, &event, &(EventParts){.data = {slots, count}});
  return true;
}

static bool take(Match *match, uint16_t type, Reader *reader) {
  switch (type) {
    case DOWN_START:
      return take_start(match, reader);
    case DOWN_TURNS:
      return take_turns(match, reader);
    case DOWN_PACE:
      return take_pace(match, reader);
    case DOWN_SNAPSHOT_ASK:
      return take_wish(match, PERIGEE_SNAPSHOT_WANTED, reader);
    case DOWN_SNAPSHOT:
      return take_snapshot(match, reader);
    case DOWN_TREE_ASK:
      return take_wish(match, PERIGEE_TREE_WANTED, reader);
    case DOWN_DESYNC:
      return take_slots(match, PERIGEE_DESYNC, reader);
    case DOWN_WAITING:
      return take_slots(match, PERIGEE_WAITING, reader);
    case DOWN_END:
      match_pause(match);
      match->is_ready = false;
      match->is_over = true;
      tell(match, (PerigeeEvent){.type = PERIGEE_MATCH_ENDED});
      return true;
    default:
      return true;
  }
}

bool take_lockstep(PerigeeClient *client, const Packet *packet) {
  Reader reader = reader_of(packet->payload, packet->length);
  const Room *room = rooms_find_id(&client->rooms, reader_u32(&reader));
  if (reader.failed)
    return take_malformed(client, "a packet of lockstep without a room");
  // It may be faster than what it is about, or later than the end.
  if (!room || !room->match) return true;
  return take(room->match, packet->type, &reader) ||
         take_malformed(client, "a packet of lockstep that cannot be read");
}

// --- What the game does ---

// In a new session the room may have to be joined first.
static Match *find(const PerigeeClient *client, uint32_t number) {
  const Room *room = rooms_find(&client->rooms, number);
  return room ? room->match : NULL;
}

static Match *find_joined(const PerigeeClient *client, uint32_t number) {
  const Room *room = rooms_find(&client->rooms, number);
  return room && room->is_joined ? room->match : NULL;
}

int perigee_lockstep_enter(PerigeeClient *client, uint32_t number, uint32_t flags,
                           const uint8_t *seat) {
  Room *room = rooms_find(&client->rooms, number);
  if (client->state >= PERIGEE_STATE_CLOSING) return PERIGEE_OVER;
  if (!room || !room->is_joined) return PERIGEE_NOT_JOINED;
  if (flags & ~(uint32_t)(PERIGEE_WATCHES | PERIGEE_GIVES_SNAPSHOTS))
    return PERIGEE_BAD_ARGUMENT;
  if (!room->match) {
    room->match = mem_zalloc(sizeof *room->match);
    room->match->client = client;
    room->match->room = number;
    room->match->slot = PERIGEE_SPECTATOR;
  }
  room->match->flags = (uint8_t)flags;
  room->match->is_over = false;
  if (seat) memcpy(room->match->seat, seat, sizeof room->match->seat);
  return match_enter(room->match);
}

int perigee_lockstep_exit(PerigeeClient *client, uint32_t number) {
  Match *match = find_joined(client, number);
  if (!match) return PERIGEE_NOT_JOINED;
  begin(match);
  int code = finish(match, UP_EXIT, 0);
  if (code != 0) return code;
  room_of(match)->match = NULL;
  match_free(match);
  return 0;
}

int perigee_lockstep_match(const PerigeeClient *client, uint32_t number,
                           PerigeeMatch *out) {
  const Match *match = find(client, number);
  if (!match) return PERIGEE_NOT_JOINED;
  *out = (PerigeeMatch){.id = match->id,
                        .seed = match->seed,
                        .turn = match->delivered,
                        .turn_us = match->turn_us,
                        .speed_percent = match->speed,
                        .max_input = match->largest,
                        .slot = match->slot,
                        .input_delay = match->delay,
                        .hash_interval = match->every};
  memcpy(out->seat, match->seat, sizeof out->seat);
  return 0;
}

int perigee_lockstep_input(PerigeeClient *client, uint32_t number, const void *data,
                           size_t size) {
  Match *match = find(client, number);
  if (!match) return PERIGEE_NOT_JOINED;
  if (size > UINT16_MAX || (match->id != 0 && size > match->largest))
    return PERIGEE_TOO_LARGE;
  if (match->queue.size + size > MATCH_QUEUE_MAX) return PERIGEE_QUEUE_FULL;
  buf_u16(&match->queue, (uint16_t)size);
  buf_append(&match->queue, data, size);
  return 0;
}

static void note_hash(Match *match, uint32_t turn, uint32_t hash) {
  if (turn % match->every != 0) return;
  if (match->hash_turn + match->every != turn) match->hash_count = 0;
  memmove(match->hashes + 1, match->hashes, (HASHES_TOLD - 1) * sizeof hash);
  match->hashes[0] = hash;
  if (match->hash_count < HASHES_TOLD) match->hash_count++;
  match->hash_turn = turn;
}

int perigee_lockstep_done(PerigeeClient *client, uint32_t number, uint32_t turn,
                          uint32_t hash) {
  Match *match = find(client, number);
  if (!match) return PERIGEE_NOT_JOINED;
  // A turn of the match before, say.
  if (turn != match->done + 1 || turn > match->delivered) return PERIGEE_OVER;
  match->done = turn;
  note_hash(match, turn, hash);
  if (match->is_ready && match->done == match->delivered) speak(match);
  return 0;
}

int perigee_lockstep_snapshot(PerigeeClient *client, uint32_t number, uint32_t request,
                              const void *data, size_t size) {
  const Match *match = find_joined(client, number);
  if (!match) return PERIGEE_NOT_JOINED;
  if (size > SNAPSHOT_MAX) return PERIGEE_TOO_LARGE;
  size_t offset = 0;
  do {
    size_t piece = size - offset < PIECE_SIZE ? size - offset : PIECE_SIZE;
    Buf *payload = begin(match);
    buf_u32(payload, request);
    buf_u32(payload, match->done);
    buf_u32(payload, (uint32_t)size);
    buf_u32(payload, (uint32_t)offset);
    if (piece > 0) buf_append(payload, (const uint8_t *)data + offset, piece);
    int code = finish(match, UP_SNAPSHOT, 0);
    if (code != 0) return code;
    offset += piece;
  } while (offset < size);
  return 0;
}

int perigee_lockstep_tree(PerigeeClient *client, uint32_t number, uint32_t turn,
                          const char *json) {
  const Match *match = find_joined(client, number);
  if (!match) return PERIGEE_NOT_JOINED;
  Buf *payload = begin(match);
  buf_u32(payload, turn);
  buf_append(payload, json ? json : "{}", json ? strlen(json) : 2);
  return finish(match, UP_TREE, 0);
}
