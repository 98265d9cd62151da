// A game's script: loads it, passes the relay's events to it, and replaces it at run
// time. Upper layers reach Lua only through this header and tool.h, which do not use
// lua.h.
//
// The game's handlers run only in script_load and script_handle. The one exception is
// on_accept, which the relay calls for a new connection. The script acts through
// commands of the relay. The relay carries them out when a handler ends or waits, and
// discards them when the handler fails.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "net/admin.h"
#include "net/net.h"
#include "relay/relay.h"

typedef struct Host Script;
typedef struct Backend Backend;

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
  const char *text;  // text of TEXT, texts of TEXTS joined by commas, type of OTHER ("a
                     // table")
  double number;     // value of NUMBER; 0 or 1 for SWITCH
} ScriptValue;

/// The outcome of a reload.
typedef struct ScriptOutcome {
  bool is_good;
  uint32_t token;      // argument of script_reload
  const char *report;  // changes or errors, in one or several lines
} ScriptOutcome;

/// The schema of a game's messages, for other layers.
typedef struct ScriptSchema {
  const uint64_t *hashes;  // protocol hashes that clients may have, the newest first
  uint32_t count;          // number of hashes, at most SESSION_HASHES; 0: no schema
  Text module;             // JavaScript that encodes and decodes the messages
} ScriptSchema;

/// The settings of the store.
typedef struct ScriptStore {
  const char *place;    // place; "": none; not owned
  uint32_t delay_ms;    // longest time between a write and its commit
  uint32_t timeout_ms;  // longest time that a call waits for the store
  size_t cache;         // bytes of documents in the cache
  double save_s;        // time in which all durable data are saved once
  uint32_t version;     // version of the game's states, from its configuration
  bool is_durable;      // whether perigee.state survives the process
  bool has_accounts;    // whether clients can sign in, which needs a store
} ScriptStore;

/// Callbacks to the owner, called within script_load and script_handle. `data` is the
/// argument of script_new.
typedef struct ScriptEvents {
  /// Begins the entries of game.config. If config_take follows, they replace the
  /// entries of the previous version.
  void (*config_begin)(void *data);
  /// Sets one entry. Returns NULL, or an error in one sentence, which is valid until
  /// the next call.
  const char *(*config_set)(void *data, const char *key, const ScriptValue *value);
  /// Returns the setting `protocol` with the entries so far; valid until the next call.
  const char *(*config_protocol)(void *data);
  /// Returns the settings of the store with the entries so far; valid until the next
  /// call.
  ScriptStore (*config_store)(void *data);
  /// Applies the entries. Not called for a version that does not become live.
  void (*config_take)(void *data);
  /// Reports the end of a reload. script_files may have changed.
  void (*reloaded)(void *data, const ScriptOutcome *outcome);
  /// Reports a failed handler, with error and traceback in several lines.
  void (*failed)(void *data, const char *text);
  /// Requests a stop of the server on behalf of the game.
  void (*stop)(void *data, const char *reason);
  /// Reports the schema of a version that has become live.
  void (*schema)(void *data, const ScriptSchema *schema);
} ScriptEvents;

/// Appends the content of a file of the game. Returns 0 or an error, like file_read.
typedef int ScriptRead(void *data, const char *path, Buf *bytes);

/// Returns the value of an environment variable, or NULL when it is not set.
typedef const char *ScriptEnv(void *data, const char *name);

/// Limits and settings of scripts. They may change at any time.
typedef struct ScriptLimits {
  uint64_t handler_us;       // time limit of one call of a handler
  size_t memory;             // limit of the Lua heap in bytes
  uint32_t rollback_errors;  // errors that roll a reload back during its rollback
                             // window; 0: any number is allowed
  bool may_write;            // whether MCP tools of the host may change the server
  bool shows_source;         // whether MCP shows the game's files without a token, too
  const char *http_hosts;    // hosts of the game's requests, comma-separated; not owned
  size_t http_max_bytes;     // most bytes of the body of an answer of these hosts
  bool has_accounts;         // whether clients can sign in
  bool needs_account;        // whether the server refuses others
  uint32_t accounts_per_minute;  // new accounts of one network; 0: no limit
  uint32_t account_token_days;   // days that a token of an account is valid
  const char *jwt_issuer;        // `iss` of JWTs; not owned, like the next two
  const char *jwt_audience;      // `aud` of JWTs
  const char *jwt_keys;          // file with the issuer's keys; "": no JWTs
  const char *mcp_tools;  // usable MCP tools; not owned; valid until the next limits
  bool drops_invalid;     // whether the sender of an invalid message stays connected
  bool may_break_schema;  // whether a reload may change messages that clients know
  bool is_watched;        // whether the game is reloaded when its files change
} ScriptLimits;

