// A simulated network between links (src/wire/udp/link.h), with a clock of its own. Its
// lines lose, double, delay and reorder datagrams, and may limit the bytes a second,
// with a queue before the limit. The same seed gives the same run.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"
#include "wire/udp/link.h"

enum { WORLD_ENDS = 4, WORLD_START_US = 1000000 };

/// One direction of one or more connections.
typedef struct Line {
  double loss, duplicates, reordered;  // shares of 1
  uint64_t delay_us;                   // delay one way
  uint64_t jitter_us;                  // largest random deviation of the delay
  uint64_t late_us;                    // extra delay of reordered datagrams
  uint64_t rate;                       // bytes a second; 0: no limit
  uint64_t queue_bytes;                // most bytes that wait because of the rate
  // Time at which the line has passed all its bytes.
  uint64_t free_us;
  uint64_t sent, lost, passed_bytes;
} Line;

typedef struct Flight {
  uint64_t due_us;
  uint64_t order;
  uint16_t end;  // receiving end
  uint16_t size;
  uint8_t bytes[UDP_DATAGRAM_MAX];
} Flight;

typedef struct World World;

/// One side of a connection. Ends 0 and 1 are connected, and so are 2 and 3.
typedef struct End {
  UdpLink *link;
  Line *line;  // line for its output
  Buf stream;  // received bytes of the stream
  uint32_t packets;
  uint64_t closed;  // number of CLOSEs; `code` is that of the last one
  uint16_t code;
  uint32_t broken;
  /// Called for each received packet; may be NULL.
  void (*on_packet)(World *world, int end, const Packet *packet);
} End;

struct World {
  uint64_t now_us;
  uint64_t seed;
  uint64_t order;
  End ends[WORLD_ENDS];
  Flight **flights;  // heap with the next due datagram first
  size_t count, capacity;
  size_t live;  // allocations before the world was made
  /// Called for each sent datagram; false: the datagram is lost. May be NULL.
  bool (*on_sent)(World *world, int end, const uint8_t *bytes, size_t size);
  void *data;
};

// --- Random numbers ---

