// The looks of a budget, what being over means, and where it was.
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
  SOON_US = 10000,        // the longest from one tick to the next
  LOOK_BYTES = 64 << 10,  // between two looks at a heap past its limit
  OWN_US = 1000000,  // over the budget, in which the host's own code gets to its end
  OWN_SHORT = 2000,  // instructions of it that may be back in the script's any moment
};

// The host whose call runs: one at a time in a process. A signal handler reads it.
static Host *volatile running;

// Of this thread. The one other clock that is read outside of net: it is no time of day.
static uint64_t processor_us(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

uint64_t budget_clock_us(void) { return net_real_us(); }

// --- Being over ---

static void keep(Buf *buf, const char *text) {
  buf->size = 0;
  buf_append(buf, text, strlen(text) + 1);
}

// "50 ms"; "1.5 s".
static void describe_time(char *out, size_t size, uint64_t us) {
  if (us < 1000000)
    snprintf(out, size, "%g ms", (double)us / 1e3);
  else
    snprintf(out, size, "%g s", (double)us / 1e6);
}

static void describe(const Budget *budget, char *out, size_t size) {
  char amount[32];
  if (budget->over == BUDGET_OVER_MEMORY) {
    snprintf(out, size, "the Lua heap is over memory_limit (%g MiB)",
             (double)budget->limits.memory / (1 << 20));
    return;
  }
  describe_time(amount, sizeof amount, budget->allowed_us);
  if (budget->is_load)
    snprintf(out, size, "loading the game took longer than %s", amount);
  else
    snprintf(out, size, "the handler ran longer than its budget of %s (handler_budget)",
             amount);
}

// Keeps what it was and where, because what catches errors on the way loses the stack.
static void note(Host *host, lua_State *L, BudgetOver over) {
  Budget *budget = &host->budget;
  char what[128];
  budget->over = over;
  describe(budget, what, sizeof what);
  trace_push_where(L);
  lua_pushstring(L, what);
  lua_concat(L, 2);
  keep(&budget->text, lua_tostring(L, -1));
  lua_pop(L, 1);
  trace_push(L, L, NULL, 0);
  keep(&budget->trace, lua_tostring(L, -1));
  lua_pop(L, 1);
}

static int raise_over(Host *host, lua_State *L) {
  if (!host->budget.is_alarmed) budget_alarm(host);
  luaL_checkstack(L, 1, NULL);
  lua_pushstring(L, (const char *)host->budget.text.data);
  return lua_error(L);
}

// A handler's own coroutine is left for good by a yield: it passes all pcalls, however
// many thousands, at no cost. Elsewhere an error has to do.
int budget_stop(Host *host, lua_State *L) {
  if (host->running != L || !lua_isyieldable(L)) return raise_over(host, L);
  return lua_yield(L, 0);
}

// The same in a hook, which must not raise an error as others do: the handler of an xpcall
// would run inside the hook, where there are no more hooks to end it. To refuse memory
// raises one that no handler is called for. A coroutine of the script's own is left by a
// yield, too; whoever resumed it is interrupted next.
static void stop_in_hook(Host *host, lua_State *L) {
  if (lua_isyieldable(L)) {
    lua_yield(L, 0);
    return;
  }
  lua_newtable(L);
  lua_pushboolean(L, true);
  host->memory.refuses_next = true;
  lua_rawseti(L, -2, 1);
  raise_over(host, L);
}

// --- Looking ---

static void set_alarm(Host *host) {
  size_t bytes = host->memory.bytes, limit = host->budget.limits.memory;
  host->budget.alarm_bytes = bytes < limit ? limit : bytes + LOOK_BYTES;
}

// Where the machine gave the processor to others meanwhile, a call is not at fault: its
// own processor time has to bear out what the clock says. That costs a system call, so it
// is looked at in long calls only, from a quarter of the time on.
static bool is_late(Budget *budget, uint64_t now_us) {
  uint64_t elapsed_us = now_us - budget->started_us, allowed_us = budget->allowed_us;
  if (elapsed_us < allowed_us / 4) return false;
  if (!budget->is_long) {
    budget->is_long = true;
    budget->processor_us = processor_us();
    return false;
  }
  if (elapsed_us <= allowed_us) return false;
  uint64_t owed_us = budget->is_patient ? allowed_us : allowed_us / 4;
  return processor_us() - budget->processor_us >= owed_us;
}

// Whether the call is over its budget.
static bool look(Host *host, lua_State *L) {
  Budget *budget = &host->budget;
  if (budget_is_over(budget)) return true;
  if (budget->allowed_us == UINT64_MAX) return false;
  budget->steps = 0;
  luaL_checkstack(L, 8, NULL);
  if (is_late(budget, budget_clock_us()))
    note(host, L, BUDGET_OVER_TIME);
  else if (memory_is_over(host, L))
    note(host, L, BUDGET_OVER_MEMORY);
  set_alarm(host);
  return budget_is_over(budget);
}

// Whether it is the host's own function that runs: those of scripts have another table of
// globals. Asked in each instruction of some, so it is not their names that are compared.
static bool is_in_own(lua_State *L, lua_Debug *at) {
  luaL_checkstack(L, 2, NULL);
  lua_getinfo(L, "f", at);
  lua_getfenv(L, -1);
  bool is_own = lua_rawequal(L, -1, LUA_GLOBALSINDEX);
  lua_pop(L, 2);
  return is_own;
}

// Interrupts Lua code. The host's own is let go on until it is back in the script's: it
// is short, charges what is not, and leaves nothing half done. Should it not be short it
// is ended, too: better half done than a server that hangs.
static void on_alarm(lua_State *L, lua_Debug *at) {
  Host *host = running;
  alarm_heard();
  if (host == NULL) {
    alarm_rest(L);
    return;
  }
  if (!host->budget.is_long_over && is_in_own(L, at)) {
    if (++host->budget.own_seen > OWN_SHORT) alarm_ease(L, on_alarm);
    return;
  }
  if (look(host, L)) {
    stop_in_hook(host, L);
    return;
  }
  host->budget.is_alarmed = false;
  alarm_rest(L);
}

void budget_alarm(Host *host) {
  host->budget.is_alarmed = true;
  host->budget.alarm_bytes = 0;
  alarm_raise(host->L, on_alarm);
}

// In a signal handler.
static void on_tick(const void *place) {
  Host *host = running;
  if (host == NULL) return;
  Budget *budget = &host->budget;
  uint64_t now_us = budget_clock_us(), end_us = budget->started_us + budget->allowed_us;
  if (!budget_is_over(budget) && !is_late(budget, now_us)) {
    if (now_us < end_us && end_us - now_us < SOON_US)
      alarm_tick_in(end_us - now_us + 1);
    return;
  }
  budget->is_alarmed = true;
  budget->own_seen = 0;
  if (now_us > end_us + OWN_US) budget->is_long_over = true;
  if (!alarm_signal(host->L, on_alarm, place)) budget->alarm_bytes = 1;
}

void budget_charge(Host *host, lua_State *L, uint32_t steps) {
  Budget *budget = &host->budget;
  budget->steps += steps;
  if (budget->steps < BUDGET_STEPS && !budget_is_over(budget)) return;
  if (look(host, L)) raise_over(host, L);
}

bool budget_is_spent(Host *host, lua_State *L) {
  if (running != host) return false;
  return budget_is_over(&host->budget) || (host->memory.was_refused && look(host, L));
}

// --- Calls ---

// Outside of calls of scripts nothing is ever over.
static void set_idle(Host *host) {
  running = NULL;
  host->budget.over = BUDGET_KEPT;
  host->budget.allowed_us = UINT64_MAX;
  host->budget.alarm_bytes = 0;
}

void budget_init(Host *host) {
  host->budget.is_patient = host->net != NULL && net_is_simulated(host->net);
  if (!alarm_open(host->L, on_tick))
    luaJIT_setmode(host->L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  host->budget.is_open = true;
  budget_tick(host);
  set_idle(host);
}

void budget_deinit(Host *host) {
  if (host->budget.is_open) alarm_close(host->L);
  buf_deinit(&host->budget.text);
  buf_deinit(&host->budget.trace);
}

void budget_tick(Host *host) { host->budget.now_us = budget_clock_us(); }

// Whether it runs no code of a script's. What has begun to hold by its end must not be left
// half done, however long it takes: a reload's last step writes a report.
static bool is_all_own(int type) {
  return type == ENTRY_FINISH || type == ENTRY_ROLL_BACK || type == ENTRY_SETTLE;
}

void budget_begin(Host *host) {
  Budget *budget = &host->budget;
  uint64_t allowed_us = budget->limits.handler_us;
  host->memory.was_refused = false;
  if (is_all_own(host->event.type)) return;
  budget->is_load = host->event.type == ENTRY_LOAD || host->event.type == EVENT_RELOAD;
  if (budget->is_load && allowed_us < BUDGET_LOAD_US) allowed_us = BUDGET_LOAD_US;
  budget->allowed_us = allowed_us;
  budget->started_us = budget->now_us;
  budget->started_bytes = host->memory.bytes;
  budget->steps = 0;
  budget->over = BUDGET_KEPT;
  budget->is_long = budget->is_long_over = false;
  set_alarm(host);
  running = host;
}

void budget_end(Host *host) {
  set_idle(host);
  if (!host->budget.is_alarmed) return;
  host->budget.is_alarmed = false;
  alarm_rest(host->L);
}
