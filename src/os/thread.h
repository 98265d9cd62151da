// Threads that belong to no signal handler, and timers whose signals come to one thread.
#pragma once

#include <pthread.h>
#include <time.h>

/// Starts a thread that the kernel shows under `name` (at most 15 bytes). It gets no
/// signals but those that report its own faults, because the handlers belong to the main
/// thread. It uses the calling thread's log. Returns 0 or an error.
int thread_start(pthread_t *thread, const char *name, void (*run)(void *data),
                 void *data);

/// Makes a timer whose signal comes to the calling thread, with `value` in its siginfo_t. Returns
/// 0 or an error.
int thread_timer(clockid_t clock, int signal, void *value, timer_t *timer);
