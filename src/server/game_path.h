// Where a game lies and what it is called.
#pragma once

enum { GAME_NAME_SIZE = 65 };

/// Whether `path` is a folder with a game.lua or a .lua file: NULL, or what is wrong.
/// Static.
const char *game_check(const char *path);

/// The name of a game's folder, or of its file when that is not game.lua; `relay` for
/// NULL.
void game_name(char name[GAME_NAME_SIZE], const char *path);
