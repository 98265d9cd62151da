// The module perigee.sim of the tool interpreter: simulated servers, their clients and
// their clock, for tests of games. The servers themselves are the layer above's, which
// hands them down as a table of functions.
#pragma once

#include "base/buf.h"
#include "base/log.h"
#include "net/net.h"
#include "script/script.h"

typedef struct SimServer SimServer;

/// A file that replaces one on the disk. The path is the loader's, or the part of
/// it from the game's folder on.
typedef struct SimFile {
  const char *path;
  const char *text;
  size_t size;
} SimFile;

typedef struct SimOptions {
  const char
      *game;  // as in ScriptOptions; with files it may be NULL: there are no others
  const char *lua_path;
  uint64_t seed;
  const char *const *config;  // names and values by turns, ended by NULL
  const char *const *env;     // likewise; NULL: the process's environment
  const SimFile *files;
  size_t file_count;
  bool hides_files;  // those that nothing may show (wire/ignore.h) are not read
  bool is_shuffled;  // see ScriptOptions
  bool is_echoed;    // log lines also go to standard error
} SimOptions;

/// A line of the log, as LogSink gets it.
typedef struct SimLine {
  LogLevel level;
  uint64_t at_ms;  // as net_now_ms
  char *text;
  size_t size;
} SimLine;

typedef struct SimOps {
  /// A server that has loaded its game, unless there is a problem: then it is good for
  /// `problem`, `log` and `close` alone.
  SimServer *(*open)(const SimOptions *options);
  const char *(*problem)(const SimServer *server);
  /// on_start, and serving.
  void (*start)(SimServer *server);
  void (*close)(SimServer *server);
  /// Lines that are logged between the two belong to the server. Calls do not nest.
  void (*enter)(SimServer *server);
  void (*leave)(SimServer *server);
  Net *(*net)(const SimServer *server);
  Script *(*script)(const SimServer *server);
  /// As SIGTERM.
  void (*stop)(SimServer *server);
  /// Reloads now. `files` take the place of all that were given before. Returns whether
  /// it went well; `report` says how.
  bool (*reload)(SimServer *server, const SimFile *files, size_t count, Buf *report);
  /// The lines since the last call; they are forgotten by the next.
  const SimLine *(*log)(SimServer *server, size_t *count);
} SimOps;
