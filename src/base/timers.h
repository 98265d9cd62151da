// Timers in a binary heap, driven by a `now` that the caller passes in; nothing here
// reads a clock. A Timer is embedded in its owner, which must stop it before it dies.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct Timer Timer;
typedef void TimerCallback(void *data, uint64_t now_ms);

struct Timer {
  uint64_t due_ms;  // stays after the timer has fired
  TimerCallback *callback;
  void *data;
  uint32_t place;  // 1 + index in the heap; 0: not set
};

/// A timer that is set. Timers for the same time run in the order in which they were.
typedef struct TimersEntry {
  Timer *timer;
  uint64_t order;
} TimersEntry;

typedef struct Timers {
  TimersEntry *heap;
  uint32_t count;
  uint32_t capacity;
  uint64_t order;   // that the next timer set will have
  uint64_t run_ms;  // `now_ms` while timers_run is at work, else 0
} Timers;

void timers_deinit(Timers *timers);

/// Sets `timer`, which may be set already, to call `callback(data, now_ms)` once at `due_ms`. In a
/// callback, the time of the run replaces an earlier one.
void timers_set(Timers *timers, Timer *timer, uint64_t due_ms, TimerCallback *callback,
                void *data);

/// Stops `timer`, if it is set.
void timers_stop(Timers *timers, Timer *timer);

static inline bool timers_is_set(const Timer *timer) { return timer->place != 0; }

/// Returns when the next timer is due, or UINT64_MAX.
uint64_t timers_next_ms(const Timers *timers);

/// Calls every timer due at `now_ms`, in order of time. Those that a callback sets for
/// `now_ms` or earlier wait for the next call, so that this always ends.
void timers_run(Timers *timers, uint64_t now_ms);