typedef struct ScriptOptions {
  const char *game;      // folder with a game.lua, or a .lua file; NULL: no script
  const char *lua_path;  // folder with perigee/*.lua; NULL: the bundle in the binary
  bool has_no_jit;       // whether scripts are only interpreted
  bool has_check;        // whether `perigee check` examines the files before a reload
  ScriptRead *read;      // reads a file; NULL: from the disk
  ScriptEnv *env;        // reads an environment variable; NULL: of the process
  void *data;            // argument of read and env; not owned
  // Whether pairs visits keys in random orders instead of a fixed one; only in a
  // simulation.
  bool is_shuffled;
  Backend
      *backend;  // in a simulation, the documents of an earlier process; owned by the
                 // script when its store is open
} ScriptOptions;

/// Creates a script. Relay and net are not owned and must outlive the script.
/// script_load reports errors.
Script *script_new(const ScriptOptions *options, Relay *relay, Net *net,
                   const ScriptEvents *events, void *data);
void script_free(Script *script);

/// Sets new limits. Must be called once before script_load.
void script_set_limits(Script *script, const ScriptLimits *limits);

/// Logs the handlers with the longest calls.
void script_log_costs(const Script *script);

/// Returns whether the Lua heap needs much work, such as garbage collection. If so, the
/// loop's next iteration should begin at once.
bool script_has_work(const Script *script);

/// Loads the game for the first time: runs its top level, reports its configuration,
/// sets the relay's kinds. Returns NULL, or an error with file and line, valid until
/// script_free.
const char *script_load(Script *script);

/// Makes the next drain run on_start.
void script_start(Script *script);

/// Makes the next drain run on_stop.
void script_stop(Script *script, const char *reason);

/// Saves all data that survive the process. Must be the last save.
void script_save(Script *script);

/// Ends all ticks and timers, because the server has stopped.
void script_set_over(Script *script);

/// Writes everything to the store and ends it, after the last handler. May take
/// STORE_STOP_MS. Returns whether nothing is lost.
bool script_end_store(Script *script);

/// Ends the store in a simulation and returns its documents, or does what a crash does;
/// see host_store_take.
Backend *script_take_store(Script *script, bool is_crash);

/// Returns the number of events passed to the script.
uint64_t script_handlers(const Script *script);

/// Passes the requests of the admin listener to MCP and to the console to the script.
void script_serve_admin(Script *script);

/// Makes the script answer a page of the dashboard on its stream `conn`. `view`: name of
/// the view, a line end, and the name of what the page shows.
void script_show(Script *script, ConnId conn, Text view);

/// Returns whether a game has been loaded.
bool script_is_loaded(const Script *script);

/// Begin and end a drain. script_begin_drain comes before its first event, with the
/// time of net_clock_us, script_end_drain after its last one.
void script_begin_drain(Script *script, uint64_t now_us);
void script_end_drain(Script *script);

/// Handles an event of relay_next_event.
void script_handle(Script *script, const Event *event);

/// Requests a reload, which begins in the next drain. The event `reloaded` returns the
/// token. A forced reload ignores the result of the check of the files.
void script_reload(Script *script, uint32_t token, bool is_forced);

/// Requests a reload if a file of the game has changed since the last reload. That
/// reload may have failed.
void script_refresh(Script *script);

/// Begins a profile of the script: of its time, or of the bytes that it allocates.
/// Returns false if a profile is running.
bool script_profile_begin(Script *script, uint32_t seconds, bool is_memory);

/// Appends the last profile, which may be running, as JSON; with `ends`, ends it and
/// forgets it. Returns false if there is none.
bool script_profile_put(Script *script, bool ends, Buf *json);

/// Returns the files of the game and of the last failed load, ended by NULL; valid
/// until the next load or drain.
const char *const *script_files(const Script *script, size_t *count);
