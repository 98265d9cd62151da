// The C side of a reload. A state machine in Lua (lua/perigee/host/reload.lua) makes
// all decisions. The C side passes inputs to the state machine, runs the game's code
// for it, and holds the commands of that code. Private to src/script.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/timers.h"
#include "relay/events.h"

typedef struct Host Host;

// Inputs of the state machine, in the field `b` of an EVENT_RELOAD. X(constant, name)
#define RELOAD_MAP(X)                                                              \
  X(RELOAD_REQUEST, "request")   /* a: token of the requester, or 0 */             \
  X(RELOAD_FORCE, "force")       /* a REQUEST without a check of the files */      \
  X(RELOAD_CHANGE, "change")     /* a file may have changed */                     \
  X(RELOAD_CHECKED, "checked")   /* data: output of the check, "" if it failed */  \
  X(RELOAD_AGAIN, "again")       /* its timer fired, or files were parsed */       \
  X(RELOAD_EXPIRE, "expire")     /* its timer fired: the rollback window closes */ \
  X(RELOAD_ROLLBACK, "rollback") /* the live version has failed too often */       \
  X(RELOAD_ENDED, "ended")       /* the requested code of the game has ended */    \
  X(RELOAD_FAILED, "failed")     /* a step has failed; data: the error */

typedef enum ReloadInput {
#define X(constant, name) constant,
  RELOAD_MAP(X)
#undef X
} ReloadInput;

typedef enum ReloadOutcome {
  RELOAD_TAKEN,        // the new version is live
  RELOAD_REFUSED,      // the old version goes on
  RELOAD_ROLLED_BACK,  // the new version failed too often, and the old one is back
  RELOAD_OUTCOMES
} ReloadOutcome;

typedef struct Reload {
  Timer again, expire;
  uint64_t outcomes[RELOAD_OUTCOMES];  // number of reloads that ended so
} Reload;

void reload_init(Host *host);
void reload_deinit(Host *host);

/// Pushes an EVENT_RELOAD.
void reload_push(Host *host, ReloadInput input, uint32_t token);

/// Handles an EVENT_RELOAD, and runs the game's code that the state machine requests.
void reload_handle(Host *host, const Event *event);
