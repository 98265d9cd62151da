// Keeps the cost of each call under the handler that ran, and tells the log of slow
// ones. The Lua half says what it calls in a table of two.
// Private to src/script.
#pragma once

#include "script/host.h"

enum { COSTS_SLOWEST = 10 };  // handlers that perigee.stats lists

// Indices of that table.
enum {
  RAN_FUNCTION = 1,
  RAN_MESSAGE = 2,  // whose handler that is, where it takes several
};

/// Makes the table. May raise a Lua error.
void call_cost_init(Host *host, lua_State *L);

/// Pushes it.
void call_cost_push_ran(const Host *host, lua_State *L);

/// Ends the call that `taken` led to, whose commands are done or begun: reads the
/// clock, for this call and for the next one.
void call_cost_end(Host *host, const Event *taken);

/// A new version of the script: its handlers begin at nothing.
void call_cost_reset(Host *host);

/// Logs the handlers with the worst calls.
void call_cost_log(const Host *host);
