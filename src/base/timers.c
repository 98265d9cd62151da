// A binary heap of timers with the least (due_ms, order) on top. Each timer stores its
// place in the heap, so that moving or stopping one is as cheap as adding one.
#include "base/timers.h"

#include "base/array.h"
#include "base/mem.h"

enum { FIRST_CAPACITY = 4 };  // small, because each client has a heap of its own

void timers_deinit(Timers *timers) {
  for (uint32_t i = 0; i < timers->count; i++) timers->heap[i].timer->place = 0;
  mem_free(timers->heap);
  *timers = (Timers){0};
}

static bool is_before(TimersEntry a, TimersEntry b) {
  uint64_t a_ms = a.timer->due_ms, b_ms = b.timer->due_ms;
  return a_ms < b_ms || (a_ms == b_ms && a.order < b.order);
}

static void put(Timers *timers, uint32_t index, TimersEntry entry) {
  timers->heap[index] = entry;
  entry.timer->place = index + 1;
}

// Puts `entry` at the free place `index`, or further up where it belongs.
static void sift_up(Timers *timers, uint32_t index, TimersEntry entry) {
  while (index > 0) {
    uint32_t parent = (index - 1) / 2;
    if (!is_before(entry, timers->heap[parent])) break;
    put(timers, index, timers->heap[parent]);
    index = parent;
  }
  put(timers, index, entry);
}

// Puts `entry` at the free place `index`, or further down where it belongs.
static void sift_down(Timers *timers, uint32_t index, TimersEntry entry) {
  for (;;) {
    uint32_t child = 2 * index + 1;
    if (child >= timers->count) break;
    if (child + 1 < timers->count &&
        is_before(timers->heap[child + 1], timers->heap[child]))
      child++;
    if (!is_before(timers->heap[child], entry)) break;
    put(timers, index, timers->heap[child]);
    index = child;
  }
  put(timers, index, entry);
}

static void settle(Timers *timers, uint32_t index, TimersEntry entry) {
  if (index > 0 && is_before(entry, timers->heap[(index - 1) / 2])) {
    sift_up(timers, index, entry);
  } else {
    sift_down(timers, index, entry);
  }
}

void timers_set(Timers *timers, Timer *timer, uint64_t due_ms, TimerCallback *callback,
                void *data) {
  // Raises the time to the time of the current run. Otherwise a timer that a callback
  // sets for the past would precede older timers that are due in this run, and
  // timers_run could not distinguish old from new timers.
  timer->due_ms = due_ms > timers->run_ms ? due_ms : timers->run_ms;
  timer->callback = callback;
  timer->data = data;
  TimersEntry entry = {.timer = timer, .order = timers->order++};
  if (timer->place) {
    settle(timers, timer->place - 1, entry);
    return;
  }
  if (timers->count == timers->capacity)
    timers->capacity = array_grow(&timers->heap, timers->capacity, sizeof(TimersEntry),
                                  FIRST_CAPACITY);
  sift_up(timers, timers->count++, entry);
}

void timers_stop(Timers *timers, Timer *timer) {
  if (!timer->place) return;
  uint32_t index = timer->place - 1;
  timer->place = 0;
  TimersEntry last = timers->heap[--timers->count];
  if (last.timer != timer) settle(timers, index, last);
}

uint64_t timers_next_ms(const Timers *timers) {
  return timers->count ? timers->heap[0].timer->due_ms : UINT64_MAX;
}

void timers_run(Timers *timers, uint64_t now_ms) {
  uint64_t end = timers->order;
  timers->run_ms = now_ms;
  while (timers->count) {
    Timer *timer = timers->heap[0].timer;
    if (timer->due_ms > now_ms || timers->heap[0].order >= end) break;
    timers_stop(timers, timer);
    timer->callback(timer->data, now_ms);  // the callback may free the timer
  }
  timers->run_ms = 0;
}
