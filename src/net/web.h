// The web part of a port that was opened with FRAMING_SNIFF: HTTP for a game's files and
// a few pages of the server's own, and WebSockets, which are connections like others.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "net/net.h"

/// A JavaScript module of the server's own. Name and text are static.
typedef struct WebModule {
  const char *name;  // "perigee.js"
  const char *text;
  size_t size;  // 0: the server was built without it
} WebModule;

typedef struct WebOptions {
  const char *name;     // of what is served, for people
  const char *folder;   // whose files are served; NULL: none
  const char *origins;  // of pages that may open a WebSocket besides the server's own,
                        // separated by commas; "*": all
  const char *hosts;  // names by which the server may be called besides localhost, its
                      // addresses and those in its certificate, separated by commas;
                      // "*": all
  const WebModule *modules;  // that pages import; NULL: none; behind the last is one
                             // without a name
  bool is_watched;           // files are being edited: nothing is kept without asking
} WebOptions;

typedef struct WebStats {
  uint64_t requests;
  uint64_t refused;   // of them, for a fault of the other side or for want of room
  uint64_t upgraded;  // to WebSockets
  uint64_t stalled;   // answers that were not taken in time
} WebStats;

/// Takes new options into use, which are copied.
void net_set_web(Net *net, const WebOptions *options);

WebStats net_web_stats(const Net *net);

/// Sets the text of /schema.js, which is copied; without one a module is served that says
/// that there is no schema.
void net_set_schema(Net *net, const char *text, size_t size);
