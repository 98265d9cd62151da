// The store keeps documents for a game, on a thread of its own. The loop collects the writes of a
// handler in a unit, and hands the units and requests of an iteration to the thread in one piece.
// The thread carries them out in order, commits many units in one transaction, and answers.
//
// Requests see all units before them. An answer to a unit or to a flush comes after its
// commit, when the disk has it.
#pragma once

#include "store/backend.h"

typedef struct Store Store;
typedef struct Loop Loop;

enum {
  STORE_WRITES_MAX = 10000,          // writes that wait
  STORE_WRITES_BYTES_MAX = 64 << 20  // their bytes
};

/// The answer to a request. `document` is valid during the call.
typedef struct StoreAnswer {
  uint32_t token;
  int64_t version;         // of a unit: the version of what it has written
  StoreDocument document;  // of a get
  StoreFault fault;        // `code` is STORE_OK if there is none
} StoreAnswer;

/// Reports an answer, within the loop. `token` 0: a unit that nobody waits for has failed;
/// `unit` has its steps.
typedef void StoreEnd(void *data, const StoreAnswer *answer, const StoreUnit *unit);

typedef struct StoreOptions {
  const BackendOps *ops;
  const char *place;  // copied
  uint32_t delay_ms;  // longest time between a write and the beginning of its commit
  StoreEnd *on_end;
  void *data;
} StoreOptions;

/// Opens the place and starts the thread. Returns NULL with a fault. Does not keep the
/// loop running.
Store *store_open(Loop *loop, const StoreOptions *options, StoreFault *fault);

/// Commits what was posted, without answers, and ends the thread. NULL is allowed.
void store_close(Store *store);

/// Adds a step to the open unit. Returns STORE_SLOW if too many writes wait.
StoreCode store_step(Store *store, const StoreStep *step);

/// Returns the size of the open unit, for store_cut.
size_t store_mark(const Store *store);

/// Drops the steps of the open unit behind a mark.
void store_cut(Store *store, size_t mark);

/// Ends the open unit. `token` 0: nobody waits for its commit.
void store_end_unit(Store *store, uint32_t token);

void store_get(Store *store, uint32_t token, uint32_t collection, Text id);

/// Answers when everything before is on disk.
void store_flush(Store *store, uint32_t token);

/// Defines a collection; see BackendOps.
void store_define(Store *store, uint32_t token, uint32_t index,
                  const StoreCollection *collection);

/// Hands everything so far to the thread. Call it at the end of each iteration.
void store_post(Store *store);
