// Derives names from the real path, so that `perigee run .` shows the name of the
// folder.
#include "server/game_path.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool has_suffix(const char *text, const char *suffix) {
  size_t size = strlen(text), length = strlen(suffix);
  return size > length && strcmp(text + size - length, suffix) == 0;
}

const char *game_check(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0)
    return "there is no such game; give a folder with a game.lua, or a .lua file";
  if (!S_ISDIR(info.st_mode))
    return has_suffix(path, ".lua")
               ? NULL
               : "a game is a folder with a game.lua, or a .lua file";
  char file[PATH_MAX];
  int size = snprintf(file, sizeof file, "%s/game.lua", path);
  if (size >= (int)sizeof file || stat(file, &info) != 0)
    return "there is no game.lua in this folder; `perigee new NAME` makes a game";
  return NULL;
}

void game_name(char name[GAME_NAME_SIZE], const char *path) {
  char real[PATH_MAX];
  snprintf(name, GAME_NAME_SIZE, "%s", "relay");
  if (path == NULL || realpath(path, real) == NULL) return;
  if (has_suffix(real, "/game.lua"))
    real[strlen(real) - strlen("/game.lua")] = '\0';
  else if (has_suffix(real, ".lua"))
    real[strlen(real) - strlen(".lua")] = '\0';
  snprintf(name, GAME_NAME_SIZE, "%.*s", GAME_NAME_SIZE - 1, strrchr(real, '/') + 1);
}
