// Lockstep (docs/protocol.md, section 17). The client reports turns in order. It sends
// each input, with the newest hashes, until the input's turn has arrived. The game
// takes the event of a turn, simulates the turn, and then calls perigee_lockstep_done.
// lockstep_calls.c has the functions that games call.
#include "lockstep.h"

#include <string.h>

#include "base/mem.h"
#include "internal.h"

enum {
  LOCKSTEP_VERSION = 1,
  INPUTS_SENT = 16,  // inputs in one INPUT
  NEED_AGAIN_MS = 500,
  PAUSED_MS = 1000,       // time between two INPUTs of a paused match
  ENTER_AGAIN_MS = 1500,  // time until an ENTER that was too early is repeated
  TURN_SIZE = 1 << 16,  // limit of the bytes of a turn's entries; servers send at most
                        // 48 KiB
};

// Greatest turn number that is accepted, so that the numbers of later turns do not
// wrap.
static const uint32_t TURN_MAX = UINT32_MAX - 4096;

static Room *room_of(const Match *match) {
  return rooms_find(&match->client->rooms, match->room);
}

Buf *match_begin(const Match *match) {
  Buf *payload = packet_begin(match->client);
  buf_u32(payload, room_of(match)->id);
  return payload;
}

int match_send(const Match *match, LockstepType type, uint32_t flags) {
  return packet_send(match->client,
                     (Packet){.channel = LOCKSTEP_CHANNEL, .type = (uint16_t)type},
                     flags);
}

static void push(const Match *match, PerigeeEvent event) {
  event.room = match->room;
  client_push(match->client, &event);
}

// --- Beginning and end ---

static void reset(Match *match) {
  for (int i = 0; i < MATCH_AHEAD; i++) match->ahead[i].turn = 0;
  match->done = match->delivered = 0;
  match->hash_count = 0;
  match->hash_turn = 0;
  match->snapshot.size = 0;
}

void match_stop(Match *match) {
  timers_stop(&match->client->timers, &match->late_timer);
  timers_stop(&match->client->timers, &match->need_timer);
  timers_stop(&match->client->timers, &match->enter_timer);
}

// Ends the match for this reason. PERIGEE_CONNECTION_CLOSED: the server has ended it.
static void end(Match *match, int code, const char *text, size_t size) {
  match_stop(match);
  match->is_ready = false;
  match->is_over = true;
  PerigeeEvent event = {.type = PERIGEE_MATCH_ENDED, .room = match->room, .code = code};
  client_push_text(match->client, &event, text, size);
}

void match_free(Match *match) {
  if (!match) return;
  match_stop(match);
  for (int i = 0; i < MATCH_INPUTS; i++) buf_deinit(&match->inputs[i]);
  for (int i = 0; i < MATCH_AHEAD; i++) buf_deinit(&match->ahead[i].bytes);
  buf_deinit(&match->queue);
  buf_deinit(&match->snapshot);
  mem_free(match);
}

void match_lose(Match *match, int code) {
  Buf text = {0};
  buf_printf(&text, "this client is out of the room (%s)", perigee_code_name(code));
  if (!match->is_over) end(match, code, (const char *)text.data, text.size);
  buf_deinit(&text);
}

int match_enter(Match *match) {
  if (match->is_over) return 0;
  bool has_state = match->is_ready && match->delivered > 0;
  timers_stop(&match->client->timers, &match->enter_timer);
  // ENTER is a request only so that an ERROR can name it; START is not its answer.
  Request *request = request_find_enter(match->client, match->room);
  if (request) request_free(request);
  request = request_new(match->client, REQUEST_ENTER, 0);
  request->number = 0;
  request->room = match->room;
  Buf *payload = match_begin(match);
  buf_u8(payload, LOCKSTEP_VERSION);
  buf_u8(payload, match->flags & (PERIGEE_WATCHES | PERIGEE_GIVES_SNAPSHOTS));
  buf_append(payload, match->seat, sizeof match->seat);
  buf_u32(payload, has_state ? match->id : 0);
  buf_u32(payload, has_state ? match->delivered : 0);
  return packet_request(
      match->client, (Packet){.channel = LOCKSTEP_CHANNEL, .type = UP_ENTER}, request);
}

static void on_again(void *data, uint64_t now_ms) {
  (void)now_ms;
  Match *match = data;
  if (room_of(match)->is_joined) match_enter(match);
}

