// Signals: one that ticks, and the profiler's own.
#define _GNU_SOURCE
#include "script/guard/interrupt.h"

#include <assert.h>
#include <errno.h>
#include <link.h>
#include <luajit.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

// ThreadSanitizer keeps a signal until the program next calls it, which compiled Lua code does
// not. One that an instruction may have caused it lets through; then its own work must not
// be interrupted by code that it watches.
#if defined(__SANITIZE_THREAD__)
enum { TICK_SIGNAL = SIGTRAP };
#define NOT_WATCHED __attribute__((no_sanitize("thread")))
#else
enum { TICK_SIGNAL = SIGVTALRM };
#define NOT_WATCHED
#endif

enum {
  TICK_NS =
      2000000,  // of processor time; the kernel rounds up to its own tick, 1 to 10 ms
  AGAIN_US = 100,    // from an alarm that may not have been heard to the next try
  UNHEARD_MAX = 50,  // tries after which it is not the interpreter that runs
  RANGES_MAX = 256,  // of code in files; a process has some forty
  EASED = 61,        // instructions from one call of a hook to the next, once eased; a
                     // prime, so that in a loop it is not always the same that are seen
};

// "l": code is compiled with a test in each line. "i": milliseconds between samples; the
// timer is stopped before the first.
static const char PROFILE_MODE[] = "li1000000";

typedef struct Range {
  uintptr_t start, end;
  bool is_lua;  // LuaJIT's own
} Range;

// Of the process, as signals are.
static struct {
  int states;           // that are open
  lua_State *profiled;  // the one whose compiled code hears alarms
  AlarmTick *tick;
  timer_t ticks, once;
  volatile sig_atomic_t unheard;  // tries since a hook was called
  struct sigaction before;
  Range ranges[RANGES_MAX];  // of the code of the program and its libraries
  int range_count;
} alarms;

// --- Where a signal came ---

static int add_ranges(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  (void)data;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    if (alarms.range_count == RANGES_MAX) return 1;
    uintptr_t start = info->dlpi_addr + part->p_vaddr;
    alarms.ranges[alarms.range_count++] = (Range){
        start, start + part->p_memsz, strstr(info->dlpi_name, "libluajit") != NULL};
  }
  return 0;
}

// False when there is more code than can be noted.
static bool learn_ranges(void) {
  alarms.range_count = 0;
  return dl_iterate_phdr(add_ranges, NULL) == 0;
}

NOT_WATCHED static uintptr_t place_of(const ucontext_t *context) {
#if defined(__x86_64__)
  return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  return (uintptr_t)context->uc_mcontext.pc;
#else
#error "tell here at which instruction a signal came"
#endif
}

NOT_WATCHED static const Range *range_of(const void *place) {
  uintptr_t at = place_of(place);
  for (int i = 0; i < alarms.range_count; i++) {
    const Range *range = &alarms.ranges[i];
    if (at >= range->start && at < range->end) return range;
  }
  return NULL;
}

// Code that is in no file is what the JIT has made.
static bool is_compiled(const void *place) { return range_of(place) == NULL; }

// Whether `tick` may run there.
NOT_WATCHED static bool is_place_for_ticks(const void *place) {
#if defined(__SANITIZE_THREAD__)
  const Range *range = range_of(place);
  return range == NULL || range->is_lua;
#else
  (void)place;
  return true;
#endif
}

// --- Ticks ---

NOT_WATCHED static void on_signal(int number, siginfo_t *info, void *place) {
  (void)number;
  (void)info;
  if (!is_place_for_ticks(place)) return;
  int error = errno;
  alarms.tick(place);
  errno = error;
}

// A timer whose signal comes to this thread; glibc has no name for the member that says so.
static int make_timer(clockid_t clock, timer_t *timer) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = TICK_SIGNAL};
  event._sigev_un._tid = gettid();
  return timer_create(clock, &event, timer);
}

static void start_ticks(void) {
  struct sigaction action = {.sa_sigaction = on_signal,
                             .sa_flags = SA_RESTART | SA_SIGINFO};
  sigemptyset(&action.sa_mask);
  struct itimerspec every = {.it_interval = {.tv_nsec = TICK_NS},
                             .it_value = {.tv_nsec = TICK_NS}};
  int failed = sigaction(TICK_SIGNAL, &action, &alarms.before);
  failed |= make_timer(CLOCK_MONOTONIC, &alarms.once);
  failed |= make_timer(CLOCK_THREAD_CPUTIME_ID, &alarms.ticks);
  failed |= timer_settime(alarms.ticks, 0, &every, NULL);
  assert(!failed);
}

static void stop_ticks(void) {
  timer_delete(alarms.ticks);
  timer_delete(alarms.once);
  sigaction(TICK_SIGNAL, &alarms.before, NULL);
}

void alarm_tick_in(uint64_t us) {
  struct itimerspec once = {.it_value = {.tv_sec = (time_t)(us / 1000000),
                                         .tv_nsec = (long)(us % 1000000) * 1000}};
  timer_settime(alarms.once, 0, &once, NULL);
}

// --- States ---

// There are no samples: compiled code only has to go back to the interpreter.
static void on_sample(void *data, lua_State *L, int samples, int vm_state) {
  (void)data;
  (void)L;
  (void)samples;
  (void)vm_state;
}

bool alarm_open(lua_State *L, AlarmTick *tick) {
  alarms.tick = tick;
  if (alarms.states++ == 0) start_ticks();
  if (alarms.profiled != NULL || !learn_ranges()) return false;
  alarms.profiled = L;
  luaJIT_profile_start(L, PROFILE_MODE, on_sample, NULL);
  struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_PROF, &never, NULL);
  return true;
}

void alarm_close(lua_State *L) {
  if (alarms.profiled == L) {
    luaJIT_profile_stop(L);
    alarms.profiled = NULL;
  }
  if (--alarms.states == 0) stop_ticks();
}

void alarm_raise(lua_State *L, lua_Hook hook) {
  lua_sethook(L, hook, LUA_MASKCOUNT, 1);
  if (alarms.profiled == L) raise(SIGPROF);
}

bool alarm_signal(lua_State *L, lua_Hook hook, const void *place) {
  lua_sethook(L, NULL, 0, 0);  // so that LuaJIT takes the next for a change
  if (is_compiled(place) || ++alarms.unheard > UNHEARD_MAX) {
    alarm_raise(L, hook);
    return true;
  }
  lua_sethook(L, hook, LUA_MASKCOUNT, 1);
  alarm_tick_in(AGAIN_US);
  return false;
}

void alarm_heard(void) { alarms.unheard = 0; }

void alarm_ease(lua_State *L, lua_Hook hook) {
  lua_sethook(L, hook, LUA_MASKCOUNT, EASED);
}

void alarm_rest(lua_State *L) {
  alarms.unheard = 0;
  lua_sethook(L, NULL, 0, 0);
}
