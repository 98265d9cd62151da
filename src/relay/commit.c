// Carries out the commands of handlers. Some commands need a handler: a new room needs
// its on_create, and a join needs its on_join. Such a command pauses the batch. The
// event of that handler comes next. The batch continues when the handler has ended or
// waits. Therefore clients see the effects of commands in order.
//
// A batch also pauses at the end of a slice. It continues before any other event is
// handled.

#include "relay/internal.h"

enum {
  // A command costs one piece of work, plus one for each PIECE_DELIVERIES deliveries and
  // one for each PIECE_BYTES bytes delivered.
  PIECE_DELIVERIES = 64,
  PIECE_BYTES = 16 << 10,
  // Pieces that one slice always completes, so that the messages of a handler usually leave
  // in one flush. They take a few milliseconds at most.
  PIECES_TOGETHER = 1024,
};

// Carries out a command; returns the number of its pieces of work.
static uint64_t execute(Relay *relay, const Command *command) {
  uint64_t before = relay->stats.deliveries;
  if (script_join_holds(relay, command)) return 0;
  command_execute(relay, command);
  uint64_t deliveries = relay->stats.deliveries - before;
  return 1 + deliveries / PIECE_DELIVERIES +
         deliveries * command->body.size / PIECE_BYTES;
}

typedef enum Pace { PACE_AT_ONCE, PACE_SLICE } Pace;

// Carries out commands from offset `at` on, until the end, the end of the slice, or a
// command that waits for a handler (sets *is_awaiting). Returns the offset of the first
// remaining command.
static size_t carry_out(Relay *relay, const Commands *commands, size_t at,
                        uint32_t number, Pace pace, bool *is_awaiting) {
  Command command;
  bool has_time = true;
  uint64_t done = 0;
  relay->batches.current = number;
  while (has_time && !relay->batches.is_awaiting &&
         commands_next(commands, &at, &command)) {
    uint64_t pieces = execute(relay, &command);
    done += pieces;
    has_time =
        schedule_work(relay, pieces) || done < PIECES_TOGETHER || pace == PACE_AT_ONCE;
  }
  relay->batches.current = 0;
  *is_awaiting = relay->batches.is_awaiting;
  relay->batches.is_awaiting = false;
  return at;
}

void batch_continue(Relay *relay) {
  Batch *batch = batch_pop(relay);
  uint64_t started_us = net_clock_us(relay->net);
  batch->at = carry_out(relay, &batch->commands, batch->at, batch->number, PACE_SLICE,
                        &batch->is_awaiting);
  if (batch->at < batch->commands.size) {
    batch_put(relay, batch);
  } else {
    batch_free(batch);
    room_free_failed(relay);
  }
  relay_charge(relay, &relay->batches.payer, &relay->batches.payer, started_us,
               net_clock_us(relay->net));
}

static void commit_commands(Relay *relay, Pace pace) {
  uint32_t number = batch_number(relay);
  handler_claim_rooms(relay);
  bool is_awaiting;
  size_t at = carry_out(relay, &relay->handler.commands, 0, number, pace, &is_awaiting);
  if (at < relay->handler.commands.size) {
    Batch *batch = batch_push(relay, &relay->handler.commands, number);
    batch->at = at;
    batch->is_awaiting = is_awaiting;
  }
  handler_clear(&relay->handler);
}

// Commits the handler's commands. Checks has_join as well, because a refused join sets
// has_join without queuing a command.
static void commit(Relay *relay, Pace pace) {
  if (relay->handler.commands.size > 0 || relay->handler.has_join)
    commit_commands(relay, pace);
  room_free_failed(relay);
}

void relay_commit(Relay *relay) { commit(relay, PACE_AT_ONCE); }

void relay_begin_commit(Relay *relay) {
  commit(relay, relay->is_draining ? PACE_SLICE : PACE_AT_ONCE);
}
