// One call of a function on a thread of its own, beside the loop. The thread is joined and
// everything freed in the loop, after the function has returned.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "net/net.h"

typedef struct Worker Worker;

/// On the thread. It may use nothing of the Net, and should return soon once its owner has
/// asked it to, because net_free waits for it.
typedef void WorkerRun(void *data);

/// In the loop, in worker_wait or in net_free: the thread has ended. `data` is the caller's again.
typedef void WorkerEnd(void *data);

/// Starts the thread. Returns NULL when the system has none to give; then `on_end` is not
/// called. Not for a simulated Net.
Worker *worker_start(Net *net, WorkerRun *run, WorkerEnd *on_end, void *data);

/// Waits at most `us` microseconds for `run` to return. True if it has: then `on_end` has
/// been called, and the worker is gone.
bool worker_wait(Worker *worker, uint64_t us);

/// For net_free: waits for all that run and ends them.
void workers_end(Net *net);
