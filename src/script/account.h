// Keeps the cost of each call under the handler that ran, and tells the log of slow
// ones. The Lua half says what it has called in two slots of the budget's counter.
// Private to src/script.
#pragma once

#include "script/host.h"

enum { ACCOUNT_SLOWEST = 10 };  // handlers that perigee.stats lists

/// The call has ended, and what it asked for is done: reads the clock, for this call
/// and for the next one.
void account_end(Host *host);

/// A new version of the script: its handlers begin at nothing.
void account_reset(Host *host);

/// Logs the handlers with the worst calls.
void account_log(const Host *host);
