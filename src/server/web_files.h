// A game's pages for browsers.
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "server/config.h"

/// Makes net serve the folder `public` beside game.lua, and applies the settings for
/// the pages that may connect. `game` is a folder, a file or NULL.
void web_files_apply(Net *net, const Config *config, const char *game);

/// Writes the path of the folder `public`, which need not exist. Returns false if the
/// game cannot have one.
bool web_files_folder(const char *game, char folder[PATH_MAX]);
