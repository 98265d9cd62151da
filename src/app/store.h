// The command `perigee store`: export, import, backup and check of a store, without a
// server.
#pragma once

#include <stddef.h>

/// Writes the path of a store's place, which is relative to the folder of `game` (NULL:
/// the working directory).
void store_place(char *path, size_t size, const char *game, const char *place);

/// These functions get the store's place, print their errors, and return the exit code.
int store_export(const char *place, const char *path);
int store_import(const char *place, const char *path);
int store_backup(const char *place, const char *path);
int store_check(const char *place);
