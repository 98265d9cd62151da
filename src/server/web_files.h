// Pages of a game for browsers.
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "server/config.h"

/// Applies to net the folder `public` beside game.lua, and the settings about which pages may
/// connect. `game` is a folder, a file or NULL.
void web_files_apply(Net *net, const Config *config, const char *game);

/// Writes the path of that folder, which need not exist. Returns false for a game without one.
bool web_files_folder(const char *game, char folder[PATH_MAX]);
