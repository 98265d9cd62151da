// The looks of a budget: when to look next, what being over means, and where it was.
#include "script/budget.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "script/core.h"
#include "script/host.h"
#include "script/memory.h"
#include "script/trace.h"

// Looks are rare enough to cost little, and so near to each other that a call ends soon
// after its deadline even where each round of its loop takes long or makes large things.
enum {
  COUNT_FIRST = 8,
  COUNT_MAX = 4096,
  COUNT_GROWTH = 2,       // from one look to the next
  LOOK_US = 20,           // from look to look
  LOOK_BYTES = 64 << 10,  // allocated between two
  PATIENCE_US = 50000,    // after its deadline that a call gets at most, if held up
  DRY = 0,                // what a counter has left when the next check has to look
};

enum { COUNTER_AT = 1 };  // on the budget's own stack

// Of this thread. The one other clock that is read outside of net: it is no time of day.
static uint64_t processor_us(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

uint64_t budget_clock_us(void) { return net_real_us(); }

uint32_t budget_count(uint32_t count, uint64_t elapsed_us, uint64_t bytes) {
  uint64_t next = (uint64_t)count * COUNT_GROWTH;
  if (elapsed_us > LOOK_US / COUNT_GROWTH) {
    uint64_t fitting = (uint64_t)count * LOOK_US / elapsed_us;
    if (fitting < next) next = fitting;
  }
  if (bytes > LOOK_BYTES / COUNT_GROWTH) {
    uint64_t fitting = (uint64_t)count * LOOK_BYTES / bytes;
    if (fitting < next) next = fitting;
  }
  if (next < 1) return 1;
  return next > COUNT_MAX ? COUNT_MAX : (uint32_t)next;
}

static void set_left(Budget *budget, uint32_t left) {
  lua_pushinteger(budget->L, (lua_Integer)left);
  for (int i = COUNTER_MORE; i <= COUNTER_SIZE; i++) {
    lua_pushvalue(budget->L, -1);
    lua_rawseti(budget->L, COUNTER_AT, i);
  }
  lua_rawseti(budget->L, COUNTER_AT, COUNTER_LEFT);
}

// --- Being over ---

// Pushes "file:line: " of the innermost function of the script's; "" when there is none
// on this coroutine.
static void push_where(lua_State *L) {
  static const char OWN[] = "@lua/perigee/";
  lua_Debug at;
  for (int level = 0; lua_getstack(L, level, &at); level++) {
    lua_getinfo(L, "Sl", &at);
    if (at.currentline <= 0 || strncmp(at.source, OWN, sizeof OWN - 1) == 0) continue;
    const char *source = at.source[0] == '@' ? at.source + 1 : at.short_src;
    lua_pushfstring(L, "%s:%d: ", source, at.currentline);
    return;
  }
  lua_pushliteral(L, "");
}

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
  push_where(L);
  lua_pushstring(L, what);
  lua_concat(L, 2);
  keep(&budget->text, lua_tostring(L, -1));
  lua_pop(L, 1);
  trace_push(L, L, NULL, 0);
  keep(&budget->trace, lua_tostring(L, -1));
  lua_pop(L, 1);
}

static int raise(Budget *budget, lua_State *L) {
  set_left(budget, DRY);
  luaL_checkstack(L, 1, NULL);
  lua_pushstring(L, (const char *)budget->text.data);
  return lua_error(L);
}

// A handler's own coroutine is left for good by a yield: it passes all pcalls, however
// many thousands, at no cost. Elsewhere an error has to do.
int budget_stop(Host *host, lua_State *L) {
  if (host->running != L || !lua_isyieldable(L)) return raise(&host->budget, L);
  set_left(&host->budget, DRY);
  return lua_yield(L, 0);
}

// --- Looking ---

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
  if (budget->is_patient) return processor_us() - budget->processor_us >= allowed_us;
  return elapsed_us - allowed_us > PATIENCE_US ||
         processor_us() - budget->processor_us >= allowed_us / 4;
}

// Whether the call is over its budget; when not, chooses when to look again.
static bool look(Host *host, lua_State *L) {
  Budget *budget = &host->budget;
  budget->has_looked = true;
  if (budget_is_over(budget)) return true;
  uint64_t now_us = budget_clock_us();
  budget->steps = 0;
  luaL_checkstack(L, 8, NULL);
  if (is_late(budget, now_us))
    note(host, L, BUDGET_OVER_TIME);
  else if (memory_is_over(host, L))
    note(host, L, BUDGET_OVER_MEMORY);
  budget->count = budget_count(budget->count, now_us - budget->looked_us,
                               host->memory.allocated - budget->looked_allocated);
  budget->looked_us = now_us;
  budget->looked_allocated = host->memory.allocated;
  return budget_is_over(budget);
}

// What a check calls when the counter has run out.
static int on_dry(lua_State *L) {
  Host *host = core_host(L);
  if (look(host, L)) return budget_stop(host, L);
  set_left(&host->budget, host->budget.count);
  return 0;
}

void budget_charge(Host *host, lua_State *L, uint32_t steps) {
  Budget *budget = &host->budget;
  budget->steps += steps;
  if (budget->steps < BUDGET_STEPS && !budget_is_over(budget)) return;
  if (look(host, L)) raise(budget, L);
}

bool budget_is_spent(Host *host, lua_State *L) {
  if (host->running == NULL) return false;
  return budget_is_over(&host->budget) || (host->memory.was_refused && look(host, L));
}

// --- Calls ---

void budget_init(Host *host, lua_State *L) {
  Budget *budget = &host->budget;
  budget->L = lua_newthread(L);
  luaL_ref(L, LUA_REGISTRYINDEX);
  lua_createtable(budget->L, COUNTER_SIZE, 0);
  lua_pushlightuserdata(budget->L, host);
  lua_pushcclosure(budget->L, on_dry, 1);
  lua_rawseti(budget->L, COUNTER_AT, COUNTER_LOOK);
  budget->has_looked = true;
  budget->is_patient = host->net != NULL && net_is_simulated(host->net);
  budget_tick(host);
  budget_begin(host);
  budget_end(host);
}

void budget_deinit(Budget *budget) {
  buf_deinit(&budget->text);
  buf_deinit(&budget->trace);
}

void budget_push_counter(Host *host, lua_State *L) {
  lua_pushvalue(host->budget.L, COUNTER_AT);
  lua_xmove(host->budget.L, L, 1);
}

void budget_tick(Host *host) { host->budget.now_us = budget_clock_us(); }

void budget_begin(Host *host) {
  Budget *budget = &host->budget;
  uint64_t allowed_us = budget->limits.handler_us;
  budget->is_load = host->event.type == ENTRY_LOAD || host->event.type == EVENT_RELOAD;
  if (budget->is_load && allowed_us < BUDGET_LOAD_US) allowed_us = BUDGET_LOAD_US;
  budget->allowed_us = allowed_us;
  budget->started_us = budget->looked_us = budget->now_us;
  budget->started_bytes = host->memory.bytes;
  host->memory.was_refused = false;
  budget->looked_allocated = host->memory.allocated;
  budget->steps = 0;
  budget->over = BUDGET_KEPT;
  budget->is_long = false;
  // Where no look was taken, what is left over from the last call is no more than a
  // first count.
  if (!budget->has_looked) return;
  budget->has_looked = false;
  budget->count = COUNT_FIRST;
  set_left(budget, COUNT_FIRST);
}

void budget_end(Host *host) {
  host->budget.over = BUDGET_KEPT;
  host->budget.allowed_us = UINT64_MAX;
}
