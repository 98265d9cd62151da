// Reloads: the new version is loaded, rooms are upgraded, and then all of it holds or
// none of it; a version that fails too often in its first seconds is taken back. Before
// all that `perigee check` reads the files in a process of its own, while the loop goes on.
// The steps are Lua's (lua/perigee/host/reload.lua); here is their order, and when. Private to
// src/script.
#pragma once

#include "script/host.h"

enum {
  RELOAD_RETRY_MS = 40,       // until files that are being written are read again
  RELOAD_MORE_MS = 1,         // until the next part of a large schema is made
  RELOAD_PATIENCE_MS = 3000,  // for which that goes on
  RELOAD_SETTLE_MS = 5000,    // for which the version before can come back
  // For which a check may run, less than who asks for a reload waits for an answer.
  RELOAD_CHECK_MS = 4000,
};

/// What an EVENT_RELOAD is for, in `b`; `a` is who asked.
typedef enum ReloadCause {
  RELOAD_ASKED,    // by somebody
  RELOAD_FORCED,   // by request, whatever a check finds
  RELOAD_CHANGED,  // a file seems to have changed
  RELOAD_AGAIN,    // the one that waits is to go on
  RELOAD_CHECKED,  // the check has ended; the event's data is what it printed
  RELOAD_BACK,     // the live version fails too often
  RELOAD_SETTLED,  // the live version's first seconds are over
} ReloadCause;

/// How a reload begins: flags.
typedef enum ReloadHow {
  RELOAD_IS_ASKED = 1,     // even if nothing has changed
  RELOAD_NEEDS_CHECK = 2,  // the files first
} ReloadHow;

typedef struct Reload {
  Host *host;
  bool is_waiting;      // it has begun, and is to go on
  bool is_asked;        // it is wanted even if nothing has changed
  bool is_forced;       // it is wanted even if a check finds errors
  bool is_checking;     // a check runs; what is asked meanwhile waits for its end
  bool is_checked;      // `found` is what the check printed
  uint64_t waiting_ms;  // since when files are being written; 0: none are
  Buf found;            // empty where the game could not be checked
  Buf askers;           // u32 each, who wait for its end
  Timer retry, settle;
} Reload;

void reload_init(Reload *reload, Host *host);
void reload_deinit(Reload *reload);

/// Handles an EVENT_RELOAD.
void reload_handle(Reload *reload, const Event *event);
