// Two links and a network between them, which the input controls. Datagrams are
// delivered in any order, twice, late or never; they are cut, changed, returned to
// their sender, replayed much later, or invented. Time advances, also by days, and both
// sides send. In all cases, the stream arrives unchanged, no packet arrives twice, no
// packet with a key arrives after a later one, datagrams that are not authentic have no
// effect, and no datagram is accepted twice. When the network is good again, everything
// arrives.
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/integers.h"
#include "base/mem.h"
#include "udp_check.h"

enum { FLIGHTS = 256, PACKETS = 4096, KEYS = 4, PRODUCED_MAX = 5000, TAKEN = 512 };
enum { IDLE_MAX = 2000 };  // steps without progress, of 5 ms
enum { PERIOD = 8191, WRITE_MAX = UDP_STREAM_WINDOW };

typedef struct Flight {
  uint16_t size;
  uint8_t end;  // end that receives it
  uint8_t bytes[UDP_DATAGRAM_MAX];
} Flight;

typedef struct Side {
  UdpLink *link;
  uint64_t written, got;  // bytes of the stream
  uint32_t packets;       // number of sent packets, each with its own number
  uint32_t latest[KEYS];  // newest number received with that key
  uint8_t seen[PACKETS];  // received packets, by number
  bool is_held;
} Side;

typedef struct World {
  uint64_t now_us;
  Side sides[2];
  Flight flights[FLIGHTS];
  uint16_t order[FLIGHTS];  // datagrams under way, the oldest first, then the free ones
  uint32_t count;           // number of datagrams under way
  bool is_unencrypted, is_busy;
  Flight taken[TAKEN];  // the last datagrams that arrived
  uint32_t taken_count;
} World;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Returns the bytes of any stream from `at` on, WRITE_MAX of them.
static const uint8_t *stream_at(uint64_t at) {
  static uint8_t bytes[PERIOD + WRITE_MAX];
  if (bytes[1] == 0) {
    for (size_t i = 0; i < sizeof bytes; i++)
      bytes[i] = (uint8_t)(i % PERIOD * 167 >> 3);
  }
  return &bytes[at % PERIOD];
}

static void open_world(World *world, uint8_t options) {
  memset(world->sides, 0, sizeof world->sides);
  world->now_us = 1000000;
  world->count = world->taken_count = 0;
  world->is_unencrypted = options & 2;
  world->is_busy = options & 8;
  for (uint16_t i = 0; i < FLIGHTS; i++) world->order[i] = i;
  for (int end = 0; end < 2; end++) {
    UdpLinkParams params = {.is_unencrypted = world->is_unencrypted,
                            .queue_capacity = 32};
    params.keys = (UdpKeys){
        .send = {(uint8_t)(1 + end)}, .receive = {(uint8_t)(2 - end)}, .channel = {7}};
    params.is_stranger = options & 4;
    params.overflow = options & 1 ? UDP_DROP_OLDEST : UDP_DROP_NEWEST;
    params.first_sent = end ? 0 : (uint16_t)(options * 257);
    params.first_received = end ? (uint16_t)(options * 257) : 0;
    world->sides[end].link = udp_link_new(&params, world->now_us);
  }
}

// --- Input ---

static void take_packet(Side *side, const Side *other, const Packet *packet) {
  uint32_t number;
  assert(packet->length >= sizeof number);
  memcpy(&number, packet->payload, sizeof number);
  assert(number > 0 && number <= other->packets && !side->seen[number]);
  side->seen[number] = 1;
  if (packet->type == 0) return;
  assert(number > side->latest[packet->type - 1]);
  side->latest[packet->type - 1] = number;
}

static void take(World *world, int end) {
  Side *side = &world->sides[end], *other = &world->sides[!end];
  UdpArrival arrival;
  while (udp_link_next(side->link, &arrival)) {
    if (arrival.kind == UDP_ARRIVAL_PACKET) {
      take_packet(side, other, &arrival.packet);
      continue;
    }
    assert(arrival.kind == UDP_ARRIVAL_STREAM && !side->is_held && arrival.size > 0);
    assert(memcmp(arrival.bytes, stream_at(side->got), arrival.size) == 0);
    side->got += arrival.size;
    assert(side->got <= other->written);
  }
}

