// Leaderboards in SQLite. To find ranks quickly, the entries of a period are counted in
// blocks. A block counts the entries from its first one up to the next block's first
// one.
#pragma once

#include <sqlite3.h>

#include "store/board.h"
#include "store/fault.h"
#include "store/unit.h"

/// The prepared statements of a board.
typedef struct SqliteBoard SqliteBoard;

/// Creates the board's tables. On failure, returns NULL and sets the fault.
SqliteBoard *sqlite_board_new(sqlite3 *db, const Board *board, StoreFault *fault);

/// Frees the statements. NULL is allowed.
void sqlite_board_free(SqliteBoard *board);

/// Carries out a STORE_SCORE or STORE_REMOVE_SCORE. `sequence` orders ties, and never
/// repeats. After a failure, the tables may have changed, so the caller must undo the
/// unit. Returns a result of SQLite.
int sqlite_board_apply(SqliteBoard *board, const StoreStep *step, int64_t sequence);

/// Implements BackendOps.read_board. Returns a result of SQLite.
int sqlite_board_read(SqliteBoard *board, const BoardQuery *query, Buf *out);
