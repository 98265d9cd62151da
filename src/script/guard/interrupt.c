// Interrupts use two signals: TICK_SIGNAL for ticks, and SIGPROF, the profiler's
// signal.
#define _GNU_SOURCE
#include "script/guard/interrupt.h"

#include <assert.h>
#include <errno.h>
#include <link.h>
#include <luajit.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

#include "os/thread.h"

// ThreadSanitizer delays a signal until the program next calls the sanitizer, which
// compiled Lua code never does. It does not delay signals that an instruction may have
// caused. The handler of such a signal must not contain code that the sanitizer
// watches.
#if defined(__SANITIZE_THREAD__)
enum { TICK_SIGNAL = SIGTRAP };
#define NOT_WATCHED __attribute__((no_sanitize("thread")))
#else
enum { TICK_SIGNAL = SIGVTALRM };
#define NOT_WATCHED
#endif

enum {
  TICK_NS = 2000000,  // processor time between ticks; the kernel rounds it up to 1 to
                      // 10 ms
  AGAIN_US = 100,     // time until the next try, after an interrupt that may have no
                      // effect
  UNHEARD_MAX = 50,  // tries without a call of the hook, after which no Lua code can be
                     // in the interpreter
  RANGES_MAX = 256,  // ranges of code in files; a process has about forty
};

// "l" makes compiled code check in each line. "i" gives the milliseconds between
// samples; start_profiler stops the timer before the first sample.
static const char PROFILE_MODE[] = "li1000000";

typedef struct Range {
  uintptr_t start, end;
  bool is_lua;  // whether the code belongs to LuaJIT
} Range;

// State of the whole process, because signals belong to the process. It is written
// under the lock. Signal handlers read only parts that do not change while a state is
// open.
static struct {
  pthread_mutex_t lock;
  int states;                     // number of open states
  _Atomic(lua_State *) profiled;  // state whose compiled code can be interrupted
  InterruptTick *tick;
  struct sigaction tick_before, profile_before;  // handlers of the embedding program
  struct sigaction profile;                      // handler of LuaJIT
  Range ranges[RANGES_MAX];  // code of the program and its libraries
  int range_count;           // number of ranges; -1: more than RANGES_MAX exist
} interrupts = {.lock = PTHREAD_MUTEX_INITIALIZER};

// The ticks of a thread, for all states that the thread has opened.
static _Thread_local struct {
  int states;
  timer_t ticks, once, samples;
  volatile sig_atomic_t unheard;  // tries since a hook was last called
} own;

// --- The place of a signal ---

static int add_ranges(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  (void)data;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    if (interrupts.range_count == RANGES_MAX) return 1;
    uintptr_t start = info->dlpi_addr + part->p_vaddr;
    interrupts.ranges[interrupts.range_count++] = (Range){
        start, start + part->p_memsz, strstr(info->dlpi_name, "libluajit") != NULL};
  }
  return 0;
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

// Returns the range of a place, or NULL for compiled code, which is not in a file.
NOT_WATCHED static const Range *range_of(const void *place) {
  uintptr_t at = place_of(place);
  for (int i = 0; i < interrupts.range_count; i++) {
    const Range *range = &interrupts.ranges[i];
    if (at >= range->start && at < range->end) return range;
  }
  return NULL;
}

// Returns whether `tick` may run when a signal arrives at that place.
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

// Passes a signal to the handler that was set before.
NOT_WATCHED static void pass_on(const struct sigaction *to, int number, siginfo_t *info,
                                void *place) {
  if (to->sa_flags & SA_SIGINFO)
    to->sa_sigaction(number, info, place);
  else if (to->sa_handler != SIG_DFL && to->sa_handler != SIG_IGN)
    to->sa_handler(number);
}

NOT_WATCHED static void on_tick(int number, siginfo_t *info, void *place) {
  const void *timer = info->si_value.sival_ptr;
  if (info->si_code != SI_TIMER || (timer != &interrupts && timer != &own)) {
    pass_on(&interrupts.tick_before, number, info, place);
    return;
  }
  if (!is_place_for_ticks(place)) return;
  int error = errno;
  interrupts.tick(place, timer == &own);
  errno = error;
}

// Handles the profiler's signal. Passes signals of interrupt_raise to LuaJIT's handler,
// and other signals to the handler of the embedding program.
NOT_WATCHED static void on_profile(int number, siginfo_t *info, void *place) {
  pass_on(info->si_code == SI_TKILL ? &interrupts.profile : &interrupts.profile_before,
          number, info, place);
}

static void set_handler(int number, void (*handler)(int, siginfo_t *, void *),
                        struct sigaction *before) {
  struct sigaction action = {.sa_sigaction = handler,
                             .sa_flags = SA_RESTART | SA_SIGINFO};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, before);
}