// Sends a datagram that must be refused, with no effect but the counter of such
// datagrams.
static void refuse(const World *world, int end, const uint8_t *bytes, size_t size) {
  UdpLink *link = world->sides[end].link, before;
  uint8_t copy[UDP_DATAGRAM_MAX];
  memcpy(&before, link, sizeof before);
  if (size > 0) memcpy(copy, bytes, size);
  assert(udp_link_receive(link, world->now_us, copy, size) == UDP_REFUSED);
  before.stats.refused++;
  before.items = link->items;
  assert(memcmp(&before, link, sizeof before) == 0);
}

static void note_taken(World *world, const Flight *flight) {
  Flight *place = &world->taken[world->taken_count++ % TAKEN];
  place->size = flight->size;
  place->end = flight->end;
  memcpy(place->bytes, flight->bytes, flight->size);
}

static void replay(const World *world, uint8_t how) {
  const uint32_t kept = world->taken_count < TAKEN ? world->taken_count : TAKEN;
  if (kept == 0) return;
  const Flight *flight =
      &world->taken[(world->taken_count - 1 - how * 2u % kept) % TAKEN];
  refuse(world, flight->end, flight->bytes, flight->size);
}

// Changes a datagram that is under way, as an attacker on the way could.
static void tamper(const World *world, uint32_t index, uint8_t how) {
  Flight changed = world->flights[world->order[index]];
  const uint32_t size = changed.size;
  if (world->is_unencrypted) return;
  switch (how % 4) {
    case 0:
      changed.bytes[how * 37u % size] ^= (uint8_t)(1 << how / 4 % 8);
      break;
    case 1:
      changed.size = (uint16_t)(size * (how / 4) / 64);
      break;
    case 2:
      changed.end = !changed.end;
      break;
    default:  // the number of another datagram
      changed.bytes[3] = (uint8_t)(changed.bytes[3] + 1 + how / 4);
  }
  refuse(world, changed.end, changed.bytes, changed.size);
}

// Forges a datagram that has only a plausible number.
static void forge(const World *world, int end, uint8_t how) {
  uint8_t bytes[UDP_DATAGRAM_MAX] = {7};
  const uint64_t next = world->sides[end].link->window.next;
  put_u16(bytes + UDP_CHANNEL_SIZE, (uint16_t)(next + how * how * (how & 1 ? 1u : 0u)));
  if (!world->is_unencrypted)
    refuse(world, end, bytes, UDP_HEAD_SIZE + UDP_ACK_SIZE + UDP_TAG_SIZE + how * 4u);
}

typedef enum Fate { GONE, STAYS } Fate;

// Delivers flight `index`; one that stays can be delivered again.
static void deliver(World *world, uint32_t index, Fate fate) {
  const uint16_t place = world->order[index];
  const Flight *flight = &world->flights[place];
  if (fate == GONE) {
    uint16_t *from = &world->order[index];
    memmove(from, from + 1, (--world->count - index) * sizeof *from);
    world->order[world->count] = place;
  }
  uint8_t bytes[UDP_DATAGRAM_MAX];
  memcpy(bytes, flight->bytes, flight->size);
  UdpLink *link = world->sides[flight->end].link;
  UdpTaken taken = udp_link_receive(link, world->now_us, bytes, flight->size);
  assert(taken != UDP_BROKEN);
  if (taken != UDP_REFUSED) note_taken(world, flight);
  if (taken != UDP_REFUSED) take(world, flight->end);
  check_link(link);
}

// --- Output ---

static void flush(World *world, int end) {
  uint8_t out[UDP_DATAGRAM_MAX];
  size_t size;
  UdpLink *link = world->sides[end].link;
  for (int n = 0; (size = udp_link_produce(link, world->now_us, out)) > 0; n++) {
    assert(n < PRODUCED_MAX && size <= UDP_DATAGRAM_MAX);
    check_link(link);
    if (world->count == FLIGHTS) continue;  // lost
    Flight *flight = &world->flights[world->order[world->count++]];
    flight->size = (uint16_t)size;
    flight->end = (uint8_t)!end;
    memcpy(flight->bytes, out, size);
  }
  assert(udp_link_deadline(link) > world->now_us);
}

