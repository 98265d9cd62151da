// A file of SQLite as a whole: opening it, its owner, its lock, its check and its backup.
#pragma once

#include <sqlite3.h>

#include "store/backend.h"

/// A database that is open, with its lock.
typedef struct SqliteFile {
  sqlite3 *db;
  int lock;  // descriptor of `PATH-lock`; -1: not locked
} SqliteFile;

/// Opens a file and checks that it belongs to perigee. BACKEND_SERVE creates the file and
/// its folder if they do not exist, and locks `PATH-lock` so that one process at a time
/// serves it.
StoreCode sqlite_file_open(SqliteFile *file, const char *path, BackendUse use,
                           StoreFault *fault);

/// Closes the file. Allowed for one that sqlite_file_open could not open.
void sqlite_file_close(SqliteFile *file);

/// Reports one thing that is wrong in a file, as a sentence without full stop.
typedef void SqliteFinding(void *data, const char *text);

/// Checks a file: its pages, and that each value of each collection is JSON. Returns
/// STORE_OK if it could be read; findings are not failures.
StoreCode sqlite_file_check(const char *path, SqliteFinding *on_finding, void *data,
                            StoreFault *fault);

/// Copies a file while a server may write to it. `target` appears complete or not at all.
StoreCode sqlite_file_backup(const char *path, const char *target, StoreFault *fault);
