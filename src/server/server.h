// What an engine is served with: sockets to listen on, TLS, files that are watched; for a
// program of its own also signals and the control socket. It prints nothing; whoever runs
// it says what there is to say.
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
  const char *game;  // folder or .lua file; NULL: a plain relay with one room, `lobby`
  const char *lua_path;  // see ScriptOptions
  bool has_no_jit;
  bool has_dev_tls;  // with a certificate made for this run
  bool is_program;   // this process is `perigee`: it answers signals and the control
                     // socket, and starts itself to check a game
  const Config *config;  // defaults, environment and flags; the game's own is added
  /// The layers have been built; nothing has happened yet. NULL: nobody wants to know.
  void (*built)(void *data, Server *server);
  void (*event)(void *data, const Event *event);     // see EngineEvents; NULL: as there
  void (*stopping)(void *data, const char *reason);  // the server begins to stop; NULL
  void (*closing)(void *data);                       // the layers are about to go; NULL
  const AdminEvents
      *api;  // answers the admin listener's API, with `data`; NULL: nobody
  /// A line has come to the control socket, which control_reply answers. Of programs.
  void (*request)(void *data, ControlToken token, const char *line);
  /// A reload that was requested by server_reload has ended.
  void (*reloaded)(void *data, uint32_t asked, bool is_good, const char *report);
  void *data;  // of these
} ServerOptions;

struct Server {
  EngineEvents events;
  Engine engine;
  ServerOptions options;                   // its strings are owned; without the config
  char fingerprint[TLS_FINGERPRINT_SIZE];  // of the certificate that is for this run
  uint32_t checked_clients;  // max_clients that was compared with the descriptors
  uint16_t port, text_port;
  AdminStart admin;
  Signals *signals;  // NULL: none are answered
  Control *control;  // NULL: there is none
  Watch *watch;      // NULL: there is no game
  Dev *dev;          // the same
  LogRing log_ring;  // for tools that ask
  char *problem;  // while it starts: where the reason for a failure goes, and its size
  size_t problem_size;
};

/// Loads the game, listens and starts. Logs to the Log that the thread uses, which has to be
/// the same whenever the loop runs. Returns NULL with one sentence, or several lines, in
/// `problem`.
Server *server_open(const ServerOptions *options, char *problem, size_t size);

/// Reloads game and certificate; `asked` comes back in `reloaded`, also if there is nothing
/// to reload. A forced reload ignores the findings of a check of the game.
void server_reload(Server *server, uint32_t asked, bool is_forced);

/// Begins to stop, over the next iterations; a second call does nothing.
void server_stop(Server *server, const char *reason);

/// After the loop has run to its end: the ends of the last connections, and the figures.
void server_finish(Server *server);

/// Frees it, and what still runs.
void server_close(Server *server);