static inline uint64_t world_random(World *world) {  // splitmix64
  uint64_t z = world->seed += UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static inline bool world_chance(World *world, double chance) {
  return (double)(world_random(world) >> 11) / 9007199254740992.0 < chance;
}

// --- The heap ---

static inline bool flies_before(const Flight *a, const Flight *b) {
  return a->due_us != b->due_us ? a->due_us < b->due_us : a->order < b->order;
}

static inline void world_push(World *world, Flight *flight) {
  if (world->count == world->capacity) {
    world->capacity = world->capacity ? 2 * world->capacity : 64;
    world->flights = mem_grow(world->flights, world->capacity * sizeof(Flight *));
  }
  size_t at = world->count++;
  while (at > 0 && flies_before(flight, world->flights[(at - 1) / 2])) {
    world->flights[at] = world->flights[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  world->flights[at] = flight;
}

static inline Flight *world_pop(World *world) {
  Flight *first = world->flights[0], *last = world->flights[--world->count];
  size_t at = 0;
  for (size_t child; (child = 2 * at + 1) < world->count; at = child) {
    Flight **flights = world->flights;
    if (child + 1 < world->count && flies_before(flights[child + 1], flights[child]))
      child++;
    if (flies_before(last, flights[child])) break;
    flights[at] = flights[child];
  }
  world->flights[at] = last;
  return first;
}

// --- Lines ---

static inline void world_fly(World *world, int end, uint64_t due_us,
                             const uint8_t *bytes, size_t size) {
  Flight *flight = mem_alloc(sizeof *flight);
  flight->due_us = due_us;
  flight->order = world->order++;
  flight->end = (uint16_t)end;
  flight->size = (uint16_t)size;
  memcpy(flight->bytes, bytes, size);
  world_push(world, flight);
}

static inline uint64_t world_delay(World *world, const Line *line) {
  uint64_t delay_us = line->delay_us;
  if (line->jitter_us)
    delay_us += world_random(world) % (2 * line->jitter_us + 1) - line->jitter_us;
  if (world_chance(world, line->reordered)) delay_us += line->late_us;
  return delay_us;
}

/// Sends a datagram over the line to `end`.
static inline void world_carry(World *world, Line *line, int end, const uint8_t *bytes,
                               size_t size) {
  line->sent++;
  uint64_t from_us = world->now_us;
  if (line->rate) {
    if (line->free_us < from_us) line->free_us = from_us;
    if ((line->free_us - from_us) * line->rate / 1000000 + size > line->queue_bytes) {
      line->lost++;
      return;
    }
    line->free_us += size * 1000000 / line->rate;
    from_us = line->free_us;
  }
  line->passed_bytes += size;
  if (world_chance(world, line->loss)) {
    line->lost++;
    return;
  }
  int copies = world_chance(world, line->duplicates) ? 2 : 1;
  for (; copies > 0; copies--)
    world_fly(world, end, from_us + world_delay(world, line), bytes, size);
}

// --- Ends ---

/// Sends all datagrams that the end may send now.
static inline void world_flush(World *world, int end) {
  End *from = &world->ends[end];
  uint8_t out[UDP_DATAGRAM_MAX];
  for (size_t size; (size = udp_link_produce(from->link, world->now_us, out)) > 0;) {
    if (world->on_sent && !world->on_sent(world, end, out, size)) continue;
    world_carry(world, from->line, end ^ 1, out, size);
  }
}

/// Handles everything that the link has received for its owner.
static inline void world_take(World *world, int end) {
  End *to = &world->ends[end];
  UdpArrival arrival;
  while (udp_link_next(to->link, &arrival)) {
    switch (arrival.kind) {
      case UDP_ARRIVAL_PACKET:
        to->packets++;
        if (to->on_packet) to->on_packet(world, end, &arrival.packet);
        break;
      case UDP_ARRIVAL_STREAM:
        buf_append(&to->stream, arrival.bytes, arrival.size);
        break;
      case UDP_ARRIVAL_PATH_RESPONSE:
        break;
      case UDP_ARRIVAL_CLOSE:
        to->closed++;
        to->code = arrival.code;
        break;
    }
  }
}

static inline UdpTaken world_receive(World *world, int end, uint8_t *bytes,
                                     size_t size) {
  UdpTaken taken = udp_link_receive(world->ends[end].link, world->now_us, bytes, size);
  if (taken == UDP_BROKEN) world->ends[end].broken++;
  if (taken == UDP_TAKEN || taken == UDP_NEWEST) world_take(world, end);
  world_flush(world, end);
  return taken;
}

/// Returns the time of the next arrival or deadline.
static inline uint64_t world_next_us(const World *world) {
  uint64_t next_us = world->count ? world->flights[0]->due_us : UDP_NEVER;
  for (int i = 0; i < WORLD_ENDS; i++) {
    if (!world->ends[i].link) continue;
    uint64_t due_us = udp_link_deadline(world->ends[i].link);
    if (due_us < next_us) next_us = due_us;
  }
  return next_us;
}

/// Lets time pass up to `until_us`.
static inline void world_run(World *world, uint64_t until_us) {
  for (uint64_t next_us; (next_us = world_next_us(world)) <= until_us;) {
    if (next_us > world->now_us) world->now_us = next_us;
    while (world->count && world->flights[0]->due_us <= world->now_us) {
      Flight *flight = world_pop(world);
      world_receive(world, flight->end, flight->bytes, flight->size);
      mem_free(flight);
    }
    for (int i = 0; i < WORLD_ENDS; i++)
      if (world->ends[i].link &&
          udp_link_deadline(world->ends[i].link) <= world->now_us)
        world_flush(world, i);
  }
  world->now_us = until_us;
}

/// Returns the parameters of an end, whose keys match those of the other side.
static inline UdpLinkParams world_params(int end) {
  uint8_t secret[UDP_KEY_SIZE] = {(uint8_t)(1 + end / 2)};
  uint8_t cookie[UDP_COOKIE_SIZE] = {2}, client_key[UDP_KEY_SIZE] = {3};
  UdpAgreement agreement = {
      .secret = secret, .cookie = cookie, .client_key = client_key};
  UdpLinkParams params = {.queue_capacity = 1024};
  udp_keys_derive(&params.keys, end & 1 ? UDP_SERVER : UDP_CLIENT, &agreement);
  params.first_sent = end & 1 ? 65530 : 100;
  params.first_received = end & 1 ? 100 : 65530;
  return params;
}

/// Connects two ends, `end` and the next, with a line for each direction.
static inline void world_connect(World *world, int end, Line *there, Line *back) {
  UdpLinkParams params = world_params(end);
  world->ends[end] = (End){.link = udp_link_new(&params, world->now_us), .line = there};
  params = world_params(end + 1);
  world->ends[end + 1] =
      (End){.link = udp_link_new(&params, world->now_us), .line = back};
}

static inline World world_of(uint64_t seed, Line *there, Line *back) {
  assert_int_equal(udp_keys_init(), 0);
  World world = {.now_us = WORLD_START_US, .seed = seed, .live = mem_live()};
  world_connect(&world, 0, there, back);
  return world;
}

/// Frees everything, and checks that no other memory is left.
static inline void world_end(World *world) {
  for (int i = 0; i < WORLD_ENDS; i++) {
    udp_link_free(world->ends[i].link);
    buf_deinit(&world->ends[i].stream);
  }
  while (world->count > 0) mem_free(world_pop(world));
  mem_free(world->flights);
  assert_int_equal(mem_live(), world->live);
}

// --- Contents ---

/// Returns byte `at` of any stream.
static inline uint8_t world_byte(uint64_t at) {
  return (uint8_t)((at * UINT64_C(0x9e3779b97f4a7c15)) >> 56);
}

/// Writes to the stream until it has `total` bytes or takes no more, and sends.
static inline void world_write(World *world, int end, uint64_t *written,
                               uint64_t total) {
  uint8_t bytes[4096];
  UdpLink *link = world->ends[end].link;
  for (size_t size; (size = udp_link_stream_room(link)) > 0 && *written < total;) {
    if (size > sizeof bytes) size = sizeof bytes;
    if (size > total - *written) size = (size_t)(total - *written);
    for (size_t i = 0; i < size; i++) bytes[i] = world_byte(*written + i);
    assert_int_equal(udp_link_stream_write(link, bytes, size), size);
    *written += size;
  }
  world_flush(world, end);
}

/// Checks that `end` has received the first `size` bytes of the stream.
static inline void world_expect_stream(const World *world, int end, uint64_t size) {
  const Buf *stream = &world->ends[end].stream;
  assert_int_equal(stream->size, size);
  for (size_t i = 0; i < stream->size; i++)
    if (stream->data[i] != world_byte(i)) fail_msg("the stream differs at %zu", i);
}

/// Sends a packet of `size` bytes, header included, that contains the time of sending.
static inline uint32_t world_packet(World *world, int end, size_t size, uint32_t key) {
  uint8_t bytes[UDP_PACKET_MAX] = {0};
  Packet packet = {.channel = 3000, .type = 1, .priority = PRIORITY_NORMAL};
  packet.length = (uint32_t)(size - PACKET_HEADER_SIZE);
  packet_write_header(bytes, &packet);
  if (packet.length >= 8)
    memcpy(bytes + PACKET_HEADER_SIZE, &world->now_us, sizeof world->now_us);
  return udp_link_send(world->ends[end].link, bytes, size, key);
}

static inline uint64_t world_packet_time(const Packet *packet) {
  uint64_t time_us;
  memcpy(&time_us, packet->payload, sizeof time_us);
  return time_us;
}