static void start_ticks(void) {
  struct itimerspec every = {.it_interval = {.tv_nsec = TICK_NS},
                             .it_value = {.tv_nsec = TICK_NS}};
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, TICK_SIGNAL);
  sigaddset(&signals, SIGPROF);
  pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
  int failed = thread_timer(CLOCK_MONOTONIC, TICK_SIGNAL, &interrupts, &own.once);
  failed |= thread_timer(CLOCK_THREAD_CPUTIME_ID, TICK_SIGNAL, &interrupts, &own.ticks);
  failed |= thread_timer(CLOCK_MONOTONIC, TICK_SIGNAL, &own, &own.samples);
  failed |= timer_settime(own.ticks, 0, &every, NULL);
  assert(!failed);
}

static struct timespec time_of(uint64_t us) {
  return (struct timespec){.tv_sec = (time_t)(us / 1000000),
                           .tv_nsec = (long)(us % 1000000) * 1000};
}

void interrupt_tick_in(uint64_t us) {
  struct itimerspec once = {.it_value = time_of(us)};
  timer_settime(own.once, 0, &once, NULL);
}

void interrupt_sample_every(uint64_t first_us, uint64_t us) {
  struct itimerspec every = {.it_interval = time_of(us), .it_value = time_of(first_us)};
  timer_settime(own.samples, 0, &every, NULL);
}

// --- States ---

// Does nothing, because the profiler only has to make compiled code return to the
// interpreter.
static void on_sample(void *data, lua_State *L, int samples, int vm_state) {
  (void)data;
  (void)L;
  (void)samples;
  (void)vm_state;
}

// Starts LuaJIT's profiler. A process has only one.
static bool start_profiler(lua_State *L) {
  struct itimerval never = {{0, 0}, {0, 0}};
  if (interrupts.profiled != NULL || interrupts.range_count < 0) return false;
  sigaction(SIGPROF, NULL, &interrupts.profile_before);
  interrupts.profiled = L;
  luaJIT_profile_start(L, PROFILE_MODE, on_sample, NULL);
  setitimer(ITIMER_PROF, &never, NULL);
  set_handler(SIGPROF, on_profile, &interrupts.profile);
  return true;
}

bool interrupt_open(lua_State *L, InterruptTick *tick) {
  pthread_mutex_lock(&interrupts.lock);
  interrupts.tick = tick;
  if (interrupts.states++ == 0) {
    interrupts.range_count = 0;
    if (dl_iterate_phdr(add_ranges, NULL) != 0) interrupts.range_count = -1;
    set_handler(TICK_SIGNAL, on_tick, &interrupts.tick_before);
  }
  bool is_profiled = start_profiler(L);
  pthread_mutex_unlock(&interrupts.lock);
  if (own.states++ == 0) start_ticks();
  return is_profiled;
}

void interrupt_close(lua_State *L) {
  if (--own.states == 0) {
    timer_delete(own.ticks);
    timer_delete(own.once);
    timer_delete(own.samples);
  }
  pthread_mutex_lock(&interrupts.lock);
  if (interrupts.profiled == L) {
    luaJIT_profile_stop(L);
    interrupts.profiled = NULL;
    sigaction(SIGPROF, &interrupts.profile_before, NULL);
  }
  if (--interrupts.states == 0) sigaction(TICK_SIGNAL, &interrupts.tick_before, NULL);
  pthread_mutex_unlock(&interrupts.lock);
}

void interrupt_raise(lua_State *L, lua_Hook hook) {
  lua_sethook(L, hook, LUA_MASKCOUNT, 1);
  if (interrupts.profiled == L) raise(SIGPROF);
}

bool interrupt_signal(lua_State *L, lua_Hook hook, const void *place) {
  lua_sethook(L, NULL, 0, 0);  // makes LuaJIT notice the next call
  bool is_compiled = range_of(place) == NULL;
  if (is_compiled || ++own.unheard > UNHEARD_MAX) {
    interrupt_raise(L, hook);
    return true;
  }
  lua_sethook(L, hook, LUA_MASKCOUNT, 1);
  interrupt_tick_in(AGAIN_US);
  return false;
}

void interrupt_sample(lua_State *L, lua_Hook hook, const void *place,
                      bool in_compiled) {
  lua_sethook(L, NULL, 0, 0);
  if (in_compiled || range_of(place) == NULL)
    interrupt_raise(L, hook);
  else
    lua_sethook(L, hook, LUA_MASKCOUNT, 1);
}

void interrupt_seen(void) { own.unheard = 0; }

void interrupt_end(lua_State *L) {
  own.unheard = 0;
  lua_sethook(L, NULL, 0, 0);
}
