// Leaderboards: scores by id, in periods. The period is a number that the caller chooses
// for each score; a board begins empty in each period.
//
// Of tied entries, the one that reached the score first ranks first.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "store/fault.h"
#include "wire/reader.h"

enum {
  BOARD_DATA_MAX = 1024,  // bytes of an entry's data
  BOARD_ROWS_MAX = 1000,  // entries of one answer
  BOARD_PAST = 4,         // periods that stay besides that of the newest score
};

/// Which of the scores that an id submits in a period counts.
typedef enum BoardKeep { BOARD_BEST, BOARD_LAST, BOARD_SUM } BoardKeep;

/// A board as the game declares it.
typedef struct Board {
  const char *name;  // as a collection's; not owned
  bool is_low;       // the lowest score ranks first, instead of the highest
  BoardKeep keep;
} Board;

/// Selects the first `count` entries of a period; with an `id`, its entry and `count`
/// entries at most before and behind it.
typedef struct BoardQuery {
  uint32_t board;
  int64_t period;
  Text id;  // empty: from the top
  uint32_t count;
} BoardQuery;

/// An entry that was found. `data` is JSON.
typedef struct BoardEntry {
  int64_t rank;  // from 1
  Text id;
  double score;
  Text data;
} BoardEntry;

/// Appends an entry to a list in JSON that began with `[`.
void board_put_entry(Buf *out, const BoardEntry *entry);

/// Return the faults of a board that exists with the other order, and of a sum that is
/// no finite number.
StoreCode board_fail_order(const Board *board, StoreFault *fault);
StoreCode board_fail_sum(StoreFault *fault);

/// Returns the score as back ends store it: the entry with the lowest one ranks first.
/// The function is its own inverse.
static inline double board_key(const Board *board, double score) {
  return board->is_low ? score : 0 - score;
}

/// Returns the key that an entry has after a submission. `*is_kept`: whether the
/// submitted key replaces the old one, so that the data follow it.
double board_judge(const Board *board, double old_key, double key, bool *is_kept);
