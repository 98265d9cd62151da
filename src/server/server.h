// The surroundings of an engine: sockets to listen on, TLS and watched files. The
// program `perigee` also has signals and the control socket. This module prints
// nothing, because its caller does.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/labels.h"
#include "base/log_ring.h"
#include "net/tls.h"
#include "os/control.h"
#include "server/admin.h"
#include "server/engine.h"

typedef struct Dashboard Dashboard;
typedef struct Dev Dev;
typedef struct Signals Signals;
typedef struct Watch Watch;
typedef struct Server Server;

typedef struct ServerOptions {
  const char *game;      // folder or .lua file; NULL: a relay with one room, `lobby`
  const char *lua_path;  // see ScriptOptions
  bool has_no_jit;
  bool has_dev_tls;  // use TLS with a certificate made for this run
  bool is_program;   // this process is `perigee`: it handles signals and the control
                     // socket, and starts itself to check a game
  const Config *config;  // defaults, environment and flags; the engine adds game.config
  /// Reports that the layers exist, before anything else happens.
  void (*built)(void *data, Server *server);
  /// See EngineEvents.event.
  void (*event)(void *data, const Event *event);
  /// Reports that the server begins to stop.
  void (*stopping)(void *data, const char *reason);
  /// Reports that the layers are about to be freed.
  void (*closing)(void *data);
  const AdminEvents *api;  // handler of the control API; its data is `data`
  /// Handles a line of the control socket. control_reply answers it.
  void (*request)(void *data, ControlToken token, const char *line);
  /// Reports the end of a reload that server_reload has requested.
  void (*reloaded)(void *data, uint32_t token, bool is_good, const char *report);
  void *data;  // argument of all these functions
} ServerOptions;

struct Server {
  EngineEvents events;
  Engine engine;
  ServerOptions options;  // options with owned strings, without `config`
  char fingerprint[TLS_FINGERPRINT_SIZE];  // fingerprint of the certificate made for
                                           // this run
  uint32_t checked_clients;  // max_clients at the last check of the descriptors
  uint16_t port, text_port;
  AdminStart admin;
  Signals *signals;      // signals; NULL: signals are not handled
  Control *control;      // control socket; NULL: none
  bool has_token_file;   // the token of the console is beside the control socket
  Watch *watch;          // watched files; NULL without a game
  Dev *dev;              // NULL without a game
  Dashboard *dashboard;  // NULL without an admin listener
  Labels kinds;          // kinds of rooms that metrics have shown
  LogRing log_ring;      // newest lines of the log, for MCP tools
  char *problem;  // buffer for the reason why the server cannot start; valid during the
                  // start
  size_t problem_size;
};

/// Loads the game, listens and starts. The log lines go to the Log that the thread
/// uses; every thread that runs the loop must use the same Log. Returns NULL with a
/// sentence, or several lines, in `problem`.
Server *server_open(const ServerOptions *options, char *problem, size_t size);

/// Reloads game and certificate. The event `reloaded` returns `token`, even if nothing
/// can be reloaded. A forced reload ignores the findings of a check of the game.
void server_reload(Server *server, uint32_t token, bool is_forced);

/// Begins to stop, which takes several iterations. A second call does nothing.
void server_stop(Server *server, const char *reason);

/// Handles the ends of the last connections and logs the counters. Call it after the
/// loop has ended.
void server_finish(Server *server);

/// Frees the server and everything that still runs in it.
void server_close(Server *server);
