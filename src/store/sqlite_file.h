// The file of SQLite as a whole: opening, application id, lock, check and backup.
#pragma once

#include <sqlite3.h>

#include "store/backend.h"

/// An open database with its lock.
typedef struct SqliteFile {
  sqlite3 *db;
  int lock;  // descriptor of `PATH-lock`; -1: not locked
} SqliteFile;

/// Opens a file and checks that it belongs to perigee. With BACKEND_SERVE, creates the
/// file and its folder if they do not exist, and locks `PATH-lock`, so that only one
/// process at a time serves the file.
StoreCode sqlite_file_open(SqliteFile *file, const char *path, BackendUse use,
                           StoreFault *fault);

/// Closes the file. Also allowed after a failed sqlite_file_open.
void sqlite_file_close(SqliteFile *file);

/// Receives one fault of a file, as a sentence without full stop.
typedef void SqliteFinding(void *data, const char *text);

/// Checks the pages of a file, and whether each value of each collection is JSON.
/// Returns STORE_OK if the file could be read; findings do not count as a failure.
StoreCode sqlite_file_check(const char *path, SqliteFinding *on_finding, void *data,
                            StoreFault *fault);

/// Copies a file, even while a server writes to it. Either a complete `target` appears,
/// or none.
StoreCode sqlite_file_backup(const char *path, const char *target, StoreFault *fault);
