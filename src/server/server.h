// One server from start to end: builds the layers in order, wires them, runs, and takes
// everything down again in reverse order.
#pragma once

#include <stdbool.h>

#include "server/config.h"

typedef struct ServerOptions {
  const char *game;  // folder or .lua file; NULL: a plain relay with one room, `lobby`
  const char *lua_path;  // see ScriptOptions
  bool has_no_jit;
  bool has_dev_tls;      // with a certificate made for this run
  const Config *config;  // defaults, environment and flags; the game's own is added
} ServerOptions;

/// Serves until SIGINT or SIGTERM. Returns the exit code; what went wrong was said on
/// stderr.
int server_run(const ServerOptions *options);
