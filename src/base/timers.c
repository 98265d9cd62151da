// A binary heap of pointers to timers, least (due_ms, order) on top. Every timer knows
// its place, so moving or stopping one is as cheap as adding it.
#include "base/timers.h"

#include "base/mem.h"

enum { FIRST_CAPACITY = 16 };

void timers_deinit(Timers *timers) {
  for (uint32_t i = 0; i < timers->count; i++) timers->heap[i]->place = 0;
  mem_free(timers->heap);
  *timers = (Timers){0};
}

static bool is_before(const Timer *a, const Timer *b) {
  return a->due_ms < b->due_ms || (a->due_ms == b->due_ms && a->order < b->order);
}

static void put(Timers *timers, uint32_t index, Timer *timer) {
  timers->heap[index] = timer;
  timer->place = index + 1;
}

// Puts `timer` at the hole `index` or at the place further up where it belongs.
static void sift_up(Timers *timers, uint32_t index, Timer *timer) {
  while (index > 0) {
    uint32_t parent = (index - 1) / 2;
    if (!is_before(timer, timers->heap[parent])) break;
    put(timers, index, timers->heap[parent]);
    index = parent;
  }
  put(timers, index, timer);
}

// Puts `timer` at the hole `index` or at the place further down where it belongs.
static void sift_down(Timers *timers, uint32_t index, Timer *timer) {
  for (;;) {
    uint32_t child = 2 * index + 1;
    if (child >= timers->count) break;
    if (child + 1 < timers->count &&
        is_before(timers->heap[child + 1], timers->heap[child]))
      child++;
    if (!is_before(timers->heap[child], timer)) break;
    put(timers, index, timers->heap[child]);
    index = child;
  }
  put(timers, index, timer);
}

static void settle(Timers *timers, uint32_t index, Timer *timer) {
  if (index > 0 && is_before(timer, timers->heap[(index - 1) / 2])) {
    sift_up(timers, index, timer);
  } else {
    sift_down(timers, index, timer);
  }
}

void timers_set(Timers *timers, Timer *timer, uint64_t due_ms, TimerCallback *callback,
                void *data) {
  // What a callback sets for the past would get before older timers that are due in
  // this run, and timers_run could not tell where the new ones begin.
  timer->due_ms = due_ms > timers->run_ms ? due_ms : timers->run_ms;
  timer->order = timers->order++;
  timer->callback = callback;
  timer->data = data;
  if (timer->place) {
    settle(timers, timer->place - 1, timer);
    return;
  }
  if (timers->count == timers->capacity) {
    timers->capacity = timers->capacity ? timers->capacity * 2 : FIRST_CAPACITY;
    timers->heap = mem_grow(timers->heap, timers->capacity * sizeof(Timer *));
  }
  sift_up(timers, timers->count++, timer);
}

void timers_stop(Timers *timers, Timer *timer) {
  if (!timer->place) return;
  uint32_t index = timer->place - 1;
  timer->place = 0;
  Timer *last = timers->heap[--timers->count];
  if (last != timer) settle(timers, index, last);
}

uint64_t timers_next_ms(const Timers *timers) {
  return timers->count ? timers->heap[0]->due_ms : UINT64_MAX;
}

void timers_run(Timers *timers, uint64_t now_ms) {
  uint64_t end = timers->order;
  timers->run_ms = now_ms;
  while (timers->count) {
    Timer *timer = timers->heap[0];
    if (timer->due_ms > now_ms || timer->order >= end) break;
    timers_stop(timers, timer);
    timer->callback(timer->data, now_ms);  // may free the timer
  }
  timers->run_ms = 0;
}
