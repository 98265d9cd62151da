// The store keeps the documents of a game, on a separate thread. The loop collects the
// writes of a handler in a unit, and passes the units and requests of an iteration to
// the thread together. The thread carries them out in order, commits many units in one
// transaction, and answers.
//
// A request sees all earlier units. The answer to a unit or to a flush follows its
// commit, when the data are on disk.
//
// A store without a loop has no thread. In simulations, store_serve carries out the
// requests, and the caller passes the time in.
#pragma once

#include "base/histogram.h"
#include "store/backend.h"

typedef struct Store Store;
typedef struct Loop Loop;

enum {
  STORE_WRITES_MAX = 10000,           // limit of waiting writes
  STORE_WRITES_BYTES_MAX = 64 << 20,  // limit of the bytes of waiting writes
  STORE_STOP_MS = 10000               // usual longest wait of store_close
};

/// The answer to a request. Its pointers are valid during the call.
typedef struct StoreAnswer {
  uint32_t token;
  int64_t version;  // for a unit: version of its writes; for a find: version for a
                    // STORE_CHECK_FOUND
  // Result of a get. For perigee.store.sql and a read of a board, `value` contains the
  // rows as JSON.
  StoreDocument document;
  uint64_t count;  // result of a count
  // For a find or scan: a STORE_PUT for each document, with its version.
  StoreUnit found;
  Text cursor;  // for a find: cursor of the next page; empty: no more documents follow
  StoreFault fault;  // fault; `code` is STORE_OK without one
} StoreAnswer;

/// Reports an answer, within the loop. If `token` is 0, a unit has failed for which
/// nobody waits; `unit` has its steps.
typedef void StoreEnd(void *data, const StoreAnswer *answer, const StoreUnit *unit);

typedef struct StoreOptions {
  const BackendOps *ops;
  const char *place;  // place; copied
  // Open back end, which replaces `place`; owned by the store from now on.
  Backend *backend;
  uint32_t delay_ms;    // longest time between a write and the beginning of its commit
  uint32_t timeout_ms;  // longest time that a request waits for the disk to work again
  uint32_t stop_ms;     // longest wait of store_close; 0: STORE_STOP_MS
  size_t cache_bytes;   // limit of the bytes of cached documents; 0: no cache
  StoreEnd *on_end;
  void *data;
} StoreOptions;

/// Counters of a store since its start.
typedef struct StoreStats {
  uint32_t waiting;                // writes that are not on disk yet
  uint64_t writes;                 // writes that are on disk
  uint64_t failures[STORE_CODES];  // failed requests, by StoreCode
  Histogram commits;               // times of commits
  uint64_t cache_hits;
} StoreStats;

/// Opens the place and starts the thread, which does not keep the loop running. On
/// failure, returns NULL and sets the fault. If `loop` is NULL, the store has no
/// thread.
Store *store_open(Loop *loop, const StoreOptions *options, StoreFault *fault);

/// Carries out the posted requests of a store without a thread, commits if that is due,
/// and reports the answers. Returns the time of the next commit, at which it must be
/// called again, or UINT64_MAX.
uint64_t store_serve(Store *store, uint64_t now_ms);

/// Frees a store without a thread, and returns the back end, for StoreOptions.backend.
/// No answers follow. If `is_crash` is true, writes that are not committed are lost.
Backend *store_take_backend(Store *store, bool is_crash);

/// Returns the back end of a store without a thread.
Backend *store_backend(const Store *store);

/// Commits everything that was posted, without answers, and ends the thread. Waits at
/// most `stop_ms`. Returns whether everything is committed. NULL is allowed.
bool store_close(Store *store);

/// Defines a collection; see BackendOps. Like the next two functions, it ends within
/// the call, and is only allowed at the start, before the first store_post.
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

/// Reads the open unit's step at `*at` (start at 0) and advances `*at`; returns false at
/// the end. Texts are valid until the next step.
bool store_next_step(const Store *store, size_t *at, StoreStep *step);

/// Drops the steps of the open unit behind a mark.
void store_cut(Store *store, size_t mark);

/// Ends the open unit. If `token` is 0, nobody waits for its commit.
void store_end_unit(Store *store, uint32_t token);

/// Removes the open unit from the store, for a handler that waits within a transaction.
/// The caller owns the unit.
StoreUnit store_take_unit(Store *store);

/// Makes `unit` the open unit, which must be empty, and empties `unit`.
void store_give_unit(Store *store, StoreUnit *unit);

/// Reads a document from the cache. Returns false if the cache lacks the document, or
/// if the last write of it is not on disk yet. In that case, use store_get.
bool store_cached(Store *store, uint32_t collection, Text id, StoreDocument *document);

void store_get(Store *store, uint32_t token, uint32_t collection, Text id);

/// Finds or counts documents. Sees the writes of the open unit as if it had ended.
/// These writes do not affect `answer->version`.
void store_find(Store *store, uint32_t token, const StoreQuery *query);

void store_scan(Store *store, uint32_t token, const StoreScan *scan);

/// Runs a reading statement on a separate thread, after a flush.
void store_sql(Store *store, uint32_t token, const StoreSql *sql);

/// Requests an answer when all earlier writes are on disk.
void store_flush(Store *store, uint32_t token);

/// Defines a collection; see BackendOps. Copies its texts.
void store_define(Store *store, uint32_t token, uint32_t index,
                  const StoreCollection *collection);

/// Reads a leaderboard. Does not see the writes of the open unit.
void store_read_board(Store *store, uint32_t token, const BoardQuery *query);

/// Defines a leaderboard; see BackendOps. Copies its name.
void store_define_board(Store *store, uint32_t token, uint32_t index,
                        const Board *board);

/// Passes everything so far to the thread. Call it at the end of each iteration. A
/// store without a thread does that in store_serve.
void store_post(Store *store);

StoreStats store_stats(const Store *store);
