#include "script/timer.h"

#include "base/mem.h"
#include "script/host.h"
#include "script/seam.h"

typedef struct ScriptTimer {
  Timer timer;
  Host *host;
  uint32_t id;
  uint32_t peer, room;  // source that pays for its handlers, as in Event
  uint64_t delay_ms;    // delay until the timer first fires
  uint64_t repeat_ms;   // interval; 0: the timer fires once
  uint64_t due_ms;
  bool is_queued;   // the relay still has an event of this timer
  bool is_of_wait;  // the timer ends the wait of a handler or task
} ScriptTimer;

static ScriptTimer *find(const Host *host, uint32_t id) {
  return slots_find(&host->timers, id);
}

static void on_timer(void *data, uint64_t now_ms) {
  ScriptTimer *timer = data;
  Host *host = timer->host;
  if (!timer->is_queued)
    seam_push(host, (Event){.type = EVENT_TIMER,
                            .peer = timer->peer,
                            .room = timer->room,
                            .a = timer->id});
  timer->is_queued = true;
  if (timer->repeat_ms == 0) return;
  timer->due_ms += timer->repeat_ms;
  if (timer->due_ms <= now_ms) timer->due_ms = now_ms + timer->repeat_ms;
  timers_set(net_timers(host->net), &timer->timer, timer->due_ms, on_timer, timer);
}

uint32_t script_timer_set(Host *host, uint64_t delay_ms, uint64_t repeat_ms,
                          uint32_t peer, uint32_t room, bool is_of_wait) {
  ScriptTimer *timer = mem_alloc(sizeof *timer);
  *timer = (ScriptTimer){.host = host,
                         .id = slots_add(&host->timers, timer),
                         .peer = peer,
                         .room = room,
                         .delay_ms = delay_ms,
                         .repeat_ms = repeat_ms,
                         .is_of_wait = is_of_wait};
  Command command = {.type = COMMAND_TIMER_SET, .id = timer->id};
  if (timer->id != 0 && relay_command(host->relay, &command) == 0) {
    host->waiting += is_of_wait;
    return timer->id;
  }
  if (timer->id != 0) slots_remove(&host->timers, timer->id);
  mem_free(timer);
  return 0;
}

bool script_timer_cancel(Host *host, uint32_t id) {
  Command command = {.type = COMMAND_TIMER_CANCEL, .id = id};
  return find(host, id) != NULL && relay_command(host->relay, &command) == 0;
}

void script_timer_start(Host *host, uint32_t id) {
  ScriptTimer *timer = find(host, id);
  if (timer == NULL) return;
  timer->due_ms = net_now_ms(host->net) + timer->delay_ms;
  timers_set(net_timers(host->net), &timer->timer, timer->due_ms, on_timer, timer);
}

void script_timer_end(Host *host, uint32_t id) {
  ScriptTimer *timer = find(host, id);
  if (timer == NULL) return;
  timers_stop(net_timers(host->net), &timer->timer);
  host->waiting -= timer->is_of_wait;
  slots_remove(&host->timers, id);
  mem_free(timer);
}

bool script_timer_take(Host *host, uint32_t id) {
  ScriptTimer *timer = find(host, id);
  if (timer == NULL) return false;
  timer->is_queued = false;
  if (timer->repeat_ms == 0) script_timer_end(host, id);
  return true;
}

void script_timers_end(Host *host) {
  const ScriptTimer *timer;
  for (uint32_t cursor = 0; (timer = slots_next(&host->timers, &cursor)) != NULL;)
    script_timer_end(host, timer->id);
}
