// The surroundings of an engine: sockets to listen on, TLS and watched files; for the program
// `perigee` also signals and the control socket. It prints nothing: that is its caller's.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/log_ring.h"
#include "net/tls.h"
#include "os/control.h"
#include "server/admin.h"
#include "server/engine.h"

typedef struct Dev Dev;
typedef struct Signals Signals;
typedef struct Watch Watch;
typedef struct Server Server;

typedef struct ServerOptions {
  const char *game;      // folder or .lua file; NULL: a relay with one room, `lobby`
  const char *lua_path;  // see ScriptOptions
  bool has_no_jit;
  bool has_dev_tls;  // TLS with a certificate made for this run
  bool is_program;   // this process is `perigee`: it answers signals and the control
                     // socket, and starts itself to check a game
  const Config *config;  // defaults, environment and flags; the game's own is added
  /// Reports that the layers are built, before anything else happens.
  void (*built)(void *data, Server *server);
  /// See EngineEvents.
  void (*event)(void *data, const Event *event);
  /// Reports that the server begins to stop.
  void (*stopping)(void *data, const char *reason);
  /// Reports that the layers are about to be freed.
  void (*closing)(void *data);
  const AdminEvents *api;  // handles the control API, with `data`
  /// Handles a line of the control socket, which control_reply answers.
  void (*request)(void *data, ControlToken token, const char *line);
  /// Reports the end of a reload that server_reload has requested.
  void (*reloaded)(void *data, uint32_t token, bool is_good, const char *report);
  void *data;  // of these
} ServerOptions;

struct Server {
  EngineEvents events;
  Engine engine;
  ServerOptions options;                   // its strings are owned; without the config
  char fingerprint[TLS_FINGERPRINT_SIZE];  // of the certificate made for this run
  uint32_t checked_clients;  // max_clients when last compared with the descriptors
  uint16_t port, text_port;
  AdminStart admin;
  Signals *signals;  // NULL: it answers none
  Control *control;  // NULL: it has no control socket
  Watch *watch;      // NULL without a game
  Dev *dev;          // NULL without a game
  LogRing log_ring;  // the newest lines, for MCP tools
  char *problem;     // buffer for the reason why it cannot start; only while it starts
  size_t problem_size;
};

/// Loads the game, listens and starts. Logs to the Log that the thread uses, which must be the
/// same whenever the loop runs. Returns NULL with a sentence, or several lines, in `problem`.
Server *server_open(const ServerOptions *options, char *problem, size_t size);

/// Reloads game and certificate; `token` comes back in `reloaded`, also if there is nothing
/// to reload. A forced reload ignores the findings of a check of the game.
void server_reload(Server *server, uint32_t token, bool is_forced);

/// Begins to stop over the next iterations. A second call does nothing.
void server_stop(Server *server, const char *reason);

/// Handles the last connections' ends and logs the counters, after the loop's end.
void server_finish(Server *server);

/// Frees the server and everything of it that still runs.
void server_close(Server *server);
