// Reloads: the new version is loaded, rooms are upgraded, and then all of it holds or
// none of it; a version that fails too often in its first seconds is taken back. The
// steps are Lua's (lua/perigee/reload.lua); here is their order, and when. Private to
// src/script.
#pragma once

#include "script/host.h"

enum {
  RELOAD_RETRY_MS = 40,       // until files that are being written are read again
  RELOAD_PATIENCE_MS = 3000,  // for which that goes on
  RELOAD_SETTLE_MS = 5000,    // for which the version before can come back
};

/// What an EVENT_RELOAD is for, in `b`; `a` is who asked.
typedef enum ReloadCause {
  RELOAD_ASKED,    // by somebody
  RELOAD_CHANGED,  // a file seems to have changed
  RELOAD_AGAIN,    // the one that waits is to go on
  RELOAD_BACK,     // the live version fails too often
  RELOAD_SETTLED,  // the live version's first seconds are over
} ReloadCause;

typedef struct Reload {
  Host *host;
  bool is_waiting;      // it has begun, and is to go on
  bool is_asked;        // it is wanted even if nothing has changed
  uint64_t waiting_ms;  // since when files are being written; 0: none are
  Buf askers;           // u32 each, who wait for its end
  Timer retry, settle;
} Reload;

void reload_init(Reload *reload, Host *host);
void reload_deinit(Reload *reload);

/// Handles an EVENT_RELOAD.
void reload_handle(Reload *reload, const Event *event);
