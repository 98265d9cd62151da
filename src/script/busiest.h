// Finds the busiest source: the peer, room or other source whose handlers alone took
// more than half of the time of all handlers in a second of the clock. The log reports
// each such source once; perigee.stats reports the last one. Private to src/script.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "script/cost.h"

typedef struct Host Host;

enum { BUSIEST_LOGGED = 16 };  // sources that the log reported last

/// A source, as the relay has them: a peer, or (0) a room, or (0) neither.
typedef struct BusiestSource {
  uint32_t peer, room;
} BusiestSource;

typedef struct Busiest {
  // The second under way.
  uint32_t second;
  uint64_t total_us;     // of all handlers
  BusiestSource source;  // that has taken most,
  uint64_t source_us;    // how much,
  const Cost *cost;      // and whose its longest call was; NULL: none yet
  uint64_t longest_us;
  // The last one in which a source took too much.
  uint32_t found_second;  // 0: there was none
  BusiestSource found;
  double share;  // of all handlers' time
  char name[COST_NAME_SIZE], file[COST_NAME_SIZE];
  uint32_t line;
  BusiestSource logged[BUSIEST_LOGGED];
  uint32_t logged_count;  // modulo 2^32
} Busiest;

/// A call has ended, by the deadline's clock after `us`; its source has taken `source_us` in
/// this second.
void busiest_add(Host *host, const Cost *cost, uint64_t us, uint64_t source_us);

/// The costs are about to be freed.
void busiest_forget_costs(Busiest *busiest);

/// The source that took too much in the last second, or NULL.
const Busiest *busiest_find(Host *host);
