// The stack of waiting batches. The commands of the newest handler continue first.

#include "base/mem.h"
#include "relay/internal.h"

// Limit of batches that wait for a handler, because each handler could create the next one.
enum { BATCHES_MAX = 64 };

uint32_t batch_number(Relay *relay) {
  if (++relay->batches.last == 0) relay->batches.last++;
  return relay->batches.last;
}

void batch_put(Relay *relay, Batch *batch) {
  batch->below = relay->batches.top;
  batch->captured_below = relay->captured.end;
  relay->batches.top = batch;
  relay->batches.count++;
}

Batch *batch_pop(Relay *relay) {
  Batch *batch = relay->batches.top;
  relay->batches.top = batch->below;
  relay->batches.count--;
  return batch;
}

Batch *batch_push(Relay *relay, Commands *commands, uint32_t number) {
  Batch *batch = mem_zalloc(sizeof *batch);
  batch->number = number;
  batch->commands = *commands;
  *commands = (Commands){0};
  batch_put(relay, batch);
  return batch;
}

void batch_free(Batch *batch) {
  buf_deinit(&batch->commands);
  mem_free(batch);
}

void batch_free_all(Relay *relay) {
  while (relay->batches.top) batch_free(batch_pop(relay));
}

void batch_note_taken(Relay *relay) {
  Batch *batch = relay->batches.top;
  for (; batch && relay->captured.events.size <= batch->captured_below;
       batch = batch->below)
    batch->is_awaiting = false;
}

bool batch_is_left(const Relay *relay, uint32_t number) {
  const Batch *batch = relay->batches.top;
  while (batch && batch->number != number) batch = batch->below;
  return batch != NULL;
}

void batch_await(Relay *relay, const Event *event) {
  relay_emit(relay, event);
  relay->batches.is_awaiting =
      relay->batches.current != 0 && relay->batches.count < BATCHES_MAX;
}
