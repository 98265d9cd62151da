// Timers of the script. A timer that fires pushes an event, and no second one while that
// waits.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct Host Host;

/// Reserves a timer and queues its COMMAND_TIMER_SET. Its handlers' time is charged to
/// `peer`, or (0) to `room`, or (0) to the game. `repeat_ms` 0: it fires once. Returns its
/// id, or 0 when there are too many.
uint32_t script_timer_set(Host *host, uint64_t delay_ms, uint64_t repeat_ms,
                          uint32_t peer, uint32_t room);

/// Queues COMMAND_TIMER_CANCEL; returns false when there is no such timer.
bool script_timer_cancel(Host *host, uint32_t id);

/// Starts a timer that was reserved.
void script_timer_start(Host *host, uint32_t id);

/// Stops and frees the timer; does nothing for one that is gone.
void script_timer_end(Host *host, uint32_t id);

/// Reports that the timer's event was taken: the next one may be queued, and a timer that
/// fires once ends. Returns false when it is gone.
bool script_timer_take(Host *host, uint32_t id);

void script_timers_end(Host *host);
