// Carries out the commands of handlers. Some commands put a question to the script: a new
// room to its on_create, a join to on_join. Such a command pauses the batch: the question
// is the next event, and the rest of the batch follows when its handler has ended or
// waits. So clients see the effects of commands in the order in which they were given.

#include <string.h>

#include "base/mem.h"
#include "relay/internal.h"

enum {
  // Questions that follow from each other before other events have their turn, because
  // handlers that make peers join in turn could go on without end.
  QUESTIONS_IN_A_ROW = 64,
};

// The events from `first` on, which hold nobody up, wait for the next drain.
static void queue_captured(Relay *relay, size_t first) {
  Buf *captured = &relay->captured;
  for (size_t at = first; at < captured->size; at += sizeof(Event)) {
    Event event;
    memcpy(&event, captured->data + at, sizeof event);
    events_push(&relay->events, &event);
  }
  captured->size = first;
}

// Returns how far it came: to the end, or behind a question.
static size_t carry_out(Relay *relay, const Commands *commands, size_t at,
                        uint32_t number) {
  Command command;
  size_t first = relay->captured.size;
  relay->is_capturing = true;
  relay->batch_number = number;
  while (!relay->is_asking && commands_next(commands, &at, &command))
    if (!script_join_holds(relay, &command)) command_execute(relay, &command);
  if (!relay->is_asking) queue_captured(relay, first);
  relay->batch_number = 0;
  relay->is_asking = relay->is_capturing = false;
  return at;
}

static uint32_t next_number(Relay *relay) {
  if (++relay->last_batch == 0) relay->last_batch++;
  return relay->last_batch;
}

static Batch *push(Relay *relay, Commands *commands) {
  Batch *batch = mem_zalloc(sizeof *batch);
  batch->below = relay->batches;
  batch->commands = *commands;
  *commands = (Commands){0};
  relay->batches = batch;
  return batch;
}

void batch_push(Relay *relay, Commands *commands) {
  push(relay, commands)->number = next_number(relay);
}

static void free_batch(Relay *relay, Batch *batch) {
  rename_release(relay, &batch->names, 0);
  buf_deinit(&batch->names);
  commands_deinit(&batch->commands);
  mem_free(batch);
}

bool batch_go_on(Relay *relay) {
  Batch *batch = relay->batches;
  if (!batch) return false;
  relay->batches = batch->below;
  batch->at = carry_out(relay, &batch->commands, batch->at, batch->number);
  if (batch->at < batch->commands.bytes.size) {
    batch->below = relay->batches;
    relay->batches = batch;
  } else {
    free_batch(relay, batch);
    room_free_failed(relay);
  }
  return true;
}

bool batch_is_left(const Relay *relay, uint32_t number) {
  const Batch *batch = relay->batches;
  while (batch && batch->number != number) batch = batch->below;
  return batch != NULL;
}

void batch_free_all(Relay *relay) {
  while (relay->batches) {
    Batch *batch = relay->batches;
    relay->batches = batch->below;
    free_batch(relay, batch);
  }
}

void relay_ask(Relay *relay, const Event *question) {
  relay_emit(relay, question);
  if (relay->batch_number == 0 || relay->questions == QUESTIONS_IN_A_ROW) return;
  relay->questions++;
  relay->is_asking = true;
}

void relay_commit(Relay *relay) {
  uint32_t number = next_number(relay);
  room_claim_reserved(relay);
  size_t at = carry_out(relay, &relay->commands, 0, number);
  if (at < relay->commands.bytes.size) {
    Batch *batch = push(relay, &relay->commands);
    batch->number = number;
    batch->at = at;
    batch->names = relay->reserved_names;
    relay->reserved_names = (Buf){0};
  }
  commands_clear(relay);
  room_free_failed(relay);
}
