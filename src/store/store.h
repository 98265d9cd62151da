// The store keeps documents for a game, on a thread of its own. The loop collects the writes of a
// handler in a unit, and hands the units and requests of an iteration to the thread in one piece.
// The thread carries them out in order, commits many units in one transaction, and answers.
//
// Requests see all units before them. An answer to a unit or to a flush comes after its
// commit, when the disk has it.
//
// Without a loop, a store has no thread: for simulations, store_serve carries out the
// requests, and the caller passes the time.
#pragma once

#include "store/backend.h"

typedef struct Store Store;
typedef struct Loop Loop;

enum {
  STORE_WRITES_MAX = 10000,           // writes that wait
  STORE_WRITES_BYTES_MAX = 64 << 20,  // their bytes
  STORE_STOP_MS = 10000               // longest wait of store_close
};

/// The answer to a request. Its pointers are valid during the call.
typedef struct StoreAnswer {
  uint32_t token;
  int64_t
      version;  // of a unit: the version of what it has written; of a find: the version
                // for a STORE_CHECK_FOUND
  StoreDocument document;  // of a get; of perigee.store.sql and a read of a board,
                           // `value` has the rows as JSON
  uint64_t count;          // of a count
  StoreUnit
      found;    // of a find or scan: a STORE_PUT for each document, with its version
  Text cursor;  // of a find: for the next page; empty: there is no more
  StoreFault fault;  // `code` is STORE_OK if there is none
} StoreAnswer;

/// Reports an answer, within the loop. `token` 0: a unit that nobody waits for has failed;
/// `unit` has its steps.
typedef void StoreEnd(void *data, const StoreAnswer *answer, const StoreUnit *unit);

typedef struct StoreOptions {
  const BackendOps *ops;
  const char *place;    // copied
  Backend *backend;     // already open, instead of `place`; owned from then on
  uint32_t delay_ms;    // longest time between a write and the beginning of its commit
  uint32_t timeout_ms;  // longest time that a request waits for the disk to work again
  size_t cache_bytes;   // of documents that store_cached gives; 0: none
  StoreEnd *on_end;
  void *data;
} StoreOptions;

/// Counts of a store's work since its start.
typedef struct StoreStats {
  uint32_t waiting;                // writes that are not on disk yet
  uint64_t writes;                 // that are on disk
  uint64_t failures[STORE_CODES];  // requests that have failed, by StoreCode
  uint64_t commits;
  uint64_t commit_us;  // time that all commits took
  uint64_t cache_hits;
} StoreStats;

/// Opens the place and starts the thread, which does not keep the loop running. Returns
/// NULL with a fault. `loop` NULL: without a thread.
Store *store_open(Loop *loop, const StoreOptions *options, StoreFault *fault);

/// Without a thread: carries out what was posted, and commits what is due. Reports the
/// answers. Returns the time of the next commit, at which to call it again, or UINT64_MAX.
uint64_t store_serve(Store *store, uint64_t now_ms);

/// Without a thread: frees the store, and returns the back end, for StoreOptions.backend.
/// Answers do not come. After a crash, what was not committed is lost.
Backend *store_take_backend(Store *store, bool is_crash);

/// Without a thread: returns the back end.
Backend *store_backend(const Store *store);

/// Commits what was posted, without answers, and ends the thread. Waits for that for
/// STORE_STOP_MS at most. Returns whether everything is committed. NULL is allowed.
bool store_close(Store *store);

/// The following work within the call: at the start, before the first store_post.
/// Defines a collection; see BackendOps.
StoreCode store_define_now(Store *store, uint32_t index,
                           const StoreCollection *collection, StoreFault *fault);

/// Reads all documents of a collection.
StoreCode store_read_all(Store *store, uint32_t index, BackendOnRow *on_row, void *data,
                         StoreFault *fault);

/// Reads a document, which is valid until the next call.
StoreCode store_read(Store *store, uint32_t index, Text id, StoreDocument *document,
                     StoreFault *fault);

/// Adds a step to the open unit. Returns STORE_SLOW if too many writes wait.
StoreCode store_step(Store *store, const StoreStep *step);

/// Returns the size of the open unit, for store_cut.
size_t store_mark(const Store *store);

/// Drops the steps of the open unit behind a mark.
void store_cut(Store *store, size_t mark);

/// Ends the open unit. `token` 0: nobody waits for its commit.
void store_end_unit(Store *store, uint32_t token);

/// Moves the open unit out of the store, for a handler that waits within a transaction.
/// The caller owns it.
StoreUnit store_take_unit(Store *store);

/// Makes `unit` the open unit, which must be empty, and empties `unit`.
void store_give_unit(Store *store, StoreUnit *unit);

/// Reads a document from the cache. Returns false if the cache does not have it, or if its
/// last write is not on disk yet; store_get asks the thread.
bool store_cached(Store *store, uint32_t collection, Text id, StoreDocument *document);

void store_get(Store *store, uint32_t token, uint32_t collection, Text id);

/// Finds or counts. Sees the writes of the open unit as if it had ended; these do not
/// affect `answer->version`.
void store_find(Store *store, uint32_t token, const StoreQuery *query);

void store_scan(Store *store, uint32_t token, const StoreScan *scan);

/// Runs a statement that reads, on a thread of its own, after a flush.
void store_sql(Store *store, uint32_t token, const StoreSql *sql);

/// Answers when everything before is on disk.
void store_flush(Store *store, uint32_t token);

/// Defines a collection; see BackendOps. Copies its texts.
void store_define(Store *store, uint32_t token, uint32_t index,
                  const StoreCollection *collection);

/// Reads a leaderboard. Sees no writes of the open unit.
void store_read_board(Store *store, uint32_t token, const BoardQuery *query);

/// Defines a leaderboard; see BackendOps. Copies its name.
void store_define_board(Store *store, uint32_t token, uint32_t index,
                        const Board *board);

/// Hands everything so far to the thread. Call it at the end of each iteration. Without a
/// thread, store_serve does that.
void store_post(Store *store);

StoreStats store_stats(const Store *store);
