// Helpers for the tests of src/os: a loop, a separate folder, and running the loop
// until a condition holds.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "os/loop.h"

enum { FOLDER_SIZE = 64, PATH_SIZE = 256, DEADLINE_S = 5, TURN_MS = 5 };

typedef struct LoopWorld {
  Loop *loop;
  Loop own;  // the loop of `loop`, unless that belongs to another world
  char folder[FOLDER_SIZE];
} LoopWorld;

static inline bool loop_world_on_end(void *data, uint64_t now_us) {
  (void)data, (void)now_us;
  return false;
}

/// Makes the loop, whose open handles do not keep it running, and the folder.
static inline void loop_world_init(LoopWorld *world) {
  *world = (LoopWorld){0};
  world->loop = &world->own;
  assert_int_equal(loop_init(&world->own, loop_world_on_end, NULL), 0);
  uv_ref((uv_handle_t *)&world->own.prepare);
  snprintf(world->folder, sizeof world->folder, "/tmp/perigee-test-XXXXXX");
  assert_non_null(mkdtemp(world->folder));
}

/// Frees the loop and removes the folder; all handles on the loop must be closed by now.
static inline void loop_world_deinit(LoopWorld *world) {
  loop_deinit(world->loop);
  char command[PATH_SIZE];
  snprintf(command, sizeof command, "rm -rf '%s'", world->folder);
  assert_int_equal(system(command), 0);
  assert_int_equal(mem_live(), 0);
}

static inline void loop_world_on_wake(void *data, uint64_t now_ms) {
  (void)data, (void)now_ms;
}

/// Runs one iteration of the loop, which waits at most TURN_MS.
static inline void loop_world_turn_once(LoopWorld *world) {
  Timer wake = {0};
  Loop *loop = world->loop;
  uv_update_time(&loop->uv);
  loop_set_timer(loop, &wake, TURN_MS, loop_world_on_wake, NULL);
  uv_run(&loop->uv, UV_RUN_NOWAIT);  // starts the loop's timer
  // On a busy machine, this call may already have handled the timer. Then nothing might
  // end another wait.
  if (timers_is_set(&wake)) uv_run(&loop->uv, UV_RUN_ONCE);
  timers_stop(&loop->timers, &wake);
}

// Returns the deadline of a wait. For slow builds, PERIGEE_TEST_DEADLINE contains the
// seconds of a wait; the specs also read it.
static inline uint64_t loop_world_deadline_us(void) {
  const char *seconds = getenv("PERIGEE_TEST_DEADLINE");
  return uv_hrtime() / 1000 +
         (seconds ? strtoull(seconds, NULL, 10) : DEADLINE_S) * 1000000;
}

/// Runs the loop until `condition` holds. Returns false after the deadline.
static inline bool loop_world_wait(LoopWorld *world, bool (*condition)(void *data),
                                   void *data) {
  uint64_t deadline_us = loop_world_deadline_us();
  while (!condition(data)) {
    if (uv_hrtime() / 1000 > deadline_us) return false;
    loop_world_turn_once(world);
  }
  return true;
}

/// Runs the loop for a time, to show that something does not happen.
static inline void loop_world_run(LoopWorld *world, uint64_t milliseconds) {
  uint64_t end_us = uv_hrtime() / 1000 + milliseconds * 1000;
  while (uv_hrtime() / 1000 < end_us) loop_world_turn_once(world);
}
