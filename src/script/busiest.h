// Finds the busiest source: the peer, room or other source whose handlers alone took
// more than half of the time of all handlers in a second of the clock. The log reports
// each such source once; perigee.stats reports the last one. Private to src/script.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "script/cost.h"

typedef struct Host Host;

enum { BUSIEST_LOGGED = 16 };  // number of recently logged sources to remember

/// A source of the relay. It is the peer if `peer` is not 0, else the room if `room` is
/// not 0, else another source.
typedef struct BusiestSource {
  uint32_t peer, room;
} BusiestSource;

typedef struct Busiest {
  // Figures of the current second:
  uint32_t second;
  uint64_t total_us;     // time of all handlers
  BusiestSource source;  // busiest source so far
  uint64_t source_us;    // time of its handlers
  const Cost *cost;      // handler of the source's longest call; NULL: none yet
  uint64_t longest_us;   // time of that call
  // Figures of the last second in which a source took too much:
  uint32_t found_second;  // number of that second; 0: none
  BusiestSource found;
  double share;  // the source's share of the time of all handlers
  char name[COST_NAME_SIZE], file[COST_NAME_SIZE];
  uint32_t line;
  BusiestSource logged[BUSIEST_LOGGED];
  uint32_t logged_count;  // sources logged so far, modulo 2^32
} Busiest;

/// Adds an ended call that took `us` microseconds by the deadline's clock. `source_us`
/// is the time that the call's source has taken in this second.
void busiest_add(Host *host, const Cost *cost, uint64_t us, uint64_t source_us);

/// Removes references to costs before the costs are freed.
void busiest_forget_costs(Busiest *busiest);

/// Returns the source that took too much in the last second, or NULL.
const Busiest *busiest_find(Host *host);
