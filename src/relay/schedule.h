// Decides which event the script gets next, so that no source delays the others (schedule.c).
//
// The order is:
//  1. events that a handler causes, because they precede the next event of their room
//  or peer
//  2. urgent events of the layer above
//  3. the first class: ticks, timers, verdicts, answers and ends of connections
//  4. the second class: messages and packets, one of each source at a time
// All events of a source that takes much time are in the second class.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "relay/events.h"

/// Something that causes events and is charged for their handlers. The sources are each
/// peer, each room (ticks and timers), the game (ticks and timers), background work of
/// the layer above, all connecting peers together (with one queue each), and all ended
/// peers together.
typedef struct Source Source;
struct Source {
  Events events;            // waiting events of the second class
  Source *next, *previous;  // neighbours in the ring of sources with events; NULL: not
                            // in the ring
  uint32_t peer, room;      // owner; both 0: a source of the relay itself
  uint32_t slice;           // number of the slice that `slice_us` belongs to
  uint64_t slice_us;        // time of the source's handlers in that slice
  uint64_t costly_ms;       // last time at which the source took more than half of a
                            // slice; 0: never
  bool is_cheap;       // the source took at most half of a slice up to its last handler
  uint32_t second;     // number of the second that `second_us` belongs to
  uint64_t second_us;  // time of the source's handlers in that second
};

enum {
  SCHEDULE_LOOK = 32,            // pieces of work between two readings of the clock
  SCHEDULE_SPARE = 64,           // buffers of empty queues kept for reuse
  SCHEDULE_SPARE_BYTES = 65536,  // size above which such a buffer is freed
};

typedef struct Schedule {
  Events urgent;  // events of ORDER_URGENT
  Events first;   // events of the first class
  Source *ring;   // next source of the second class; NULL: none has events
  Source *taken;  // source of the last event, whose data is still used; NULL: none
  Source game, background, newcomers, leavers;
  Source **peers;  // sources by the index of the peer's id; owned; NULL: no events yet
  uint32_t peer_capacity;
  Buf spare[SCHEDULE_SPARE];
  uint32_t spare_count;
  uint64_t slice_us;           // time of a slice; 0: no limit
  uint32_t slice;              // number of the slice that `slice_us` belongs to
  int64_t left_us;             // time left in the current slice
  uint64_t clock_us;           // time at which `left_us` was set
  uint64_t unclocked;          // pieces of work since the last reading of the clock
  uint32_t skips;              // number of next iterations that skip the second class
  bool is_skipping;            // this iteration skips the second class
  bool has_first, has_second;  // whether this slice has taken an event of that class
  bool is_timed;               // false in a simulation, where handlers take no time
} Schedule;
