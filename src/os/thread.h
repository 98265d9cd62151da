// Threads that get no signals except those for their own faults, and timers whose
// signals arrive at one thread.
#pragma once

#include <pthread.h>
#include <time.h>

/// Starts a thread, which the kernel shows as `name` (at most 15 bytes). The thread
/// gets no signals except those for its own faults, because the handlers belong to the
/// main thread. It uses the calling thread's log. Returns 0 or an error.
int thread_start(pthread_t *thread, const char *name, void (*run)(void *data),
                 void *data);

/// Creates a timer whose signal arrives at the calling thread, with `value` in its
/// siginfo_t. Returns 0 or an error.
int thread_timer(clockid_t clock, int signal, void *value, timer_t *timer);
