// Checks the path of a game, and derives the game's name from it.
#pragma once

enum { GAME_NAME_SIZE = 65 };

/// Checks that `path` is a folder with a game.lua, or a .lua file. Returns NULL or a
/// static error text.
const char *game_check(const char *path);

/// Writes the name of a game: the name of its folder, or the name of its file if that
/// is not game.lua. Without a game (NULL), writes `relay`.
void game_name(char name[GAME_NAME_SIZE], const char *path);
