// A game's script, live: loaded, driven by the relay's events, exchanged at run time.
// With tool.h the only door to Lua; no lua.h is needed to use it.
//
// The script is entered from script_load and script_handle alone. Everything it does
// reaches the relay as commands, which are carried out when a handler ends well or
// waits, and forgotten when it fails.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "net/admin.h"
#include "net/net.h"
#include "relay/relay.h"

typedef struct Host Script;

typedef enum ScriptValueType {
  SCRIPT_TEXT,
  SCRIPT_NUMBER,
  SCRIPT_SWITCH,
  SCRIPT_TEXTS,  // a list of texts
  SCRIPT_OTHER,
} ScriptValueType;

/// A value in game.config.
typedef struct ScriptValue {
  ScriptValueType type;
  const char *text;  // TEXT; TEXTS: joined by commas; OTHER: what it is ("a table")
  double number;     // NUMBER; SWITCH: 0 or 1
} ScriptValue;

/// How a reload went.
typedef struct ScriptOutcome {
  bool is_good;
  uint32_t token;      // `token` of script_reload
  const char *report;  // what changed, or what was wrong; a line, or several
} ScriptOutcome;

/// The schema of a game's messages.
typedef struct ScriptSchema {
  const uint64_t *hashes;  // protocol hashes that clients may have, the newest first
  uint32_t count;          // of these, at most SESSION_HASHES; 0: there is no schema
  Text module;             // JavaScript that encodes and decodes them
} ScriptSchema;

/// Reports of the script to its owner. `data` is that of script_new. Called from
/// within script_load and script_handle.
typedef struct ScriptEvents {
  /// All entries of game.config follow. They replace those of an earlier version if this
  /// version is taken.
  void (*config_begin)(void *data);
  /// One entry. Returns NULL, or one sentence on what is wrong, valid until the next
  /// call.
  const char *(*config_set)(void *data, const char *key, const ScriptValue *value);
  /// Applies the entries. Not called for a version that is not taken.
  void (*config_take)(void *data);
  /// A reload has ended, well or not. script_files may have changed.
  void (*reloaded)(void *data, const ScriptOutcome *outcome);
  /// A handler has failed; what, where and how, in several lines.
  void (*failed)(void *data, const char *text);
  /// The game wants the server to stop.
  void (*stop)(void *data, const char *reason);
  /// A version of the game has been taken into use, and this is its schema.
  void (*schema)(void *data, const ScriptSchema *schema);
} ScriptEvents;

/// Appends what is in a file of the game. Returns 0 or an error, as file_read does.
typedef int ScriptRead(void *data, const char *path, Buf *bytes);

/// Returns the value of an environment variable, or NULL when it is not set.
typedef const char *ScriptEnv(void *data, const char *name);

/// Limits of handlers. They may change at any time.
typedef struct ScriptLimits {
  uint64_t handler_us;       // time of one call of a handler
  size_t memory;             // bytes of the Lua heap
  uint32_t rollback_errors;  // in the seconds after a reload that undo it; 0: no number
  bool may_write;            // MCP tools of the host's own may change something
  bool shows_source;         // MCP shows the game's files, also without a token
  const char *mcp_tools;     // that may be used; not owned, valid until the next limits
  bool drops_invalid;     // messages that do not fit the schema, and not their sender
  bool may_break_schema;  // a reload may change messages that clients know
  bool is_watched;        // somebody works on the game: files that change are loaded
} ScriptLimits;

typedef struct ScriptOptions {
  const char *game;  // folder with a game.lua, or a .lua file; NULL: no script at all
  const char *lua_path;  // folder that holds perigee/*.lua; NULL: what is compiled in
  bool has_no_jit;       // scripts are interpreted only
  bool has_check;        // a reload has `perigee check` read the files first
  ScriptRead *read;      // NULL: from the disk
  ScriptEnv *env;        // NULL: the process's environment
  void *data;            // of read and env; not owned
  // In a simulation, have pairs go through keys in random orders instead of a fixed one.
  bool is_shuffled;
} ScriptOptions;

/// Relay and net are not owned and must outlive it. Never NULL; what could not be made
/// is reported by script_load.
Script *script_new(const ScriptOptions *options, Relay *relay, Net *net,
                   const ScriptEvents *events, void *data);
void script_free(Script *script);

/// Takes new limits into use; to be called once before script_load.
void script_set_limits(Script *script, const ScriptLimits *limits);

/// Logs the handlers with the worst calls.
void script_log_costs(const Script *script);

/// Returns whether so much of the Lua heap can be collected that the next iteration should
/// begin at once.
bool script_has_work(const Script *script);

/// The first load: runs the game's top level, reports its configuration, sets the relay's
/// kinds. Returns NULL, or what was wrong, with file and line; valid until script_free.
const char *script_load(Script *script);

/// Runs on_start in the next drain.
void script_start(Script *script);

/// Runs on_stop in the next drain; `why` is the signal.
void script_stop(Script *script, const char *why);

/// Ends all ticks and timers, because the server has stopped.
void script_set_over(Script *script);

/// Returns how many events were handed to the script.
uint64_t script_handlers(const Script *script);

/// Has the script answer the admin listener's MCP requests.
void script_serve_mcp(Script *script);

/// Whether a game has been loaded.
bool script_is_loaded(const Script *script);

/// Before the first event of a drain, and after its last one.
void script_begin_drain(Script *script);
void script_end_drain(Script *script);

/// Has the script handle an event that relay_next_event has given.
void script_handle(Script *script, const Event *event);

/// Asks for a reload, which begins in the next drain. `token` comes back in `reloaded`.
/// A forced one takes place whatever a check of the files finds.
void script_reload(Script *script, uint32_t token, bool is_forced);

/// Asks for a reload if a file of the game holds something else than it did at the last
/// one, good or bad.
void script_refresh(Script *script);

/// The files that the game consists of, with those a failed attempt wanted. Ended by
/// NULL; valid until the next load or drain.
const char *const *script_files(const Script *script, size_t *count);
