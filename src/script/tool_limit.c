// A timer of the thread's processor time sets a debug hook, which Lua lets signal handlers
// do. The interrupt of script/guard would end compiled code, too, but LuaJIT's one profiler,
// which that needs, belongs to the simulated servers: so the caller of a limited function
// has its loops interpreted (jit.off). Code that does not look for hooks, such as C code, is
// ended with the process.
#include "script/tool_modules.h"

#include <lauxlib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os/thread.h"

// The system's own signal for processor time that is used up; under ThreadSanitizer one that it does
// not keep until the program next calls it (see guard/interrupt.c).
#if defined(__SANITIZE_THREAD__)
enum { LIMIT_SIGNAL = SIGSYS };
#define NOT_WATCHED __attribute__((no_sanitize("thread")))
#else
enum { LIMIT_SIGNAL = SIGXCPU };
#define NOT_WATCHED
#endif

// After the limit there is a signal each AGAIN_NS: one that comes while LuaJIT exchanges its
// table of instructions changes nothing. The last one ends the process.
enum { AGAIN_NS = 10000000, AGAIN_MAX = 500 };

// Of the process, as signals are.
static struct {
  lua_State *L;  // the main one
  int on_over;   // a reference
  timer_t timer;
  volatile sig_atomic_t left;  // signals until the end of the process
  char farewell[512];
} limit;

static int limit_call(lua_State *L);

static void set_timer(double seconds) {
  struct itimerspec time = {.it_interval = {.tv_nsec = AGAIN_NS}};
  time.it_value.tv_sec = (time_t)seconds;
  time.it_value.tv_nsec = (long)((seconds - (double)time.it_value.tv_sec) * 1e9);
  limit.left = AGAIN_MAX;
  timer_settime(limit.timer, 0, &time, NULL);
}

static void disarm(void) {
  struct itimerspec never = {0};
  timer_settime(limit.timer, 0, &never, NULL);
  lua_sethook(limit.L, NULL, 0, 0);
}

// Whether the main coroutine is in a call of ours: errors leave it, too.
static bool is_in_call(lua_State *L) {
  lua_Debug frame;
  for (int level = 0; lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "f", &frame);
    bool is_ours = lua_tocfunction(L, -1) == limit_call;
    lua_pop(L, 1);
    if (is_ours) return true;
  }
  return false;
}

// Stays set, so that nothing which catches errors goes on.
static void on_hook(lua_State *L, lua_Debug *info) {
  (void)info;
  if (L == limit.L && !is_in_call(L)) {
    disarm();
    return;
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, limit.on_over);
  lua_call(L, 0, 0);
}

NOT_WATCHED static void on_signal(int number) {
  (void)number;
  if (limit.left-- == 0) {
    ssize_t written = write(STDERR_FILENO, limit.farewell, strlen(limit.farewell));
    (void)written;
    _exit(1);
  }
  lua_sethook(limit.L, NULL, 0, 0);  // so that LuaJIT takes the next for a change
  lua_sethook(limit.L, on_hook, LUA_MASKCOUNT, 1);
}

static void make_timer(lua_State *L) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  if (sigaction(LIMIT_SIGNAL, &action, NULL) != 0 ||
      thread_timer(CLOCK_THREAD_CPUTIME_ID, LIMIT_SIGNAL, NULL, &limit.timer) != 0)
    luaL_error(L, "the system gives no timer");
  limit.L = L;
}

// call(seconds, fn, on_over, farewell): calls `fn`. Where it takes more than so many seconds,
// `on_over` is called in its place, again and again until `fn` is left; it raises an error.
// Where that does not end `fn` within five seconds, `farewell` goes to standard error and
// the process ends with 1. It may be called neither in a coroutine nor in `fn`.
static int limit_call(lua_State *L) {
  double seconds = luaL_checknumber(L, 1);
  luaL_checkany(L, 2);
  luaL_checktype(L, 3, LUA_TFUNCTION);
  snprintf(limit.farewell, sizeof limit.farewell, "%s\n", luaL_checkstring(L, 4));
  luaL_unref(L, LUA_REGISTRYINDEX, limit.on_over);
  lua_pushvalue(L, 3);
  limit.on_over = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_settop(L, 2);
  set_timer(seconds);
  lua_call(L, 0, 0);
  disarm();
  return 0;
}

// stop(): to be called when `call` has raised an error
static int limit_stop(lua_State *L) {
  (void)L;
  disarm();
  return 0;
}

int tool_limit_open(lua_State *L) {
  static const luaL_Reg FUNCTIONS[] = {
      {"call", limit_call}, {"stop", limit_stop}, {NULL, NULL}};
  limit.on_over = LUA_NOREF;
  make_timer(L);
  lua_newtable(L);
  luaL_register(L, NULL, FUNCTIONS);
  return 1;
}
