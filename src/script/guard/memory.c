// Limits the Lua heap, and runs the collector before the heap reaches its limit.
#include "script/guard/memory.h"

#include "base/log.h"
#include "script/guard/deadline.h"
#include "script/host.h"

enum {
  STEP_KB = 64,      // KiB of allocation that one step of the collector makes up for
  SETTLE_US = 2000,  // time limit of memory_settle
  CYCLES = 2,       // full cycles that free all garbage which exists at their beginning
  GRACE = 4 << 20,  // bytes that a call may add to a heap that other calls have filled
  WARN_PERCENT = 80,   // percentage of the limit
  WARN_US = 60000000,  // time between two warnings
};

// Returns the bytes that a call may add to a heap that other calls have filled.
static size_t grace(size_t limit) {
  size_t usual = limit / 64 > GRACE ? limit / 64 : GRACE;
  return usual < limit / 8 ? usual : limit / 8;
}

static bool is_power_of_two(size_t size) { return (size & (size - 1)) == 0; }

// Returns whether the block is LuaJIT's table of all strings. It is never refused,
// because any new string may enlarge it.
static bool is_string_table(size_t old_size, size_t size) {
  return old_size == 0 && is_power_of_two(size);
}

// Guesses from the size whether a block is a string or a string buffer rather than a
// part of a table. Buffers are powers of two, hash parts of tables are powers of two
// times 24 bytes, and array parts grow in place to other sizes.
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

// Runs one step of the collector; returns whether it has ended a cycle.
static bool step(lua_State *L) { return lua_gc(L, LUA_GCSTEP, STEP_KB) != 0; }

static bool is_innocent(const Host *host) {
  const Memory *memory = &host->memory;
  size_t limit = host->deadline.heap_max;
  bool is_garbage = memory->live_bytes <= limit;
  return memory->bytes <= host->deadline.started_bytes + grace(limit) &&
         (is_garbage || memory->bytes <= limit / 4 * 5);
}

static bool fits(const Host *host) {
  return host->memory.bytes <= host->deadline.heap_max;
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

// --- The collector ---

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

// Computes the heap size at which the next full cycles of the collector begin. Called
// after full cycles.
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
  uint64_t start_us = deadline_clock_us(), end_us = now_us + SETTLE_US, last_us;
  do {
    if (step(host->L) && --memory->cycles == 0) {
      plan(host);
      warn(host, now_us);
    }
    last_us = deadline_clock_us();
  } while (memory->cycles > 0 && last_us < end_us);
  memory->collector_us += last_us - start_us;
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
