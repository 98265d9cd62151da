// Timers of the script. A timer queues an event when it fires, unless its last event
// still waits.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct Host Host;

/// Reserves a timer and queues its COMMAND_TIMER_SET. The time of its handlers is
/// charged to `peer`; if `peer` is 0, to `room`; if both are 0, to the game. A timer
/// with `repeat_ms` 0 fires once. Returns the timer's id, or 0 if too many timers
/// exist.
uint32_t script_timer_set(Host *host, uint64_t delay_ms, uint64_t repeat_ms,
                          uint32_t peer, uint32_t room, bool is_of_wait);

/// Queues COMMAND_TIMER_CANCEL; returns false if the timer does not exist.
bool script_timer_cancel(Host *host, uint32_t id);

/// Starts a reserved timer.
void script_timer_start(Host *host, uint32_t id);

/// Stops and frees the timer if it exists.
void script_timer_end(Host *host, uint32_t id);

/// Reports that the timer's event was taken, so that the next one may be queued. Ends a
/// timer that fires once. Returns false if the timer does not exist.
bool script_timer_take(Host *host, uint32_t id);

void script_timers_end(Host *host);
