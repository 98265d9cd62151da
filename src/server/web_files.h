// What a game shows to browsers.
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "server/config.h"

/// Hands net what the settings and the game say of the web: the folder `public` beside
/// game.lua, and who may connect from where. `game` is a folder, a file or NULL.
void web_files_apply(Net *net, const Config *config, const char *game);

/// Writes the path of that folder, which need not be there. False when it has none.
bool web_files_folder(const char *game, char folder[PATH_MAX]);
