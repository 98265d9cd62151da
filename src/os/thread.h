// Starting threads that belong to no signal handler. Private to src/os and src/net.
#pragma once

#include <uv.h>

/// Starts a thread that the kernel shows under `name` (at most 15 bytes). It gets no
/// signals but those that report its own faults, because the handlers belong to the main
/// thread. It uses the calling thread's log. Returns 0 or an error.
int thread_start(uv_thread_t *thread, const char *name, uv_thread_cb run, void *data);
