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
  const char *name;     // the game's, for people
  const char *folder;   // of the files to serve; NULL: none
  const char *origins;  // of pages that may open a WebSocket besides the server's own,
                        // separated by commas; "*": all
  const char
      *hosts;  // names of the server besides localhost, its addresses and those in
               // its certificate, separated by commas; "*": all
  const WebModule *modules;  // that pages import, ended by one without a name; or NULL
  bool is_watched;           // files are being edited: browsers ask before each use
} WebOptions;

typedef struct WebStats {
  uint64_t requests;
  uint64_t refused;   // of these, for a fault of the other side or for want of room
  uint64_t upgraded;  // of these, to WebSockets
  uint64_t stalled;   // answers that the client did not read in time
} WebStats;

/// Takes a copy of new options into use.
void net_set_web(Net *net, const WebOptions *options);

/// Returns the counters of HTTP.
WebStats net_web_stats(const Net *net);

/// Sets the text of /schema.js, copied. Until then that module says that there is no schema.
void net_set_schema(Net *net, const char *text, size_t size);
