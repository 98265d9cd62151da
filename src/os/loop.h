// A libuv loop with timers, and a callback at the end of each iteration.
// The files of src/os run on one; a Net has one (net_loop). In an iteration sockets come
// before timers, and the end of the iteration comes last.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/list.h"
#include "base/timers.h"

/// Ends each iteration. Returns whether there is more to do, in which case the next iteration comes
/// at once.
typedef bool LoopEnd(void *data);

typedef struct Loop {
  uv_loop_t uv;
  uv_prepare_t prepare;
  uv_check_t check;
  uv_idle_t idle;  // active while there is more to do, so that the loop does not wait
  uv_timer_t clock;
  uv_timer_t limit;       // ends the wait of loop_poll
  uint64_t clock_due_ms;  // time that `clock` is set to, monotonic
  uint64_t polled_ms;     // when the loop last looked at its sockets, monotonic
  Timers timers;
  LoopEnd *end;
  void *data;        // for `end`
  bool has_program;  // this process is `perigee`, which child processes are, too
  List children;     // running child processes; child.c's
  List workers;      // running threads; worker.c's
} Loop;

/// Initializes a zeroed Loop. Returns 0, or an error and then nothing has changed.
int loop_init(Loop *loop, LoopEnd *end, void *data);

/// Frees it; asserts that every handle but its own is closed or closing.
void loop_deinit(Loop *loop);

/// Runs until only its own handles, and no timer, are left.
void loop_run(Loop *loop);

/// Runs one iteration: waits for something to do at most `timeout_ms` (negative: for ever).
/// Returns whether anything keeps the loop running.
bool loop_poll(Loop *loop, int timeout_ms);

/// Return a descriptor that is readable when there is something to do, for the loop of a host
/// program; and the milliseconds until loop_poll has to be called even if it is not (-1: none).
int loop_fd(const Loop *loop);
int loop_timeout_ms(const Loop *loop);

/// Returns monotonic time, the same all through an iteration.
uint64_t loop_now_ms(const Loop *loop);

/// Sets a timer that is due in `ms` milliseconds.
void loop_set_timer(Loop *loop, Timer *timer, uint64_t ms, TimerCallback *callback,
                    void *data);
