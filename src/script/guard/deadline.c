// Checks clock and heap. Ends calls that exceed a limit, and stores their tracebacks.
#include "script/guard/deadline.h"

#include <lauxlib.h>
#include <luajit.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "script/core.h"
#include "script/guard/interrupt.h"
#include "script/guard/memory.h"
#include "script/guard/trace.h"
#include "script/host.h"

enum {
  SOON_US = 10000,        // longest time between two ticks
  LOOK_BYTES = 64 << 10,  // growth between two checks of a heap beyond its limit
  OWN_US = 1000000,  // time after the deadline in which the host's own code may end
};

// The host of this thread's running call. Signal handlers read it.
static _Thread_local Host *volatile running;

// Returns the processor time of this thread. Only net may read clocks, but processor
// time is not a time of day, so this file may read it.
static uint64_t processor_us(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

uint64_t deadline_clock_us(void) { return net_real_us(); }

// --- Ending a call ---

static void keep(Buf *buf, const char *text) {
  buf->size = 0;
  buf_append(buf, text, strlen(text) + 1);
}

// Writes a time such as "50 ms" or "1.5 s".
static void describe_time(char *out, size_t size, uint64_t us) {
  if (us < 1000000)
    snprintf(out, size, "%g ms", (double)us / 1e3);
  else
    snprintf(out, size, "%g s", (double)us / 1e6);
}

static void describe(const Deadline *deadline, bool is_console, char *out,
                     size_t size) {
  char amount[32];
  if (deadline->over == DEADLINE_OVER_MEMORY && is_console) {
    snprintf(out, size, "the line needs more memory than the %d MiB of a line",
             DEADLINE_CONSOLE_BYTES >> 20);
    return;
  }
  if (deadline->over == DEADLINE_OVER_MEMORY) {
    snprintf(out, size, "the Lua heap is over memory_limit (%g MiB)",
             (double)deadline->limits.memory / (1 << 20));
    return;
  }
  describe_time(amount, sizeof amount, deadline->allowed_us);
  if (is_console)
    snprintf(out, size, "the line ran longer than %s", amount);
  else if (deadline->is_load)
    snprintf(out, size, "loading the game took longer than %s", amount);
  else
    snprintf(out, size, "the handler ran longer than its budget of %s (handler_budget)",
             amount);
}

// Stores error and traceback, because code that catches the error loses the stack.
static void note(Host *host, lua_State *L, DeadlineOver over) {
  Deadline *deadline = &host->deadline;
  char what[128];
  deadline->over = over;
  describe(deadline, host->event.type == EVENT_CONSOLE, what, sizeof what);
  trace_push_where(L);
  lua_pushstring(L, what);
  lua_concat(L, 2);
  keep(&deadline->text, lua_tostring(L, -1));
  lua_pop(L, 1);
  trace_push(L, L, NULL, 0);
  keep(&deadline->trace, lua_tostring(L, -1));
  lua_pop(L, 1);
}

static void raise_over(Host *host, lua_State *L) {
  if (!host->deadline.is_interrupted) deadline_interrupt(host);
  luaL_checkstack(L, 1, NULL);
  lua_pushstring(L, (const char *)host->deadline.text.data);
  lua_error(L);
}

// Raises an error inside a hook. Makes LuaJIT raise the error of refused memory,
// because this error calls no handler of an xpcall. Such a handler would run inside the
// hook, where no other hook could end it.
static void raise_in_hook(Host *host, lua_State *L) {
  lua_newtable(L);
  lua_pushboolean(L, true);
  host->memory.refuses_next = true;
  lua_rawseti(L, -2, 1);
  raise_over(host, L);
}

// --- Checking ---

static void set_interrupt_bytes(Host *host) {
  size_t bytes = host->memory.bytes, limit = host->deadline.heap_max;
  host->deadline.interrupt_bytes = bytes < limit ? limit : bytes + LOOK_BYTES;
}

// Returns whether the call has exceeded its time. Processor time must confirm the
// clock, because the script is not at fault if the machine is busy. Reading processor
// time is a system call. Therefore it is read only after a quarter of the call's time.
static bool is_late(Deadline *deadline, uint64_t now_us) {
  uint64_t elapsed_us = now_us - deadline->started_us,
           allowed_us = deadline->allowed_us;
  if (elapsed_us < allowed_us / 4) return false;
  if (!deadline->is_long) {
    deadline->is_long = true;
    deadline->processor_us = processor_us();
    return false;
  }
  if (elapsed_us <= allowed_us) return false;
  uint64_t owed_us = deadline->is_patient ? allowed_us : allowed_us / 4;
  return processor_us() - deadline->processor_us >= owed_us;
}

// Checks clock and heap; returns whether the call has exceeded a limit.
static bool look(Host *host, lua_State *L) {
  Deadline *deadline = &host->deadline;
  if (deadline_is_over(deadline)) return true;
  if (deadline->allowed_us == UINT64_MAX) return false;
  deadline->steps = 0;
  luaL_checkstack(L, 8, NULL);
  if (is_late(deadline, deadline_clock_us()))
    note(host, L, DEADLINE_OVER_TIME);
  else if (memory_is_over(host, L))
    note(host, L, DEADLINE_OVER_MEMORY);
  set_interrupt_bytes(host);
  return deadline_is_over(deadline);
}

// Returns whether a function of the host is running. Functions of scripts have another
// table of globals. This function is fast, because it runs before many instructions.
static bool is_in_own(lua_State *L, lua_Debug *at) {
  luaL_checkstack(L, 2, NULL);
  lua_getinfo(L, "f", at);
  lua_getfenv(L, -1);
  bool is_own = lua_rawequal(L, -1, LUA_GLOBALSINDEX);
  lua_pop(L, 2);
  return is_own;
}

// Interrupts Lua code. Code of the host continues until it returns to the script, so
// that it completes its work. If the host's code takes too long, this function ends it,
// too, because the server must not hang.
static void on_interrupt(lua_State *L, lua_Debug *at) {
  Host *host = running;
  interrupt_seen();
  if (host == NULL) {
    interrupt_end(L);
    return;
  }
  if (host->deadline.is_sampled) {
    host->deadline.is_sampled = false;
    profile_take(host->profile, L);
    if (!host->deadline.is_interrupted) {
      interrupt_end(L);
      return;
    }
  }
  if (!host->deadline.is_long_over && is_in_own(L, at)) return;
  if (look(host, L)) {
    raise_in_hook(host, L);
    return;
  }
  host->deadline.is_interrupted = false;
  interrupt_end(L);
}

void deadline_interrupt(Host *host) {
  host->deadline.is_interrupted = true;
  host->deadline.interrupt_bytes = 0;
  interrupt_raise(host->L, on_interrupt);
}

void deadline_sample(Host *host) {
  host->deadline.is_sampled = true;
  if (!host->deadline.is_interrupted) interrupt_raise(host->L, on_interrupt);
}

// Ticks for samples stop while no handler runs, because a thread that waits would wake up
// for each.
static _Thread_local volatile bool are_samples_on;

// Requests a sample in a signal handler. A C function that charges its work takes it at
// its next charge, so that the sample has the line of its call.
static void request_sample(Host *host, const void *place) {
  uint64_t now_us = deadline_clock_us();
  const volatile int32_t *activity =
      host != NULL ? host->memory.collector.activity : NULL;
  int state = activity != NULL ? *activity : 0;
  if (host == NULL || host->profile == NULL ||
      !profile_request(host->profile, state, now_us)) {
    interrupt_sample_every(0, 0);
    are_samples_on = false;
    return;
  }
  host->deadline.is_sampled = true;
  host->deadline.steps = DEADLINE_STEPS;
  if (!host->deadline.is_interrupted)
    interrupt_sample(host->L, on_interrupt, place, activity != NULL && state >= 0);
}

// Checks the clock in a signal handler. The tick is also a sample: the processor time
// since the last tick counts as the collector's if the collector is running.
static void on_tick(const void *place, bool is_sample) {
  static _Thread_local uint64_t last_us;
  Host *host = running;
  uint64_t used_us = processor_us(), since_us = used_us - last_us;
  last_us = used_us;
  if (is_sample) request_sample(host, place);
  if (host == NULL) return;
  if (collector_is_running(&host->memory.collector))
    host->memory.collector_us += since_us;
  Deadline *deadline = &host->deadline;
  uint64_t now_us = deadline_clock_us(),
           end_us = deadline->started_us + deadline->allowed_us;
  if (!deadline_is_over(deadline) && !is_late(deadline, now_us)) {
    if (now_us < end_us && end_us - now_us < SOON_US)
      interrupt_tick_in(end_us - now_us + 1);
    return;
  }
  deadline->is_interrupted = true;
  if (now_us > end_us + OWN_US) deadline->is_long_over = true;
  if (!interrupt_signal(host->L, on_interrupt, place)) deadline->interrupt_bytes = 1;
}

void deadline_charge(Host *host, lua_State *L, uint32_t steps) {
  Deadline *deadline = &host->deadline;
  deadline->steps += steps;
  if (deadline->steps < DEADLINE_STEPS && !deadline_is_over(deadline)) return;
  if (deadline->is_sampled) profile_take(host->profile, L);
  if (look(host, L)) raise_over(host, L);
}

// --- Calls ---

// Removes all limits, because no script runs.
static void set_idle(Host *host) {
  running = NULL;
  host->deadline.over = DEADLINE_KEPT;
  host->deadline.allowed_us = UINT64_MAX;
  host->deadline.interrupt_bytes = 0;
}

void deadline_init(Host *host) {
  host->deadline.is_patient = host->net != NULL && net_is_simulated(host->net);
  if (!interrupt_open(host->L, on_tick))
    luaJIT_setmode(host->L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  host->deadline.is_open = true;
  deadline_tick(host);
  set_idle(host);
}

void deadline_deinit(Host *host) {
  if (host->deadline.is_open) interrupt_close(host->L);
  buf_deinit(&host->deadline.text);
  buf_deinit(&host->deadline.trace);
}

void deadline_tick(Host *host) { host->deadline.now_us = deadline_clock_us(); }

void deadline_begin(Host *host) {
  Deadline *deadline = &host->deadline;
  uint64_t allowed_us = deadline->limits.handler_us;
  host->memory.was_refused = false;
  if (host->profile != NULL) {
    profile_end_call(host->profile, "other");
    uint64_t first_us =
        are_samples_on ? 0 : profile_begin_call(host->profile, deadline->now_us);
    are_samples_on = are_samples_on || first_us > 0;
    if (first_us > 0) interrupt_sample_every(first_us, PROFILE_EVERY_US);
  }
  // The state machine of reloads runs no code of the game, and must complete its work.
  if (host->event.type == EVENT_RELOAD) return;
  deadline->is_load =
      host->event.type == ENTRY_LOAD || host->event.type == ENTRY_RESTORE;
  if (deadline->is_load && allowed_us < DEADLINE_LOAD_US) allowed_us = DEADLINE_LOAD_US;
  deadline->started_us = deadline->now_us;
  deadline->started_bytes = host->memory.bytes;
  deadline->heap_max = deadline->limits.memory;
  if (host->event.type == EVENT_CONSOLE) {
    size_t most = host->memory.bytes + DEADLINE_CONSOLE_BYTES;
    if (most < deadline->heap_max) deadline->heap_max = most;
    allowed_us = DEADLINE_CONSOLE_US;
  }
  deadline->allowed_us = allowed_us;
  deadline->steps = 0;
  deadline->over = DEADLINE_KEPT;
  deadline->is_long = deadline->is_long_over = false;
  set_interrupt_bytes(host);
  running = host;
}

void deadline_end(Host *host) {
  set_idle(host);
  if (!host->deadline.is_interrupted && !host->deadline.is_sampled) return;
  host->deadline.is_interrupted = host->deadline.is_sampled = false;
  interrupt_end(host->L);
}
