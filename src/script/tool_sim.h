// The module perigee.sim of the tool interpreter: simulated servers, their clients and
// their clock, for tests of games. The layer above implements the servers and passes
// their functions as a table.
#pragma once

#include "base/buf.h"
#include "base/log.h"
#include "net/net.h"
#include "script/script.h"

typedef struct SimServer SimServer;

/// A file that replaces a file on the disk. `path` is the path that the loader uses, or
/// the part of that path behind the game's folder.
typedef struct SimFile {
  const char *path;
  const char *text;
  size_t size;
} SimFile;

typedef struct SimOptions {
  const char *game;  // as in ScriptOptions; may be NULL if `files` contains all files
  const char *lua_path;
  uint64_t seed;
  const char *const *config;  // names and values, alternating, ended by NULL
  const char *const *env;     // names and values like `config`; NULL: the process's
                              // environment
  const SimFile *files;
  size_t file_count;
  bool hides_files;  // whether the server lacks the files that wire/ignore.h hides
  bool is_shuffled;  // see ScriptOptions.is_shuffled
  bool is_echoed;    // whether log lines also go to standard error
} SimOptions;

/// A line of the log, with the arguments of LogSink.
typedef struct SimLine {
  LogLevel level;
  uint64_t at_ms;  // time by net_now_ms
  char *text;
  size_t size;
} SimLine;

typedef struct SimOps {
  /// Returns a server that has loaded its game. If `problem` then returns a text, only
  /// `log` and `close` may follow.
  SimServer *(*open)(const SimOptions *options);
  const char *(*problem)(const SimServer *server);
  /// Calls on_start and begins to serve.
  void (*start)(SimServer *server);
  void (*close)(SimServer *server);
  /// Make log lines between the two calls belong to the server. Calls do not nest.
  void (*enter)(SimServer *server);
  void (*leave)(SimServer *server);
  Net *(*net)(const SimServer *server);
  Script *(*script)(const SimServer *server);
  /// Stops the server as SIGTERM does.
  void (*stop)(SimServer *server);
  /// Ends the server. Only `restart`, `log` and `close` may follow. The store keeps what
  /// it has committed; without a crash, everything.
  void (*end)(SimServer *server, bool is_crash);
  /// Makes a server that has ended load its game again, at the time by net_now_ms, with
  /// `files` instead of all earlier files. `start` follows, or `problem` returns a text.
  void (*restart)(SimServer *server, const SimFile *files, size_t count,
                  uint64_t now_ms);
  /// Reloads now, with `files` instead of all earlier files. Appends the report to
  /// `report`. Returns whether the reload succeeded.
  bool (*reload)(SimServer *server, const SimFile *files, size_t count, Buf *report);
  /// Returns the lines since the last call. They are valid until the next call.
  const SimLine *(*log)(SimServer *server, size_t *count);
} SimOps;
