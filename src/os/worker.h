// One call of a function on a thread of its own. The loop joins the thread and frees
// everything after the function has returned.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct Loop Loop;
typedef struct Worker Worker;

/// Runs on the thread. It must not use the loop, and should return soon after its owner has
/// cancelled it, because workers_end waits for it.
typedef void WorkerRun(void *data);

/// Called by the loop, worker_wait or workers_end when the thread has ended. `data` belongs to the
/// caller again.
typedef void WorkerEnd(void *data);

/// Starts the thread. Returns NULL when the system cannot create one; then `on_end` is not
/// called.
Worker *worker_start(Loop *loop, WorkerRun *run, WorkerEnd *on_end, void *data);

/// Waits at most `us` microseconds for `run` to return. Returns true if it has: then `on_end` has
/// been called, and the worker is freed.
bool worker_wait(Worker *worker, uint64_t us);

/// Waits for all workers of the loop and ends them.
void workers_end(Loop *loop);
