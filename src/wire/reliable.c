// The ring grows with what waits and is given back when all has been acknowledged: an
// idle session holds no memory for it.
#include "wire/reliable.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

enum { FIRST_CAPACITY = 8 };

static Blob **place(const Reliable *stream, uint32_t index) {
  return &stream->kept[(stream->first + index) & (stream->capacity - 1)];
}

static void give_back(Reliable *stream) {
  mem_free(stream->kept);
  stream->kept = NULL;
  stream->capacity = stream->first = 0;
}

// Lets the oldest packet go.
static void drop_first(Reliable *stream) {
  Blob *packet = *place(stream, 0);
  stream->bytes -= packet->size;
  stream->first = (stream->first + 1) & (stream->capacity - 1);
  stream->acked++;
  blob_unref(packet);
}

void reliable_deinit(Reliable *stream) {
  while (reliable_waiting(stream) > 0) drop_first(stream);
  give_back(stream);
}

static void grow(Reliable *stream) {
  uint32_t capacity = stream->capacity ? 2 * stream->capacity : FIRST_CAPACITY;
  Blob **grown = mem_alloc(capacity * sizeof(Blob *));
  uint32_t count = reliable_waiting(stream);
  for (uint32_t i = 0; i < count; i++) grown[i] = *place(stream, i);
  mem_free(stream->kept);
  stream->kept = grown;
  stream->capacity = capacity;
  stream->first = 0;
}

bool reliable_push(Reliable *stream, Blob *packet, size_t max_bytes) {
  uint32_t count = reliable_waiting(stream);
  if (count >= RELIABLE_WINDOW) return false;
  if (count > 0 && stream->bytes + packet->size > max_bytes) return false;
  if (count == stream->capacity) grow(stream);
  *place(stream, count) = blob_ref(packet);
  stream->bytes += packet->size;
  stream->sent++;
  return true;
}

bool reliable_is_count(const Reliable *stream, uint32_t count) {
  return count - stream->acked <= reliable_waiting(stream);
}

int reliable_ack(Reliable *stream, uint32_t count) {
  if (!reliable_is_count(stream, count)) return ERR_MALFORMED;
  while (stream->acked != count) drop_first(stream);
  if (reliable_waiting(stream) == 0) give_back(stream);
  return 0;
}

const Blob *reliable_at(const Reliable *stream, uint32_t index) {
  assert(index < reliable_waiting(stream));
  return *place(stream, index);
}

bool reliable_receive(Reliable *stream, uint32_t bytes) {
  stream->received++;
  stream->untold_bytes += bytes;
  return stream->received - stream->told >= RELIABLE_ACK_PACKETS ||
         stream->untold_bytes >= RELIABLE_ACK_BYTES;
}

uint32_t reliable_tell(Reliable *stream) {
  stream->told = stream->received;
  stream->untold_bytes = 0;
  return stream->received;
}
