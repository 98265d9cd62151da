// Leaderboards: scores by id, in periods. The period is a number that the caller
// chooses for each score; a board begins empty in each period.
//
// If scores are tied, the entry that reached the score first ranks first.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/fault.h"
#include "wire/reader.h"

enum {
  BOARD_DATA_MAX = 1024,  // bytes of an entry's data
  BOARD_ROWS_MAX = 1000,  // limit of the entries in one answer
  BOARD_PAST = 4,         // number of kept periods before that of the newest score
};

/// Rule for several scores of one id in a period.
typedef enum BoardKeep { BOARD_BEST, BOARD_LAST, BOARD_SUM } BoardKeep;

/// A board as the game declares it.
typedef struct Board {
  const char *name;  // name, with the same rules as that of a collection; not owned
  bool is_low;       // the lowest score ranks first, instead of the highest
  BoardKeep keep;
} Board;

/// Selects the first `count` entries of a period. With an `id`, selects its entry, and
/// at most `count` entries before and behind it.
typedef struct BoardQuery {
  uint32_t board;
  int64_t period;
  Text id;  // id; empty: the first entries
  uint32_t count;
} BoardQuery;

/// An entry that was found. `data` is JSON.
typedef struct BoardEntry {
  int64_t rank;  // rank, from 1
  Text id;
  double score;
  Text data;
} BoardEntry;

/// Appends an entry to a JSON list that begins with `[`.
void board_put_entry(Buf *out, const BoardEntry *entry);

/// Set a fault and return its code: the board exists with the other order, or a sum is
/// not a finite number.
StoreCode board_fail_order(const Board *board, StoreFault *fault);
StoreCode board_fail_sum(StoreFault *fault);

/// Returns the score in the form of back ends, in which the lowest value ranks first.
/// The function is its own inverse.
static inline double board_key(const Board *board, double score) {
  return board->is_low ? score : 0 - score;
}

/// Returns the key of an entry after a submission. Sets `*is_kept` to whether the new
/// key replaces the old one. If it does, the new data must replace the old data as
/// well.
double board_judge(const Board *board, double old_key, double key, bool *is_kept);