void match_refused(Match *match, int code, const char *text, size_t size) {
  if (match->is_over) return;
  if (code == PERIGEE_RATE_LIMITED) {
    timers_set(&match->client->timers, &match->enter_timer,
               client_now_ms(match->client) + ENTER_AGAIN_MS, on_again, match);
    return;
  }
  // After START, the server decides how long the match waits for other clients.
  if (code == PERIGEE_TIMEOUT && match->id != 0) return;
  if (room_of(match)->is_joined) {
    match_begin(match);
    match_send(match, UP_EXIT, 0);
  }
  end(match, code, text, size);
}

// --- Inputs ---

static bool gives_inputs(const Match *match) {
  return match->flags & PERIGEE_GIVES_INPUTS;
}

// Asks the game for its inputs up to turn `last`.
static void want(Match *match, uint32_t last) {
  uint32_t most = match->delivered + MATCH_INPUTS - 1;
  if (last > most) last = most;
  if (last <= match->wanted || last <= match->submitted) return;
  match->wanted = last;
  push(match, (PerigeeEvent){.type = PERIGEE_INPUT_WANTED, .count = last});
}

// Gives each turn up to `last` an input of the queue, or an empty one. With
// PERIGEE_GIVES_INPUTS, asks the game for these inputs instead.
static void submit(Match *match, uint32_t last) {
  if (match->slot == PERIGEE_SPECTATOR) return;
  if (match->submitted < match->delivered) match->submitted = match->delivered;
  if (gives_inputs(match)) {
    want(match, last);
    return;
  }
  while (match->submitted < last &&
         match->submitted - match->delivered < MATCH_INPUTS - 1) {
    Buf *input = &match->inputs[++match->submitted % MATCH_INPUTS];
    input->size = 0;
    if (match->queue.size == 0) continue;
    Reader reader = reader_of(match->queue.data, match->queue.size);
    uint16_t size = reader_u16(&reader);
    const uint8_t *bytes = reader_bytes(&reader, size);
    // An input from the time before START may exceed max_input.
    if (size <= match->max_input) buf_append(input, bytes, size);
    buf_consume(&match->queue, 2u + size);
  }
}

// Sends INPUT with the inputs from turn `first` on.
static void send_input(const Match *match, uint32_t first) {
  Buf *payload = match_begin(match);
  buf_u32(payload, match->start);
  buf_u32(payload, match->done);
  buf_u32(payload, match->hash_turn);
  buf_u8(payload, match->hash_count);
  for (int i = 0; i < match->hash_count; i++) buf_u32(payload, match->hashes[i]);
  uint32_t count = match->submitted >= first ? match->submitted - first + 1 : 0;
  if (count > INPUTS_SENT) count = INPUTS_SENT;
  buf_u32(payload, first);
  buf_u8(payload, (uint8_t)count);
  for (uint32_t i = 0; i < count; i++) {
    const Buf *input = &match->inputs[(first + i) % MATCH_INPUTS];
    buf_u16(payload, (uint16_t)input->size);
    buf_append(payload, input->data, input->size);
  }
  match_send(match, UP_INPUT, PERIGEE_UNRELIABLE | PERIGEE_CRITICAL);
}

// Returns the milliseconds of `halves` halves of a turn; PAUSED_MS if the match is
// paused.
static uint64_t interval_ms(const Match *match, uint32_t halves) {
  if (match->speed == 0) return PAUSED_MS;
  return (uint64_t)match->turn_us * halves * 50 / match->speed / 1000 + 1;
}

static void on_late(void *data, uint64_t now_ms) {
  Match *match = data;
  if (match->speed > 0) submit(match, match->done + match->input_delay + 1u);
  // The server may be waiting for the input of the next turn.
  send_input(match, match->delivered + 1);
  timers_set(&match->client->timers, &match->late_timer, now_ms + interval_ms(match, 2),
             on_late, match);
}

// Sends the inputs from turn `first` on.
static void send_inputs(Match *match, uint32_t first) {
  // Also repeats earlier inputs if one INPUT has room for them, because earlier INPUTs
  // may be lost.
  uint32_t newest =
      match->submitted < INPUTS_SENT ? 1 : match->submitted + 1 - INPUTS_SENT;
  if (newest < first) first = newest;
  if (first <= match->delivered) first = match->delivered + 1;
  do {
    send_input(match, first);
    first += INPUTS_SENT;
  } while (first <= match->submitted);
}

