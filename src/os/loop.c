// See loop.h. The loop's own handles do not keep it running.
#include "os/loop.h"

#include <assert.h>
#include <string.h>

uint64_t loop_now_ms(const Loop *loop) { return uv_now(&loop->uv); }

void loop_set_timer(Loop *loop, Timer *timer, uint64_t ms, TimerCallback *callback,
                    void *data) {
  timers_set(&loop->timers, timer, loop_now_ms(loop) + ms, callback, data);
}

// Does nothing: the timer only wakes the loop, which runs the timers after the sockets.
static void on_clock(uv_timer_t *clock) {
  Loop *loop = clock->data;
  loop->clock_due_ms = UINT64_MAX;
}

static void arm_clock(Loop *loop) {
  uint64_t due_ms = timers_next_ms(&loop->timers);
  if (due_ms == loop->clock_due_ms) return;
  loop->clock_due_ms = due_ms;
  if (due_ms == UINT64_MAX) {
    uv_timer_stop(&loop->clock);
    return;
  }
  uint64_t now_ms = loop_now_ms(loop);
  uv_timer_start(&loop->clock, on_clock, due_ms > now_ms ? due_ms - now_ms : 0, 0);
}

static void on_idle(uv_idle_t *idle) { (void)idle; }

static void end_iteration(Loop *loop, uint64_t now_us) {
  if (loop->end(loop->data, now_us))
    uv_idle_start(&loop->idle, on_idle);
  else
    uv_idle_stop(&loop->idle);
  arm_clock(loop);
}

static uint64_t clock_us(void) { return uv_hrtime() / 1000; }

// Counts the time of the iteration that began last.
static void count_iteration(Loop *loop, uint64_t now_us) {
  if (loop->began_us != 0) histogram_add(&loop->iterations, now_us - loop->began_us);
  loop->began_us = 0;
}

// Handles work that arose after on_check, before the loop waits. While work is left
// (`idle` is active), does nothing, so that scripts get one slice between two polls.
static void on_prepare(uv_prepare_t *prepare) {
  Loop *loop = prepare->data;
  if (!uv_is_active((uv_handle_t *)&loop->idle)) {
    uint64_t now_us = clock_us();
    count_iteration(loop, now_us);
    end_iteration(loop, now_us);
  }
  loop->polled_ms = loop_now_ms(loop);
}

// Runs only the timers that were due before the sockets were polled. A handler may take
// seconds while packets of a peer arrive. The loop then reads these packets before the
// timers that end silent or late peers. While work is left, the loop does not wait, so
// an iteration lasts until the same place of the next one.
static void on_check(uv_check_t *check) {
  Loop *loop = check->data;
  uint64_t now_us = clock_us(), due_ms = timers_next_ms(&loop->timers);
  if (uv_is_active((uv_handle_t *)&loop->idle)) count_iteration(loop, now_us);
  if (loop->began_us == 0) loop->began_us = now_us;
  if (due_ms <= loop->polled_ms) {
    histogram_add(&loop->lateness, now_us > due_ms * 1000 ? now_us - due_ms * 1000 : 0);
    timers_run(&loop->timers, loop->polled_ms);
    now_us = clock_us();
  }
  end_iteration(loop, now_us);
}

int loop_init(Loop *loop, LoopEnd *end, void *data) {
  int err = uv_loop_init(&loop->uv);
  if (err) return err;
  loop->end = end;
  loop->data = data;
  loop->clock_due_ms = UINT64_MAX;
  uv_prepare_init(&loop->uv, &loop->prepare);
  uv_check_init(&loop->uv, &loop->check);
  uv_idle_init(&loop->uv, &loop->idle);
  uv_timer_init(&loop->uv, &loop->clock);
  uv_timer_init(&loop->uv, &loop->limit);
  uv_handle_t *own[] = {(uv_handle_t *)&loop->prepare, (uv_handle_t *)&loop->check,
                        (uv_handle_t *)&loop->idle, (uv_handle_t *)&loop->clock,
                        (uv_handle_t *)&loop->limit};
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
    own[i]->data = loop;
    uv_unref(own[i]);
  }
  uv_prepare_start(&loop->prepare, on_prepare);
  uv_check_start(&loop->check, on_check);
  return 0;
}

void loop_deinit(Loop *loop) {
  uv_close((uv_handle_t *)&loop->prepare, NULL);
  uv_close((uv_handle_t *)&loop->check, NULL);
  uv_close((uv_handle_t *)&loop->idle, NULL);
  uv_close((uv_handle_t *)&loop->clock, NULL);
  uv_close((uv_handle_t *)&loop->limit, NULL);
  uv_run(&loop->uv, UV_RUN_DEFAULT);
  int err = uv_loop_close(&loop->uv);
  assert(err == 0 && "a handle is still open");
  (void)err;
  list_deinit(&loop->children);
  list_deinit(&loop->workers);
  timers_deinit(&loop->timers);
}

void loop_run(Loop *loop) { uv_run(&loop->uv, UV_RUN_DEFAULT); }

static void on_limit(uv_timer_t *limit) { (void)limit; }

bool loop_poll(Loop *loop, int timeout_ms) {
  if (timeout_ms > 0) {
    uv_update_time(&loop->uv);
    uv_timer_start(&loop->limit, on_limit, (uint64_t)timeout_ms, 0);
  }
  bool is_alive = uv_run(&loop->uv, timeout_ms == 0 ? UV_RUN_NOWAIT : UV_RUN_ONCE) != 0;
  uv_timer_stop(&loop->limit);
  count_iteration(loop, clock_us());  // because the host's own work follows
  return is_alive;
}

int loop_fd(const Loop *loop) { return uv_backend_fd(&loop->uv); }

// Returns whether libuv has descriptors that it will pass to the kernel at its next
// wait. Libuv keeps these in a queue; the first member of an empty queue points to the
// queue itself.
static bool has_new_descriptors(const Loop *loop) {
  const void *first;
  memcpy(&first, &loop->uv.watcher_queue, sizeof first);
  return first != &loop->uv.watcher_queue;
}

int loop_timeout_ms(const Loop *loop) {
  return has_new_descriptors(loop) ? 0 : uv_backend_timeout(&loop->uv);
}
