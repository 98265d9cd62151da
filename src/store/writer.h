// The thread's half of a store. It carries out requests in order, and commits the
// writes of many units in one transaction. It commits when the delay is over, or at
// once if a request waits for the commit.
//
// After a failure of the disk, it repeats the units of the transaction, each in a
// separate transaction, because one of them may have been too large for the disk. If
// another program locks the file (STORE_BUSY), it waits and tries again.
#pragma once

#include "store/request.h"

typedef struct Writer Writer;

typedef struct WriterOptions {
  const BackendOps *ops;
  Backend *backend;  // owned by the writer
  uint32_t delay_ms;
  uint32_t timeout_ms;
} WriterOptions;

Writer *writer_new(const WriterOptions *options);

const BackendOps *writer_ops(const Writer *writer);

/// Frees the writer and its open transaction. Returns the back end.
Backend *writer_free(Writer *writer);

/// Carries out requests, and moves answered ones to `ended`. Returns the time of the
/// next call, or UINT64_MAX. `end_ms` is UINT64_MAX until the store closes. Then it is
/// the time at which all waits end, and this commits at once.
uint64_t writer_serve(Writer *writer, RequestList *requests, RequestList *ended,
                      uint64_t now_ms, uint64_t end_ms);

/// Returns the number of units that the close has lost.
uint32_t writer_lost(const Writer *writer);

/// Adds the times of the writer's commits to `stats`. Callable from any thread.
void writer_count(Writer *writer, StoreStats *stats);