int match_take_input(Match *match, const uint8_t *data, size_t size) {
  if (match->submitted >= match->wanted) return PERIGEE_OVER;
  Buf *input = &match->inputs[++match->submitted % MATCH_INPUTS];
  input->size = 0;
  buf_append(input, data, size);
  if (match->submitted == match->wanted && room_of(match)->is_joined)
    send_inputs(match, match->delivered + 1);
  return 0;
}

// Sends the inputs again if no turn arrives in time.
static void expect_turn(Match *match) {
  timers_set(&match->client->timers, &match->late_timer,
             client_now_ms(match->client) + interval_ms(match, 3), on_late, match);
}

void match_report(Match *match) {
  if (!room_of(match)->is_joined) return;  // a new session is still joining the room
  uint32_t first = match->submitted + 1;
  submit(match, match->done + match->input_delay);
  // If the game has yet to give inputs, match_take_input sends them together when the
  // last of them has come.
  if (!gives_inputs(match) || match->submitted >= match->wanted)
    send_inputs(match, first);
  expect_turn(match);
}

void match_resume(Match *match) {
  if (match->is_ready) on_late(match, client_now_ms(match->client));
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
  buf_u32(match_begin(match), match->delivered + 1);
  match_send(match, UP_NEED, 0);
  timers_set(&match->client->timers, &match->need_timer, now_ms + NEED_AGAIN_MS,
             on_need, match);
}

// Returns whether a turn has this player's input, or repeats the player's previous one.
static bool has_input(const Match *match, const Buf *turn) {
  Reader reader = reader_of(turn->data, turn->size);
  for (uint8_t count = reader_u8(&reader); count > 0; count--) {
    uint8_t slot = reader_u8(&reader), kind = reader_u8(&reader);
    reader_bytes(&reader, reader_u16(&reader));
    if (slot == match->slot &&
        (kind == PERIGEE_INPUT ||
         (kind == PERIGEE_INPUT_REPEATED && !gives_inputs(match))))
      return true;
  }
  return false;
}

// If a turn lacks this player's input, appends the input to `missed`. With
// PERIGEE_GIVES_INPUTS, reports the input to the game instead.
static void add_missed(const Match *match, const Ahead *turn, Buf *missed) {
  if (turn->turn > match->submitted) return;
  const Buf *input = &match->inputs[turn->turn % MATCH_INPUTS];
  if (input->size == 0 || has_input(match, &turn->bytes)) return;
  if (gives_inputs(match)) {
    PerigeeEvent event = {
        .type = PERIGEE_INPUT_MISSED, .room = match->room, .count = turn->turn};
    EventParts parts = {.data = {input->data, input->size}};
    events_add(&match->client->events, &event, &parts);
    return;
  }
  buf_u16(missed, (uint16_t)input->size);
  buf_append(missed, input->data, input->size);
}

// Puts missed inputs before the waiting ones.
static void queue_missed(Match *match, Buf *missed) {
  if (missed->size == 0) return;
  if (match->queue.size > 0) buf_append(missed, match->queue.data, match->queue.size);
  buf_deinit(&match->queue);
  match->queue = *missed;
}

// Reports the turns that have arrived, up to the first missing one.
static void advance(Match *match) {
  Buf missed = {0};
  for (;;) {
    Ahead *next = &match->ahead[(match->delivered + 1) % MATCH_AHEAD];
    if (next->turn != match->delivered + 1) break;
    add_missed(match, next, &missed);
    PerigeeEvent event = {
        .type = PERIGEE_TURN, .room = match->room, .count = next->turn};
    events_add_turn(&match->client->events, &event, next->bytes.data, next->bytes.size);
    match->delivered = next->turn;
    next->turn = 0;
  }
  queue_missed(match, &missed);
  if (!has_ahead(match))
    timers_stop(&match->client->timers, &match->need_timer);
  else if (!timers_is_set(&match->need_timer))
    timers_set(&match->client->timers, &match->need_timer,
               client_now_ms(match->client) + match->turn_us / 2000 + 1, on_need,
               match);
}

