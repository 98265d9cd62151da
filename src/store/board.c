#include "store/board.h"

#include "wire/json.h"

void board_put_entry(Buf *out, const BoardEntry *entry) {
  buf_printf(out, "%s{\"rank\":%lld,\"score\":%.17g,\"id\":",
             out->data[out->size - 1] == '[' ? "" : ",", (long long)entry->rank,
             entry->score);
  json_put_text(out, entry->id);
  if (entry->data.size > 0) {
    buf_append(out, ",\"data\":", 8);
    buf_append(out, entry->data.bytes, entry->data.size);
  }
  buf_u8(out, '}');
}

StoreCode board_fail_order(const Board *board, StoreFault *fault) {
  return store_fault(fault, STORE_INVALID,
                     "the leaderboard %s exists with order = \"%s\"; give the new one"
                     " another name",
                     board->name, board->is_low ? "high" : "low");
}

StoreCode board_fail_sum(StoreFault *fault) {
  return store_fault(fault, STORE_TOO_LARGE, "the sum of the scores is too large");
}

double board_judge(const Board *board, double old_key, double key, bool *is_kept) {
  *is_kept = board->keep != BOARD_BEST || key < old_key;
  if (board->keep == BOARD_SUM) return old_key + key;
  return *is_kept ? key : old_key;
}
