// Helps the designer of a game: open pages show the game's errors. They reload their
// own files when these files change. With --prod, this module does nothing.
#pragma once

#include "script/script.h"
#include "session/session.h"

typedef struct Dev Dev;

/// Creates the state. `public` is the folder of the pages, which need not exist; NULL:
/// the game has none. Net and session are not owned. Nothing is reported to pages
/// before dev_set.
Dev *dev_open(Net *net, Session *session, const char *public);

/// Switches the watch on or off.
void dev_set(Dev *dev, bool is_on);

/// Reports the end of a reload to pages.
void dev_reloaded(Dev *dev, const ScriptOutcome *outcome);

/// Reports to pages that a handler has failed.
void dev_failed(Dev *dev, const char *text);

/// Frees the state; NULL is allowed.
void dev_close(Dev *dev);
