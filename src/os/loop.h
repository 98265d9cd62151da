// A libuv loop with timers, and a callback at the end of each iteration.
// The modules of src/os run on a loop, and a Net has one (net_loop). In an iteration,
// sockets come before timers, and the end of the iteration comes last.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/histogram.h"
#include "base/list.h"
#include "base/timers.h"

/// Ends an iteration. Returns whether work is left; if so, the next iteration follows
/// at once. `now_us` is monotonic time from the clock.
typedef bool LoopEnd(void *data, uint64_t now_us);

typedef struct Loop {
  uv_loop_t uv;
  uv_prepare_t prepare;
  uv_check_t check;
  uv_idle_t idle;  // active while work is left, so that the loop does not wait
  uv_timer_t clock;
  uv_timer_t limit;       // ends the wait of loop_poll
  uint64_t clock_due_ms;  // time at which `clock` fires, monotonic
  uint64_t polled_ms;     // last time at which the loop polled its sockets, monotonic
  uint64_t began_us;      // beginning of the iteration, monotonic; 0: the loop waits
  Histogram iterations;   // times of iterations, without the wait for sockets
  Histogram lateness;     // delays of the first due timer of each iteration
  Timers timers;
  Timer watchdog;  // used by service.c
  LoopEnd *end;
  void *data;        // argument of `end`
  bool has_program;  // this process is `perigee`, so child_start can run it as a child
  List children;     // running child processes; used by child.c
  List workers;      // running threads; used by worker.c
} Loop;

/// Initializes a zeroed Loop. Returns 0, or an error without any change.
int loop_init(Loop *loop, LoopEnd *end, void *data);

/// Frees the loop. Asserts that every handle but its own is closed or closing.
void loop_deinit(Loop *loop);

/// Runs until no handle keeps the loop running. Timers and the loop's own handles do
/// not.
void loop_run(Loop *loop);

/// Runs one iteration. Waits at most `timeout_ms` for work (negative: without a limit).
/// Returns whether anything keeps the loop running.
bool loop_poll(Loop *loop, int timeout_ms);

/// Connect the loop to the loop of a host program. loop_fd returns a descriptor that is
/// readable when the loop has work. loop_timeout_ms returns the milliseconds after
/// which the host must call loop_poll in any case (-1: no limit).
int loop_fd(const Loop *loop);
int loop_timeout_ms(const Loop *loop);

/// Returns monotonic time, which stays the same during an iteration.
uint64_t loop_now_ms(const Loop *loop);

/// Begins an iteration, unless it has begun. Callbacks that read a socket call it first,
/// so that the time of reading counts.
static inline void loop_wake(Loop *loop) {
  if (loop->began_us == 0) loop->began_us = uv_hrtime() / 1000;
}

/// Sets a timer that is due in `ms` milliseconds.
void loop_set_timer(Loop *loop, Timer *timer, uint64_t ms, TimerCallback *callback,
                    void *data);
