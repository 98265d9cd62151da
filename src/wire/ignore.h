// Files of a game that are never served: files that .perigeeignore names, and files
// with a dot at the beginning of their name or of a folder's name.
#pragma once

#include <stdbool.h>

#include "wire/reader.h"

/// The file with the rules, in the game's folder.
#define IGNORE_FILE ".perigeeignore"

/// Returns whether the rules hide the file at `path`, relative to the game's folder.
/// `rules` is the text of IGNORE_FILE. The path of a folder ends with a slash.
bool ignore_has(Text rules, const char *path);
