// A server without its surroundings. It connects the layers, with the script on top,
// and handles configuration, iterations, reload and stop. Its owner adds the
// surroundings: sockets, signals and watched files (server.c), or a test
// (sim_server.c).
#pragma once

#include "script/script.h"
#include "server/config.h"

typedef enum EngineState {
  ENGINE_STARTING,
  ENGINE_LIVE,
  ENGINE_STOPPING,  // on_stop runs in the next drain
  ENGINE_LEAVING,   // the messages of on_stop leave; then all peers get CLOSING
  ENGINE_STOPPED,
} EngineState;

/// Reports of the engine to its owner. Each function may be NULL. `data` is the field
/// of the options.
typedef struct EngineEvents {
  /// Reports that `config` has taken effect.
  void (*configured)(void *data, const Config *config);
  /// See ScriptEvents.
  void (*reloaded)(void *data, const ScriptOutcome *outcome);
  void (*failed)(void *data, const char *text);
  void (*stop)(void *data, const char *reason);
  /// Handles an event of the relay that the program wants. The owner may call
  /// script_handle for the event, because the engine does not call it.
  void (*event)(void *data, const Event *event);
  /// Reports that all peers have been notified of the stop; net stops now.
  void (*leaving)(void *data);
} EngineEvents;

typedef struct EngineOptions {
  ScriptOptions script;
  const Config *config;  // defaults, environment and flags; the engine adds game.config
  const uint64_t *seed;  // seed of a simulated net; NULL: the net is real
  const EngineEvents *events;
  void *data;
} EngineOptions;

typedef struct Engine {
  EngineState state;
  EngineOptions options;
  Config config;  // the configuration in effect
  Config next;    // the configuration that a loading script is building
  ConfigError error;
  Net *net;
  Session *session;
  Relay *relay;
  Script *script;
  bool is_held;         // engine_hold is on
  uint64_t started_us;  // time of engine_init, from net_real_us
  uint64_t stopped_us;  // time of engine_stop, from net_real_us
  bool has_lost;        // the store could not commit the last writes
} Engine;

/// Creates the layers.
void engine_init(Engine *engine, const EngineOptions *options);
void engine_deinit(Engine *engine);

/// Sets the log's level and format.
void engine_set_log(const Config *config);

/// Loads the game, or creates the lobby of a relay without one. Returns NULL or the error.
const char *engine_load(Engine *engine);

/// Starts to serve, and runs on_start.
void engine_start(Engine *engine);

/// Handles events for one slice of an iteration. `now_us` is net_clock_us.
void engine_drain(Engine *engine, uint64_t now_us);

/// Stops taking events (is_on), because the owner has no space for them, or continues.
/// A stopping server takes events in any case.
void engine_hold(Engine *engine, bool is_on);

/// Requests a reload; the event `reloaded` returns `token`. A forced reload ignores the
/// findings of a check of the game. Returns NULL, or the reason why no reload follows.
const char *engine_reload(Engine *engine, uint32_t token, bool is_forced);

/// Requests a reload if a file of the game has changed since the last one.
void engine_refresh(Engine *engine);

/// Begins to stop; `reason` is for on_stop and the log. In the next iterations on_stop
/// runs, then all peers get CLOSING, then net_stop is called.
void engine_stop(Engine *engine, const char *reason);

/// Handles the ends of the last connections, and logs the counters.
void engine_finish(Engine *engine);
