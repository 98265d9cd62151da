// A libuv loop with timers, and a function of its owner's at the end of each iteration.
// The files of src/os run on one; a Net has one (net_loop). In an iteration sockets come
// before timers, and the end of the iteration comes last.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/list.h"
#include "base/timers.h"

/// Called at the end of each iteration. Returns whether there is more to do, in which
/// case the next iteration comes at once.
typedef bool LoopEnd(void *data);

typedef struct Loop {
  uv_loop_t uv;
  uv_prepare_t prepare;
  uv_check_t check;
  uv_idle_t idle;  // active while there is more to do, so that the loop does not wait
  uv_timer_t clock;
  uint64_t clock_due_ms;  // what `clock` is set to, monotonic
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

/// Runs until nothing keeps it: no handle but its own, and no timer.
void loop_run(Loop *loop);

/// Monotonic time, the same all through an iteration.
uint64_t loop_now_ms(const Loop *loop);

/// Sets a timer that is due in `ms` milliseconds.
void loop_set_timer(Loop *loop, Timer *timer, uint64_t ms, TimerCallback *callback,
                    void *data);
