// Which files of a game nothing may serve: those that its .perigeeignore names, and those
// whose names begin with a dot.
#pragma once

#include <stdbool.h>

#include "wire/reader.h"

/// The file of the rules, in the game's folder.
#define IGNORE_FILE ".perigeeignore"

/// Returns whether the rules hide the file at `path`, which counts from the game's
/// folder. `rules` is the text of its IGNORE_FILE. A folder's path ends with a slash.
bool ignore_has(Text rules, const char *path);
