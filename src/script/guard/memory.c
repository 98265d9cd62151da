// How big the Lua heap may be, and keeping the collector ahead of that.
#include "script/guard/memory.h"

#include "base/log.h"
#include "script/guard/deadline.h"
#include "script/host.h"

enum {
  STEP_KB = 64,        // of allocation that one step of the collector makes up for
  SETTLE_US = 2000,    // that memory_settle may take
  CYCLES = 2,          // after which all is gone that was garbage at the start
  GRACE = 4 << 20,     // bytes that a call may add where others have filled the heap
  WARN_PERCENT = 80,   // of the limit
  WARN_US = 60000000,  // between two warnings
};

// What a call may add to a heap that is over its limit already through no fault of its
// own. Where that is no garbage, but what the game keeps, only up to a quarter over.
static size_t grace(size_t limit) {
  size_t usual = limit / 64 > GRACE ? limit / 64 : GRACE;
  return usual < limit / 8 ? usual : limit / 8;
}

static bool is_power_of_two(size_t size) { return (size & (size - 1)) == 0; }

// Whether it is LuaJIT's table of all strings, which may grow wherever one is made. It is no
// string, and like small blocks it is never refused.
static bool is_string_table(size_t old_size, size_t size) {
  return old_size == 0 && is_power_of_two(size);
}

// Whether it is a string or the buffer that one is made in, and no part of a table: a
// guess from what LuaJIT asks for. Buffers are powers of two, the hash parts of tables
// as many times 24 bytes; their array parts grow in place and are neither.
static bool is_text(size_t old_size, size_t size) {
  if (old_size > 0) return is_power_of_two(size);
  return !(size % 24 == 0 && is_power_of_two(size / 24));
}

bool memory_grants(Host *host, size_t old_size, size_t size) {
  Memory *memory = &host->memory;
  if (memory->refuses_next) {
    memory->refuses_next = false;
    return false;
  }
  if (size < MEMORY_SMALL || is_string_table(old_size, size)) return true;
  if (host->running == NULL || deadline_is_over(&host->deadline)) return true;
  size_t hard_cap = host->deadline.limits.memory * DEADLINE_HARD_RATIO;
  bool is_granted = memory->bytes + (size - old_size) <= hard_cap;
  bool is_string = is_text(old_size, size);
  if (size > MEMORY_TEXT_MAX && is_string) is_granted = false;
  bool is_counted = is_string || host->options.has_no_jit;
  if (is_counted && memory->refuse_in > 0 && --memory->refuse_in == 0)
    is_granted = false;
  if (!is_granted) memory->was_refused = true;
  return is_granted;
}

// One step; whether a cycle of the collector has ended with it.
static bool step(lua_State *L) { return lua_gc(L, LUA_GCSTEP, STEP_KB) != 0; }

static bool is_innocent(const Host *host) {
  const Memory *memory = &host->memory;
  size_t limit = host->deadline.limits.memory;
  bool is_garbage = memory->live_bytes <= limit;
  return memory->bytes <= host->deadline.started_bytes + grace(limit) &&
         (is_garbage || memory->bytes <= limit / 4 * 5);
}

static bool fits(const Host *host) {
  return host->memory.bytes <= host->deadline.limits.memory;
}

bool memory_is_over(Host *host, lua_State *L) {
  const Memory *memory = &host->memory;
  const Deadline *deadline = &host->deadline;
  if (host->running == NULL) return false;
  if (memory->was_refused) return true;
  if (fits(host) || is_innocent(host)) return false;
  for (int cycles = 0; cycles < CYCLES && !fits(host);) {
    if (step(L)) cycles++;
    if (deadline_clock_us() - deadline->started_us > deadline->allowed_us) break;
  }
  return !fits(host);
}

void memory_reclaim(Host *host) { host->memory.cycles = CYCLES; }

// --- Keeping ahead ---

static void warn(Host *host, uint64_t now_us) {
  Memory *memory = &host->memory;
  size_t limit = host->deadline.limits.memory;
  if (memory->bytes < limit / 100 * WARN_PERCENT) return;
  if (memory->warned_us != 0 && now_us - memory->warned_us < WARN_US) return;
  memory->warned_us = now_us;
  log_warn("the Lua heap is close to memory_limit",
           log_num("mib", (int64_t)(memory->bytes >> 20)),
           log_num("limit_mib", (int64_t)(limit >> 20)));
}

// Sets the size at which the next full cycles are due, by what the last ones left.
static void plan(Host *host) {
  Memory *memory = &host->memory;
  size_t limit = host->deadline.limits.memory, live = memory->bytes;
  memory->live_bytes = live;
  size_t room = live < limit ? (limit - live) / 4 : 0;
  memory->next_bytes = live + (room > limit / 32 ? room : limit / 32);
  if (memory->next_bytes < limit / 2) memory->next_bytes = limit / 2;
}

static void collect(Host *host, uint64_t now_us) {
  Memory *memory = &host->memory;
  if (memory->cycles == 0) {
    if (memory->next_bytes == 0) plan(host);
    if (memory->bytes < memory->next_bytes) return;
    memory->cycles = CYCLES;
  }
  uint64_t end_us = now_us + SETTLE_US;
  do {
    if (step(host->L) && --memory->cycles == 0) {
      plan(host);
      warn(host, now_us);
    }
  } while (memory->cycles > 0 && deadline_clock_us() < end_us);
}

void memory_settle(Host *host, uint64_t now_us) {
  Memory *memory = &host->memory;
  collect(host, now_us);
  pages_settle(&memory->pages, memory->allocate, memory->arena, memory->bytes, now_us);
}

bool memory_is_pressed(const Host *host) {
  const Memory *memory = &host->memory;
  return memory->pages.is_running ||
         (memory->cycles > 0 && memory->bytes > host->deadline.limits.memory / 4 * 3);
}
