// A timer of the thread's processor time sets a debug hook, which Lua allows in signal
// handlers. The interrupt of script/guard would also end compiled code, but needs
// LuaJIT's only profiler, which the simulated servers use. Therefore the caller
// switches the JIT off for limited functions. Code that does not check hooks, such as C
// code, ends with the process.
#include "script/tool_modules.h"

#include <lauxlib.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os/thread.h"

// The system's signal for exceeded processor time. ThreadSanitizer would delay this
// signal, so its builds use another one (see guard/interrupt.c).
#if defined(__SANITIZE_THREAD__)
enum { LIMIT_SIGNAL = SIGSYS };
#define NOT_WATCHED __attribute__((no_sanitize("thread")))
#else
enum { LIMIT_SIGNAL = SIGXCPU };
#define NOT_WATCHED
#endif

// After the limit, the timer sends a signal every AGAIN_NS, because a signal has no
// effect while LuaJIT exchanges its table of instructions. After AGAIN_MAX signals, the
// next one ends the process.
enum { AGAIN_NS = 10000000, AGAIN_MAX = 500 };

// State of the whole process, because signals belong to the process.
static struct {
  lua_State *L;  // main coroutine
  int on_over;   // reference to the function on_over
  timer_t timer;
  volatile sig_atomic_t left;  // signals left until the process ends
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

// Returns whether the main coroutine is still in limit_call. It may have left
// limit_call by an error.
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

// Calls on_over, which raises the error. Leaves the hook set, so that code which
// catches the error is interrupted again.
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
  lua_sethook(limit.L, NULL, 0, 0);  // makes LuaJIT notice the next call
  lua_sethook(limit.L, on_hook, LUA_MASKCOUNT, 1);
}

// call(seconds, fn, on_over, farewell): calls `fn`. After `seconds`, calls `on_over`,
// which raises an error, again and again until `fn` has ended. If `fn` still runs five
// seconds later, writes `farewell` to standard error and ends the process with 1. Must
// not be called from a coroutine or from `fn`.
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

// stop(): must be called after `call` has raised an error
static int limit_stop(lua_State *L) {
  (void)L;
  disarm();
  return 0;
}

int tool_limit_open(lua_State *L) {
  static const luaL_Reg FUNCTIONS[] = {
      {"call", limit_call}, {"stop", limit_stop}, {NULL, NULL}};
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  if (sigaction(LIMIT_SIGNAL, &action, NULL) != 0 ||
      thread_timer(CLOCK_THREAD_CPUTIME_ID, LIMIT_SIGNAL, NULL, &limit.timer) != 0)
    luaL_error(L, "the system gives no timer");
  limit.L = L;
  limit.on_over = LUA_NOREF;
  lua_newtable(L);
  luaL_register(L, NULL, FUNCTIONS);
  return 1;
}
