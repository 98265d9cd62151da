// Adds the cost of each call to its handler, and logs slow handlers. Before each call,
// the Lua half stores the called function and its message in the table `ran`. Private
// to src/script.
#pragma once

#include "script/host.h"

enum { COSTS_SLOWEST = 10 };  // handlers that perigee.stats lists

// Indexes of the table `ran`.
enum {
  RAN_FUNCTION = 1,
  RAN_MESSAGE = 2,  // name of the message; nil: the function handles only one message
};

/// Creates the table `ran`. May raise a Lua error.
void call_cost_init(Host *host, lua_State *L);

/// Pushes the table `ran`.
void call_cost_push_ran(const Host *host, lua_State *L);

/// Ends the call for the event `taken` after its commit has begun. Reads the clock for
/// this call and for the next one.
void call_cost_end(Host *host, const Event *taken, bool has_failed);

/// Removes all costs, for a new version of the script.
void call_cost_reset(Host *host);

/// Logs the handlers with the worst calls.
void call_cost_log(const Host *host);
