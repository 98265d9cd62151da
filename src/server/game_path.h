// Checks the path of a game, and makes its name of it.
#pragma once

enum { GAME_NAME_SIZE = 65 };

/// Checks that `path` is a folder with a game.lua, or a .lua file. Returns NULL or the error,
/// which is static.
const char *game_check(const char *path);

/// Writes the name of a game's folder, or of its file when that is not game.lua; `relay` for
/// NULL.
void game_name(char name[GAME_NAME_SIZE], const char *path);
