// The ring grows with the number of waiting packets. It is freed when all of them have
// been acknowledged, so an idle session has no ring.
#include "wire/reliable.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

enum { FIRST_CAPACITY = 8 };

static Blob **place(KeptRing *kept, uint32_t index) {
  return &kept->packets[(kept->first + index) & (kept->capacity - 1)];
}

static void give_back(Reliable *stream) {
  mem_free(stream->kept);
  stream->kept = NULL;
}

// Releases the oldest packet.
static void drop_first(Reliable *stream) {
  KeptRing *kept = stream->kept;
  Blob *packet = *place(kept, 0);
  kept->bytes -= packet->size;
  kept->first++;
  stream->acked++;
  blob_unref(packet);
}

void reliable_deinit(Reliable *stream) {
  while (reliable_waiting(stream) > 0) drop_first(stream);
  give_back(stream);
}

static void grow(Reliable *stream) {
  KeptRing *kept = stream->kept;
  uint32_t capacity = kept ? 2 * kept->capacity : FIRST_CAPACITY;
  KeptRing *grown = mem_alloc(sizeof *grown + capacity * sizeof(Blob *));
  *grown = (KeptRing){.bytes = kept ? kept->bytes : 0, .capacity = capacity};
  uint32_t count = reliable_waiting(stream);
  for (uint32_t i = 0; i < count; i++) grown->packets[i] = *place(kept, i);
  mem_free(kept);
  stream->kept = grown;
}

bool reliable_push(Reliable *stream, Blob *packet, size_t max_bytes) {
  uint32_t count = reliable_waiting(stream);
  if (count >= RELIABLE_WINDOW) return false;
  if (count > 0 && stream->kept->bytes + packet->size > max_bytes) return false;
  if (!stream->kept || count == stream->kept->capacity) grow(stream);
  *place(stream->kept, count) = blob_ref(packet);
  stream->kept->bytes += packet->size;
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
  return *place(stream->kept, index);
}

bool reliable_receive(Reliable *stream, uint32_t bytes) {
  stream->received++;
  stream->untold_bytes += bytes;
  return stream->received - stream->reported >= RELIABLE_ACK_PACKETS ||
         stream->untold_bytes >= RELIABLE_ACK_BYTES;
}

uint32_t reliable_tell(Reliable *stream) {
  stream->reported = stream->received;
  stream->untold_bytes = 0;
  return stream->received;
}
