// The functions of perigee.h for lockstep.
#include <string.h>

#include "base/mem.h"
#include "internal.h"
#include "lockstep.h"

enum { PIECE_SIZE = 16384 };  // bytes of a snapshot in one packet

// Returns the match, even while a new session is still joining its room.
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
  if (flags &
      ~(uint32_t)(PERIGEE_WATCHES | PERIGEE_GIVES_SNAPSHOTS | PERIGEE_GIVES_INPUTS))
    return PERIGEE_BAD_ARGUMENT;
  if (!room->match) {
    room->match = mem_zalloc(sizeof *room->match);
    room->match->client = client;
    room->match->room = number;
    room->match->slot = PERIGEE_SPECTATOR;
  }
  if (room->match->is_over) {  // of an ended match, only the seat is kept
    room->match->id = 0;
    room->match->queue.size = 0;
  }
  room->match->flags = (uint8_t)flags;
  room->match->is_over = false;
  if (seat) memcpy(room->match->seat, seat, sizeof room->match->seat);
  return match_enter(room->match);
}

int perigee_lockstep_exit(PerigeeClient *client, uint32_t number) {
  Match *match = find_joined(client, number);
  if (!match) return PERIGEE_NOT_JOINED;
  match_begin(match);
  int code = match_send(match, UP_EXIT, 0);
  if (code != 0) return code;
  Request *request = request_find_enter(client, number);
  if (request) request_free(request);
  rooms_find(&client->rooms, number)->match = NULL;
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
                        .max_input = match->max_input,
                        .slot = match->slot,
                        .input_delay = match->input_delay,
                        .hash_interval = match->hash_interval,
                        .next_input = match->submitted + 1,
                        .last_input = match->wanted};
  memcpy(out->seat, match->seat, sizeof out->seat);
  return 0;
}

int perigee_lockstep_input(PerigeeClient *client, uint32_t number, const void *data,
                           size_t size) {
  Match *match = find(client, number);
  if (!match) return PERIGEE_NOT_JOINED;
  if (size > UINT16_MAX || (match->id != 0 && size > match->max_input))
    return PERIGEE_TOO_LARGE;
  if (match->flags & PERIGEE_GIVES_INPUTS) return match_take_input(match, data, size);
  if (match->queue.size + size > MATCH_QUEUE_MAX) return PERIGEE_QUEUE_FULL;
  buf_u16(&match->queue, (uint16_t)size);
  buf_append(&match->queue, data, size);
  return 0;
}

static void keep_hash(Match *match, uint32_t turn, uint32_t hash) {
  if (turn == 0 || turn % match->hash_interval != 0) return;
  if (match->hash_turn + match->hash_interval != turn) match->hash_count = 0;
  memmove(match->hashes + 1, match->hashes, (MATCH_HASHES - 1) * sizeof hash);
  match->hashes[0] = hash;
  if (match->hash_count < MATCH_HASHES) match->hash_count++;
  match->hash_turn = turn;
}

int perigee_lockstep_done(PerigeeClient *client, uint32_t number, uint32_t turn,
                          uint32_t hash) {
  Match *match = find(client, number);
  if (!match) return PERIGEE_NOT_JOINED;
  bool is_given = match->is_given && turn == match->done;
  // For example, the turn belongs to the previous match.
  if ((!is_given && turn != match->done + 1) || turn > match->delivered)
    return PERIGEE_OVER;
  match->is_given = false;
  match->done = turn;
  keep_hash(match, turn, hash);
  if (match->is_ready && match->done == match->delivered) match_report(match);
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
    Buf *payload = match_begin(match);
    buf_u32(payload, request);
    buf_u32(payload, match->done);
    buf_u32(payload, (uint32_t)size);
    buf_u32(payload, (uint32_t)offset);
    if (piece > 0) buf_append(payload, (const uint8_t *)data + offset, piece);
    int code = match_send(match, UP_SNAPSHOT, 0);
    if (code != 0) return code;
    offset += piece;
  } while (offset < size);
  return 0;
}

int perigee_lockstep_tree(PerigeeClient *client, uint32_t number, uint32_t turn,
                          const char *json) {
  const Match *match = find_joined(client, number);
  if (!match) return PERIGEE_NOT_JOINED;
  Buf *payload = match_begin(match);
  buf_u32(payload, turn);
  buf_append(payload, json ? json : "{}", json ? strlen(json) : 2);
  return match_send(match, UP_TREE, 0);
}
