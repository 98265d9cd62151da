// Runs one function on a separate thread. After the function has returned, the loop
// joins the thread and frees everything.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct Loop Loop;
typedef struct Worker Worker;

/// The function that the thread runs. It must not use the loop. It should return soon
/// after its owner has cancelled it, because workers_end waits for it.
typedef void WorkerRun(void *data);

/// Called by the loop, worker_wait or workers_end when the thread has ended. From then
/// on, `data` belongs to the caller again.
typedef void WorkerEnd(void *data);

/// Starts the thread. Returns NULL if the system cannot create one; `on_end` is not
/// called then.
Worker *worker_start(Loop *loop, WorkerRun *run, WorkerEnd *on_end, void *data);

/// Waits at most `us` microseconds for `run` to return. Returns whether `run` has
/// returned. If so, `on_end` has been called, and the loop frees the worker.
bool worker_wait(Worker *worker, uint64_t us);

/// Waits for all workers of the loop, and ends them.
void workers_end(Loop *loop);
