// Joins by the script (COMMAND_JOIN). Each join has a record until its outcome is
// known. The record keeps the handler's later commands for the same peer. A join with a
// token ends with an event that reports the outcome.

#include <string.h>

#include "base/mem.h"
#include "relay/internal.h"

// Queues the event with the outcome. `why` is NULL when the peer has joined.
static void report(Relay *relay, const Command *join, Code code, const char *why) {
  if (join->token == 0) return;
  relay_emit(relay, &(Event){.type = why ? EVENT_NOT_JOINED : EVENT_JOINED,
                             .peer = join->id,
                             .room = join->room,
                             .a = join->token,
                             .b = code,
                             .data = text_from(why)});
}

// --- Until the outcome is known ---

void script_join_begin(Relay *relay, Peer *peer, const Command *command) {
  if (!peer || !peer_has_session(peer)) {
    report(relay, command, CODE_CLOSED, "the peer is gone");
    return;
  }
  // Limits the joins, because the on_join of each join may cause another join.
  uint32_t count = 0;
  ScriptJoin **last = &peer->relay.joins;
  for (; *last; last = &(*last)->next) count++;
  ScriptJoin *join = mem_zalloc(sizeof *join);
  uint32_t id = count < RELAY_ROOMS_PER_PEER ? slots_add(&relay->joins.slots, join) : 0;
  if (id == 0) {
    mem_free(join);
    report(relay, command, CODE_SERVER_FULL, "too many joins wait for on_join");
    return;
  }
  *join = (ScriptJoin){.id = id,
                       .batch = relay->batches.current,
                       .command = {.type = COMMAND_JOIN,
                                   .id = command->id,
                                   .room = command->room,
                                   .token = command->token}};
  *last = join;
  join_room(relay, &(Event){.type = EVENT_JOIN,
                            .peer = command->id,
                            .room = command->room,
                            .a = id,
                            .b = command->token});
}

static void free_join(Relay *relay, ScriptJoin *join) {
  slots_remove(&relay->joins.slots, join->id);
  buf_deinit(&join->held);
  mem_free(join);
}

void script_join_end(Relay *relay, uint32_t id, Code code, const char *why) {
  ScriptJoin *join = slots_find(&relay->joins.slots, id);
  if (!join) return;
  Peer *peer = session_find(relay->session, join->command.id);
  ScriptJoin **at = &peer->relay.joins;
  while (*at != join) at = &(*at)->next;
  *at = join->next;
  report(relay, &join->command, code, why);
  if (join->held.size > 0) batch_push(relay, &join->held, batch_number(relay));
  free_join(relay, join);
  if (peer->is_bot && code != CODE_CLOSED)
    session_kick(relay->session, peer, code, why);
}

void script_joins_end_all(Relay *relay, Peer *peer) {
  ScriptJoin *join;
  while ((join = peer->relay.joins)) {
    peer->relay.joins = join->next;
    report(relay, &join->command, CODE_CLOSED, "the peer is gone");
    free_join(relay, join);
  }
}

void script_joins_free(Relay *relay) {
  ScriptJoin *join;
  for (size_t at = 0; at < relay->joins.early.size; at += sizeof(EarlyJoins))
    buf_deinit(&((EarlyJoins *)(void *)(relay->joins.early.data + at))->joins);
  buf_deinit(&relay->joins.early);
  for (uint32_t cursor = 0; (join = slots_next(&relay->joins.slots, &cursor));)
    free_join(relay, join);
  slots_deinit(&relay->joins.slots);
}

// --- Commands behind a join ---

static bool is_for_one(const Command *command) {
  switch ((CommandType)command->type) {
    case COMMAND_MESSAGE:
    case COMMAND_RELAY:
    case COMMAND_PACKET:
      return command->target == TARGET_PEER;
    case COMMAND_ACCEPT:
    case COMMAND_ERROR:
    case COMMAND_JOIN:
    case COMMAND_LEAVE:
    case COMMAND_ACT:
      return true;
    default:
      return false;
  }
}

bool script_join_holds(Relay *relay, const Command *command) {
  if (relay->joins.slots.count == 0 || !is_for_one(command)) return false;
  Peer *peer = session_find(relay->session, command->id);
  ScriptJoin *last = NULL;
  for (ScriptJoin *join = peer ? peer->relay.joins : NULL; join; join = join->next)
    if (join->batch == relay->batches.current) last = join;
  if (last) commands_push(&last->held, command);
  return last != NULL;
}

// --- Before WELCOME ---

static EarlyJoins *find_early(Relay *relay, uint32_t peer) {
  for (size_t at = 0; at < relay->joins.early.size; at += sizeof(EarlyJoins)) {
    EarlyJoins *early = (EarlyJoins *)(void *)(relay->joins.early.data + at);
    if (early->peer == peer) return early;
  }
  return NULL;
}

void script_join_keep(Relay *relay, const Command *command) {
  EarlyJoins *early = find_early(relay, command->id);
  if (!early) {
    buf_append(&relay->joins.early, &(EarlyJoins){.peer = command->id}, sizeof *early);
    early = find_early(relay, command->id);
  }
  commands_push(&early->joins, command);
}

// Removes and returns the peer's kept commands. The caller owns them.
static Commands take_early(Relay *relay, uint32_t peer) {
  EarlyJoins *early = find_early(relay, peer);
  if (!early) return (Commands){0};
  Commands joins = early->joins;
  relay->joins.early.size -= sizeof *early;
  memcpy(early, relay->joins.early.data + relay->joins.early.size, sizeof *early);
  return joins;
}

void script_joins_welcome(Relay *relay, uint32_t peer) {
  Commands joins = take_early(relay, peer);
  if (joins.size == 0) return;
  Buf *behind = &relay->handler.commands;
  if (behind->size > 0) buf_append(&joins, behind->data, behind->size);
  buf_deinit(&relay->handler.commands);
  relay->handler.commands = joins;
}

void script_joins_forget(Relay *relay, uint32_t peer) {
  Commands joins = take_early(relay, peer);
  Command join;
  for (size_t at = 0; commands_next(&joins, &at, &join);)
    report(relay, &join, CODE_CLOSED, "the peer was not let in");
  buf_deinit(&joins);
}
