// The thread's half of a store. It carries requests out in order, and commits the writes
// of many units in one transaction: when the delay is over, or at once when somebody waits.
//
// If the disk fails in a transaction, its units are repeated, each in a transaction of its
// own, because one of them may have been too large for the disk. If another program locks
// the file (STORE_BUSY), everything waits and is tried again.
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

/// Frees the writer, with the transaction that is open, and returns the back end.
Backend *writer_free(Writer *writer);

/// Carries out requests, and moves those with answers to `ended`. `end_ms` is the end of
/// all waits at the close, when it commits at once; otherwise UINT64_MAX. Returns the time
/// at which it must be called again, or UINT64_MAX.
uint64_t writer_serve(Writer *writer, RequestList *requests, RequestList *ended,
                      uint64_t now_ms, uint64_t end_ms);

/// Returns the number of units that the close has lost.
uint32_t writer_lost(const Writer *writer);

/// Adds the writer's commits and their time to `stats`. Callable from any thread.
void writer_count(const Writer *writer, StoreStats *stats);
