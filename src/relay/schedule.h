// Decides which event the script gets next, so that no source delays the others
// (schedule.c).
//
// Events that a handler causes come first, because they belong before the next event of
// its room or peer. Then urgent events of the layer above; then the first class: ticks,
// timers, verdicts, answers and ends of connections; then the second class: messages and
// packets, one of each source in turn. A source that takes much time is in the second
// class with all it has.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "relay/events.h"

/// A source causes events and pays for their handlers: a peer, a room (its ticks and
/// timers), the game (its own), background work of the layer above, peers that are not
/// connected yet (whose events wait in their own queues), and those that have ended.
typedef struct Source Source;
struct Source {
  Events events;            // that wait for the source's turn
  Source *next, *previous;  // in the ring of those that have some; NULL: not in it
  uint32_t peer, room;      // whose it is; both 0: one of the relay's own
  uint32_t slice;           // the last one in which a handler of it ran, and
  uint64_t slice_us;        // how long they took in that
  uint64_t costly_ms;       // when that was last too much; 0: never
  bool is_cheap;            // it has not been too much since then
  uint32_t second;          // the last one in which a handler of it ran, and
  uint64_t second_us;       // how long they took in that
};

enum {
  SCHEDULE_LOOK =
      32,  // pieces of work without a handler between two looks at the clock
  SCHEDULE_SPARE = 64,           // empty queues' memory that is kept,
  SCHEDULE_SPARE_BYTES = 65536,  // of no more than this each
};

typedef struct Schedule {
  Events urgent;  // of ORDER_URGENT
  Events first;   // the first class
  Source *ring;   // the source of the second class that is next; NULL: none has events
  Source *taken;  // the one of the last event, whose data is still in use; NULL: none
  Source game, background, newcomers, leavers;
  Source **peers;  // by the index of the peer's id; owned, NULL: it had no events yet
  uint32_t peer_capacity;
  Buf spare[SCHEDULE_SPARE];
  uint32_t spare_count;
  uint64_t slice_us;           // of the loop's iteration; 0: no limit
  uint32_t slice;              // counts them
  int64_t left_us;             // of this one
  uint64_t clock_us;           // when `left_us` was true
  uint64_t unclocked;          // pieces of work since the clock was read
  uint32_t skips;              // further iterations without the second class
  bool is_skipping;            // this iteration is one
  bool has_first, has_second;  // an event of the class has been taken in this one
  bool is_timed;               // false in a simulation, where handlers take no time
} Schedule;
