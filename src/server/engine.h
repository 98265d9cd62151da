// A server without its surroundings: the layers, wired, and the script on top of them;
// configuration, iterations, reload, stop. What it is served with is the owner's:
// sockets, signals and files that are watched in server.c, a test in sim_server.c.
#pragma once

#include "script/script.h"
#include "server/config.h"

typedef enum EngineState {
  ENGINE_STARTING,
  ENGINE_LIVE,
  ENGINE_STOPPING,  // on_stop comes in the next drain
  ENGINE_LEAVING,   // what it sent goes out, then all peers get CLOSING
  ENGINE_STOPPED,
} EngineState;

/// What the engine reports to its owner; any may be NULL. `data` is of the options.
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
  Config next;    // while a script reports its own
  ConfigError error;
  Net *net;
  Session *session;
  Relay *relay;
  Script *script;
  bool is_held;         // see engine_hold
  uint64_t stopped_us;  // when it was asked to stop, by net_real_us
} Engine;

/// Builds the layers.
void engine_init(Engine *engine, const EngineOptions *options);
void engine_deinit(Engine *engine);

/// The log's level and format.
void engine_set_log(const Config *config);

/// Loads the game, or makes the lobby of a plain relay. Returns NULL, or what was wrong.
const char *engine_load(Engine *engine);

/// From now on it serves; on_start is run.
void engine_start(Engine *engine);

/// Handles events for a slice of an iteration.
void engine_drain(Engine *engine);

/// Holds events back while the owner has no room for them; not those of the end.
void engine_hold(Engine *engine, bool is_on);

/// Requests a reload; `asked` comes back in `reloaded`. A forced one ignores the
/// findings of a check of the game. Returns NULL, or why no reload follows.
const char *engine_reload(Engine *engine, uint32_t asked, bool is_forced);

/// The same, if a file of the game is not what it was at the last one.
void engine_refresh(Engine *engine);

/// Begins to stop: on_stop, then CLOSING to all peers, then net_stop, over the next
/// iterations.
void engine_stop(Engine *engine, const char *signal);

/// What the end of the last connections still has to tell the script, and the figures.
void engine_finish(Engine *engine);
