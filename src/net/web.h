// The web part of a port that was opened with FRAMING_SNIFF: HTTP for a game's files
// and a few pages of the server's own, and WebSockets, which are connections like
// others.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "net/net.h"

/// A JavaScript module of the server. Name and text are static.
typedef struct WebModule {
  const char *name;  // such as "perigee.js"
  const char *text;
  size_t size;  // size of the text; 0: the server was built without it
} WebModule;

typedef struct WebOptions {
  const char *name;     // name of the game, for people
  const char *folder;   // folder of the served files; NULL: none
  const char *origins;  // origins of pages, besides the server's own, that may open a
                        // WebSocket; separated by commas; "*": all
  const char *hosts;    // names of the server besides localhost, its addresses and the
                        // names in its certificate; separated by commas; "*": all
  const WebModule *modules;  // modules that pages import, ended by an entry without a
                             // name; may be NULL
  bool is_watched;  // the files are being edited, so browsers check for changes before
                    // each use
} WebOptions;

typedef struct WebStats {
  uint64_t requests;
  uint64_t refused;   // requests refused because of the other side or a limit
  uint64_t upgraded;  // requests that became WebSockets
  uint64_t stalled;   // answers that the client did not read in time
} WebStats;

/// Applies a copy of new options.
void net_set_web(Net *net, const WebOptions *options);

/// Returns the counters of HTTP.
WebStats net_web_stats(const Net *net);

/// Sets a copy of the text of /schema.js. Without it, that module reports that no
/// schema exists.
void net_set_schema(Net *net, const char *text, size_t size);
