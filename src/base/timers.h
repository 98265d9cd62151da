// Timers in a binary heap. The caller passes the time `now` in; this module reads no
// clock. A Timer is embedded in its owner, which must stop it before the owner is
// freed.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct Timer Timer;
typedef void TimerCallback(void *data, uint64_t now_ms);

struct Timer {
  uint64_t due_ms;  // time at which the timer fires; stays set afterwards
  TimerCallback *callback;
  void *data;
  uint32_t place;  // 1 + index in the heap; 0: not set
};

/// A timer that is set. Timers with the same time run in the order in which they were
/// set.
typedef struct TimersEntry {
  Timer *timer;
  uint64_t order;
} TimersEntry;

typedef struct Timers {
  TimersEntry *heap;
  uint32_t count;
  uint32_t capacity;
  uint64_t order;   // order of the next timer to be set
  uint64_t run_ms;  // argument `now_ms` while timers_run is running, otherwise 0
} Timers;

void timers_deinit(Timers *timers);

/// Sets `timer` to call `callback(data, now_ms)` once at `due_ms`. The timer may
/// already be set. If a callback passes a `due_ms` before the `now_ms` of its run, the
/// timer is set to `now_ms`.
void timers_set(Timers *timers, Timer *timer, uint64_t due_ms, TimerCallback *callback,
                void *data);

/// Stops `timer` if it is set.
void timers_stop(Timers *timers, Timer *timer);

static inline bool timers_is_set(const Timer *timer) { return timer->place != 0; }

/// Returns the time of the next timer, or UINT64_MAX.
uint64_t timers_next_ms(const Timers *timers);

/// Calls every timer due at `now_ms`, the earliest first. Timers that a callback sets
/// for `now_ms` or earlier wait for the next call, so that this call always ends.
void timers_run(Timers *timers, uint64_t now_ms);
