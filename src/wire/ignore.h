// Files of a game that are never served: those that .perigeeignore names, and those
// whose names begin with a dot.
#pragma once

#include <stdbool.h>

#include "wire/reader.h"

/// The file with the rules, in the game's folder.
#define IGNORE_FILE ".perigeeignore"

/// Returns whether the rules hide the file at `path`, relative to the game's folder.
/// `rules` is the text of IGNORE_FILE. The path of a folder ends with a slash.
bool ignore_has(Text rules, const char *path);