static void send(World *world, int end, uint8_t what) {
  Side *side = &world->sides[end];
  uint8_t bytes[UDP_PACKET_MAX] = {0};
  if (side->packets + 1 >= PACKETS) return;
  uint32_t number = ++side->packets, key = what % (KEYS + 1);
  uint32_t length = what & 0x80 ? 1100 + what % 32 : 4 + what % 32;
  Packet packet = {.channel = 3000, .type = (uint16_t)key, .length = length};
  packet_write_header(bytes, &packet);
  memcpy(bytes + PACKET_HEADER_SIZE, &number, sizeof number);
  udp_link_send(side->link, bytes, PACKET_HEADER_SIZE + length, key);
}

static void write_stream(World *world, int end, uint32_t size) {
  Side *side = &world->sides[end];
  side->written += udp_link_stream_write(side->link, stream_at(side->written), size);
}

static void hold(World *world, int end, bool is_held) {
  Side *side = &world->sides[end];
  side->is_held = is_held;
  if (is_held) {
    udp_link_throttle(side->link);
  } else {
    udp_link_unthrottle(side->link);
    take(world, end);
  }
}

static void step(World *world, uint8_t what, uint8_t how) {
  const int end = what >> 7;
  const uint32_t any = world->count ? how % world->count : 0;
  switch (what % 16) {
    case 0:
      send(world, end, how);
      break;
    case 1:
      write_stream(world, end, how * 64u);
      break;
    case 2:
      write_stream(world, end, how);
      break;
    case 3:
      world->now_us += how * how * 16u;  // up to a second
      break;
    case 4:
      for (uint32_t n = how % 16; n > 0 && world->count > 0; n--)
        deliver(world, 0, GONE);
      break;
    case 5:
      if (world->count > 0) deliver(world, any, GONE);
      break;
    case 6:
      if (world->count > 0) deliver(world, any, STAYS);
      break;
    case 7:  // the network loses datagrams
      if (world->count > 0) world->count -= how % world->count;
      break;
    case 8:
      hold(world, end, how & 1);
      break;
    case 9:  // like after a sleep of the machine
      world->now_us += UINT64_C(1) << how % 38;
      break;
    case 10:
      replay(world, how);
      break;
    case 11:
      if (world->count > 0) tamper(world, world->count - 1, how);
      break;
    case 12:
      forge(world, end, how);
      break;
    case 13:
      udp_link_trust(world->sides[end].link);
      break;
    default:
      world->now_us += how * 100u;
  }
  flush(world, 0);
  flush(world, 1);
}

// Returns how many written bytes have arrived, and are known to have arrived.
static uint64_t progress(const World *world) {
  const Side *ann = &world->sides[0], *bob = &world->sides[1];
  return ann->got + bob->got + ann->written + bob->written -
         udp_link_stream_unacknowledged(ann->link) -
         udp_link_stream_unacknowledged(bob->link);
}

// Makes the network good, and lets time pass until everything has arrived. This takes
// long if a side that is not trusted yet keeps few bytes out of order, and less if
// small packets are sent all the time.
static void settle(World *world) {
  for (int end = 0; end < 2; end++) hold(world, end, false);
  const uint64_t all = 2 * (world->sides[0].written + world->sides[1].written);
  uint64_t so_far = progress(world);
  for (int idle = 0; so_far < all; idle++) {
    assert(idle < IDLE_MAX);
    world->now_us += 5000;
    for (int end = 0; world->is_busy && idle % 10 == 9 && end < 2; end++)
      send(world, end, 0);
    flush(world, 0);
    flush(world, 1);
    while (world->count > 0) deliver(world, 0, GONE);
    if (progress(world) > so_far) idle = 0;
    so_far = progress(world);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static World world;
  size_t live = mem_live();
  if (size == 0 || size > 4000 || udp_keys_init() < 0) return 0;
  open_world(&world, data[0]);
  for (size_t i = 1; i + 1 < size; i += 2) step(&world, data[i], data[i + 1]);
  settle(&world);
  for (int end = 0; end < 2; end++) udp_link_free(world.sides[end].link);
  assert(mem_live() == live);
  return 0;
}
