// A server without its surroundings: the connected layers with the script on top; its
// configuration, iterations, reload and stop. Its owner adds the surroundings: server.c sockets,
// signals and watched files, sim_server.c a test.
#pragma once

#include "script/script.h"
#include "server/config.h"

typedef enum EngineState {
  ENGINE_STARTING,
  ENGINE_LIVE,
  ENGINE_STOPPING,  // on_stop comes in the next drain
  ENGINE_LEAVING,   // its messages go out, then all peers get CLOSING
  ENGINE_STOPPED,
} EngineState;

/// Reports of the engine to its owner; each may be NULL. `data` is that of the options.
typedef struct EngineEvents {
  /// `config` is in effect from now on.
  void (*configured)(void *data, const Config *config);
  /// See ScriptEvents.
  void (*reloaded)(void *data, const ScriptOutcome *outcome);
  void (*failed)(void *data, const char *text);
  void (*stop)(void *data, const char *reason);
  /// An event of the relay that the program wants, instead of script_handle, which the
  /// owner may call.
  void (*event)(void *data, const Event *event);
  /// All peers have been notified; net stops now.
  void (*leaving)(void *data);
} EngineEvents;

typedef struct EngineOptions {
  ScriptOptions script;
  const Config *config;  // defaults, environment and flags; the game's own is added
  const uint64_t *seed;  // of a simulated net; NULL: the real one
  const EngineEvents *events;
  void *data;
} EngineOptions;

typedef struct Engine {
  EngineState state;
  EngineOptions options;
  Config config;  // in effect
  Config next;    // being built while a script reports its `config`
  ConfigError error;
  Net *net;
  Session *session;
  Relay *relay;
  Script *script;
  bool is_held;         // see engine_hold
  uint64_t stopped_us;  // time of engine_stop, by net_real_us
} Engine;

/// Builds the layers.
void engine_init(Engine *engine, const EngineOptions *options);
void engine_deinit(Engine *engine);

/// Sets the log's level and format.
void engine_set_log(const Config *config);

/// Loads the game, or creates the lobby of a relay without one. Returns NULL or the error.
const char *engine_load(Engine *engine);

/// Begins to serve, and runs on_start.
void engine_start(Engine *engine);

/// Handles events for a slice of an iteration.
void engine_drain(Engine *engine);

/// Holds events back while the owner has no room for them, until the server stops.
void engine_hold(Engine *engine, bool is_on);

/// Requests a reload, whose token comes back in `reloaded`. A forced one ignores the findings
/// of a check of the game. Returns NULL, or why no reload follows.
const char *engine_reload(Engine *engine, uint32_t token, bool is_forced);

/// Requests a reload if a file of the game has changed since the last one.
void engine_refresh(Engine *engine);

/// Begins to stop. Over the next iterations on_stop runs, all peers get CLOSING, and net_stop
/// follows.
void engine_stop(Engine *engine, const char *signal);

/// Handles the events of the last connections' ends, and logs the counters.
void engine_finish(Engine *engine);
