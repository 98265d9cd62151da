// Two sides of a session, and a line between them that loses packets and is cut, as the
// input decides. Beside them is a minimal model: two counters. In all cases, the
// receiver gets 0, 1, 2, ..., each once.
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "wire/reliable.h"

enum { LINE_MAX = 4096, MAX_BYTES = 2000 };

typedef struct World {
  Reliable sender, receiver;
  size_t total;
  uint32_t line[LINE_MAX];  // numbers of the packets on their way
  uint32_t first, last;
  uint32_t made, got;  // counters of the model
} World;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(World *world, const Blob *packet) {
  if (world->last == LINE_MAX) return;  // the line is full, which counts as a cut
  memcpy(&world->line[world->last++], packet->bytes, sizeof(uint32_t));
}

static void make(World *world, uint32_t extra) {
  Blob *blob = blob_new((uint32_t)sizeof(uint32_t) + extra, &world->total);
  memcpy(blob->bytes, &world->made, sizeof world->made);
  if (reliable_push(&world->sender, blob, MAX_BYTES)) {
    world->made++;
    put(world, blob);
  }
  blob_unref(blob);
}

static void deliver(World *world, uint32_t count) {
  for (; count > 0 && world->first < world->last; count--) {
    assert(world->line[world->first++] == world->got);
    world->got++;
    reliable_receive(&world->receiver, 4);
  }
}

// Makes a new line, after both sides have exchanged their counts.
static void resume(World *world) {
  world->first = world->last = 0;
  assert(reliable_ack(&world->sender, world->receiver.received) == 0);
  uint32_t count = reliable_waiting(&world->sender);
  for (uint32_t i = 0; i < count; i++) put(world, reliable_at(&world->sender, i));
}

static void absurd(World *world, uint32_t offset) {
  uint32_t count = world->sender.acked + offset * 0x01010101u;
  bool can_be = count - world->sender.acked <= reliable_waiting(&world->sender);
  assert(reliable_is_count(&world->sender, count) == can_be);
  if (!can_be) assert(reliable_ack(&world->sender, count) == ERR_MALFORMED);
}

static void check(const World *world) {
  assert(world->sender.sent == world->made && world->receiver.received == world->got);
  assert(reliable_waiting(&world->sender) <= RELIABLE_WINDOW);
  const KeptRing *kept = world->sender.kept;
  assert(world->total == (kept ? kept->bytes : 0));
  assert(world->sender.acked <= world->got && world->got <= world->made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static World world;
  size_t live = mem_live();
  world = (World){0};
  for (size_t i = 0; i + 1 < size; i += 2) {
    switch (data[i] % 5) {
      case 0:
        make(&world, data[i + 1] % 16 == 0 ? 1000 : 0);
        break;
      case 1:
        deliver(&world, data[i + 1]);
        break;
      case 2:
        assert(reliable_ack(&world.sender, reliable_tell(&world.receiver)) == 0);
        break;
      case 3:
        resume(&world);
        break;
      default:
        absurd(&world, data[i + 1]);
    }
    check(&world);
    if (world.last == LINE_MAX) resume(&world);
  }
  resume(&world);
  deliver(&world, UINT32_MAX);
  assert(world.got == world.made);
  reliable_deinit(&world.sender);
  assert(world.total == 0 && mem_live() == live);
  return 0;
}
