// The web part of a port that was opened with FRAMING_SNIFF: HTTP for a game's files and
// a few pages of the server's own, and WebSockets, which are connections like others.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "net/net.h"

typedef struct WebOptions {
  const char *name;     // of what is served, for people
  const char *folder;   // whose files are served; NULL: none
  const char *origins;  // of pages that may open a WebSocket besides the server's own,
                        // separated by commas; "*": all
  const char *script;   // the text of /perigee.js; static; NULL: there is none
  size_t script_size;
  bool is_watched;  // files are being edited: nothing is kept without asking
} WebOptions;

/// Takes new options into use; texts are copied, but for the script.
void net_set_web(Net *net, const WebOptions *options);