// Skips the entries of a turn. Returns their first byte, or NULL if they are invalid.
static const uint8_t *skip_turn(Reader *reader) {
  const uint8_t *first = reader->at;
  uint8_t count = reader_u8(reader);
  for (uint8_t i = 0; i < count; i++) {
    reader_u8(reader);
    uint8_t kind = reader_u8(reader);
    uint16_t size = reader_u16(reader);
    bool has_peer = kind != PERIGEE_PLAYER_JOINED || size >= sizeof(uint32_t);
    if (kind > PERIGEE_PLAYER_LEFT || !has_peer) return NULL;
    reader_bytes(reader, size);
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
    if (turn - match->delivered - 1 >= MATCH_AHEAD)
      continue;  // already reported, or too far ahead
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

// --- Other packets of the server ---

static void take_pace_fields(Match *match, Reader *reader) {
  match->turn_us = reader_u32(reader);
  match->speed = reader_u16(reader);
  match->input_delay = reader_u8(reader);
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
  reset(match);
  if (!goes_on) {
    match->is_given = false;
    match->submitted = match->wanted = 0;
    events_drop_turns(&match->client->events, match->room);
  }
  match->start = start;
  match->id = id;
  match->slot = slot;
  match->seed = seed;
  match->hash_interval = every;
  match->max_input = largest;
  if (slot != PERIGEE_SPECTATOR) memcpy(match->seat, seat, sizeof match->seat);
  match->is_ready = how != PERIGEE_MATCH_FROM_SNAPSHOT;
  if (!match->is_ready) {
    match_stop(match);
    return true;
  }
  // More turns may have arrived since ENTER.
  match->delivered = goes_on && delivered > turn ? delivered : turn;
  match->done = goes_on && done < match->delivered ? done : match->delivered;
  push(match,
       (PerigeeEvent){.type = PERIGEE_MATCH, .number = how, .count = match->delivered});
  match_report(match);
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
  match->is_ready = match->is_given = true;
  match->delivered = match->done = turn;
  PerigeeEvent event = {.type = PERIGEE_MATCH,
                        .room = match->room,
                        .number = PERIGEE_MATCH_FROM_SNAPSHOT,
                        .count = turn};
  EventParts parts = {.data = {match->snapshot.data, match->snapshot.size}};
  events_add(&match->client->events, &event, &parts);
  buf_deinit(&match->snapshot);
  expect_turn(match);
  return true;
}

static bool take_pace(Match *match, Reader *reader) {
  take_pace_fields(match, reader);
  if (!reader_is_done(reader)) return false;
  push(match, (PerigeeEvent){.type = PERIGEE_PACE});
  if (match->is_ready) match_report(match);
  return true;
}

// Handles SNAPSHOT_ASK or TREE_ASK, which contain only a number.
static bool take_number(const Match *match, PerigeeEventType type, Reader *reader) {
  uint32_t number = reader_u32(reader);
  if (reader_is_done(reader))
    push(match, (PerigeeEvent){.type = type, .count = number});
  return reader_is_done(reader);
}

// Handles DESYNC or WAITING, which contain a turn and a list of slots.
static bool take_slots(const Match *match, PerigeeEventType type, Reader *reader) {
  PerigeeEvent event = {.type = type, .room = match->room, .count = reader_u32(reader)};
  if (type == PERIGEE_DESYNC) event.is_odd = reader_u8(reader);
  uint8_t count = reader_u8(reader);
  const uint8_t *slots = reader_bytes(reader, count);
  if (!reader_is_done(reader)) return false;
  events_add(&match->client->events, &event, &(EventParts){.data = {slots, count}});
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
      return take_number(match, PERIGEE_SNAPSHOT_WANTED, reader);
    case DOWN_SNAPSHOT:
      return take_snapshot(match, reader);
    case DOWN_TREE_ASK:
      return take_number(match, PERIGEE_TREE_WANTED, reader);
    case DOWN_DESYNC:
      return take_slots(match, PERIGEE_DESYNC, reader);
    case DOWN_WAITING:
      return take_slots(match, PERIGEE_WAITING, reader);
    case DOWN_END:
      end(match, PERIGEE_CONNECTION_CLOSED, "", 0);
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
  // A datagram may overtake START, or arrive after the end of the match.
  if (!room || !room->match || room->match->is_over) return true;
  return take(room->match, packet->type, &reader) ||
         take_malformed(client, "a packet of lockstep that cannot be read");
}
