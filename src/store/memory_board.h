// Leaderboards in memory, for simulations. Each read sorts the entries of its period.
#pragma once

#include "store/board.h"
#include "store/fault.h"
#include "store/memory_table.h"

typedef struct MemoryBoard MemoryBoard;

/// All boards. A zeroed struct has none.
typedef struct MemoryBoards {
  MemoryBoard **boards;  // owned, in the order of their first definition
  uint32_t count, capacity;
  MemoryBoard **by_index;  // not owned
  uint32_t index_capacity;
  int64_t sequence;  // number of the last score
  Buf key;           // key of the current entry; reused
} MemoryBoards;

void memory_boards_deinit(MemoryBoards *boards);

/// Implements BackendOps.define_board.
StoreCode memory_boards_define(MemoryBoards *boards, uint32_t index, const Board *rules,
                               StoreFault *fault);

/// Carries out a STORE_SCORE or STORE_REMOVE_SCORE.
StoreCode memory_boards_apply(MemoryBoards *boards, Changes *changes,
                              const StoreStep *step, StoreFault *fault);

/// Implements BackendOps.read_board.
void memory_boards_read(const MemoryBoards *boards, const BoardQuery *query, Buf *out);
