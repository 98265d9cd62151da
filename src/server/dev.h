// For whoever makes a game: what is wrong with it is shown in the pages that are open,
// and a change of their own files reaches them. Nothing of this happens with --prod.
#pragma once

#include "script/script.h"
#include "session/session.h"

typedef struct Dev Dev;

/// `public` is the folder of the pages, which need not be there; NULL: there is none.
/// Net and session are not owned. Nothing is told before dev_set.
Dev *dev_open(Net *net, Session *session, const char *public);

/// Whether somebody is making the game, as `watch` says.
void dev_set(Dev *dev, bool is_on);

/// A reload has ended, well or not.
void dev_reloaded(Dev *dev, const ScriptOutcome *outcome);

/// A handler has failed.
void dev_failed(Dev *dev, const char *text);

/// NULL is allowed.
void dev_close(Dev *dev);
