// perigee.core: time, timers, waiting, and the log.
#include <lauxlib.h>

#include "base/log.h"
#include "base/log_ring.h"
#include "relay/room.h"
#include "script/core.h"
#include "script/timer.h"

// Returns `seconds` in milliseconds. Adds a little, because the difference of two times
// may be slightly too small.
static uint64_t ms_of(lua_Number seconds) { return (uint64_t)(seconds * 1000 + 1e-3); }

// now(): returns seconds in whole steps of 2^-20. Doubles add and subtract such numbers
// without rounding, so two times that are 10,000 ms apart are exactly 10 apart.
static int core_now(lua_State *L) {
  uint64_t ms = net_now_ms(core_host(L)->net);
  uint64_t steps = (ms / 1000 << 20) + ((ms % 1000 << 20) + 500) / 1000;
  lua_pushnumber(L, (lua_Number)steps / (1 << 20));
  return 1;
}

// read_clock(): returns seconds of a clock that advances while a handler runs, to
// measure durations
static int core_read_clock(lua_State *L) {
  lua_pushnumber(L, (double)net_clock_us(core_host(L)->net) / 1e6);
  return 1;
}

// time(): returns seconds since 1970
static int core_time(lua_State *L) {
  uint64_t seconds = net_unix_us(core_host(L)->net) / 1000000;
  lua_pushnumber(L, (double)seconds);
  return 1;
}

// seed(): returns a random whole number below 2^53
static int core_seed(lua_State *L) {
  uint64_t seed;
  net_random(core_host(L)->net, &seed, sizeof seed);
  lua_pushnumber(L, (double)(seed >> 11));
  return 1;
}

// timer_set(delay, interval, peer, room, is_of_wait): starts a timer, with times in seconds. A
// timer with `interval` 0 fires once. Returns the id, and whether the timer ends with
// this version of the script. The time of its handlers is charged to the peer; if
// `peer` is 0, to the room; if `room` is 0, too, to the game. If `peer` is nil, the
// time is charged to the source of the running handler. `is_of_wait`: the timer ends a
// wait.
static int core_timer_set(lua_State *L) {
  Host *host = core_host(L);
  lua_Number delay = luaL_checknumber(L, 1), interval = luaL_checknumber(L, 2);
  bool is_given = !lua_isnoneornil(L, 3);
  uint32_t timer = script_timer_set(
      host, ms_of(delay), ms_of(interval), is_given ? core_id(L, 3) : host->event.peer,
      is_given ? core_id(L, 4) : host->event.room, lua_toboolean(L, 5));
  if (timer == 0) return luaL_error(L, "there are too many timers");
  lua_pushnumber(L, timer);
  lua_pushboolean(L, host->is_owned);
  return 2;
}

static int core_timer_cancel(lua_State *L) {
  lua_pushboolean(L, script_timer_cancel(core_host(L), core_id(L, 1)));
  return 1;
}

// adopt(room, is_owned): sets the room that the running handler works for, and whether
// its new timers end with this version of the script
static int core_adopt(lua_State *L) {
  Host *host = core_host(L);
  host->event.room = core_id(L, 1);
  host->is_owned = lua_toboolean(L, 2);
  return 0;
}

// may_wait(): returns whether the handler's own coroutine is running
static int core_may_wait(lua_State *L) {
  lua_pushboolean(L, core_host(L)->running == L);
  return 1;
}

// Pushes a userdata with the event of the running handler. Copies its data only if the
// relay needs them when the handler ends.
static void push_host_event(lua_State *L, const Host *host) {
  const Event *event = &host->event;
  bool has_data = event->type == EVENT_BROADCAST || event->type == EVENT_RENAME;
  Text data = has_data ? event->data : (Text){0};
  HostEvent *kept = lua_newuserdata(L, sizeof *kept + data.size);
  *kept = (HostEvent){*event, host->is_owned};
  kept->event.data = (Text){(const char *)(kept + 1), data.size};
  if (data.size > 0) memcpy(kept + 1, data.bytes, data.size);
}

// wait(): must precede the yield of a handler that waits. Returns the handler's event,
// its type, peer and room, and whether the handler's timers end with this version of
// the script. To wake the handler later, the Lua half returns its coroutine and this
// event (see host.c).
static int core_wait(lua_State *L) {
  Host *host = core_host(L);
  if (host->running != L) return luaL_error(L, "nothing here may wait");
  deadline_charge(host, L, 0);
  host->is_waiting = true;
  push_host_event(L, host);
  lua_pushinteger(L, host->event.type);
  lua_pushnumber(L, host->event.peer);
  lua_pushnumber(L, host->event.room);
  lua_pushboolean(L, host->is_owned);
  return 5;
}

// commit(): carries out the handler's commands so far. A later failure of the handler
// does not undo them.
static int core_commit(lua_State *L) {
  if (core_host(L)->is_dry)
    return luaL_error(L, "this takes effect at once, so it cannot be tried");
  host_commit(core_host(L));
  return 0;
}

// transaction(): returns a number that changes at each commit or rollback
static int core_transaction(lua_State *L) {
  lua_pushnumber(L, core_host(L)->transaction);
  return 1;
}

enum {
  LOG_TEXT_MAX = 16384,  // bytes of a text from the Lua half; longer texts are cut
  LOG_STEPS = 1000,      // steps charged for a written line
};

// log(level, text, version, hash): logs a text with the peer and the room of the
// running handler. Without `version`, logs the live version of the script.
static int core_log(lua_State *L) {
  Host *host = core_host(L);
  LogLevel level = (LogLevel)luaL_checkint(L, 1);
  size_t size;
  const char *text = luaL_checklstring(L, 2, &size);
  deadline_charge(host, L, LOG_STEPS);
  if (size > LOG_TEXT_MAX) {
    lua_pushlstring(L, text, LOG_TEXT_MAX);
    text =
        lua_pushfstring(L, "%s... (%d bytes in all)", lua_tostring(L, -1), (int)size);
  }
  const Room *room = relay_room(host->relay, host->event.room);
  LogField fields[3] = {{0}};
  int count = 0;
  if (room != NULL) fields[count++] = log_bytes("room", room->name, room->name_size);
  if (host->event.peer != 0) fields[count++] = log_num("peer", host->event.peer);
  if (!log_is_on(level)) return 0;
  bool has_version = !lua_isnoneornil(L, 3);
  if (has_version)
    log_set_version((uint32_t)luaL_checknumber(L, 3), luaL_optstring(L, 4, ""));
  log_write(level, text, fields);
  if (has_version) log_set_version(host->version, host->hash);
  return 0;
}

static void push_line(lua_State *L, const LogLine *line) {
  static const char *const LEVELS[] = {"debug", "info", "warn", "error"};
  lua_createtable(L, 0, 4);
  core_set_number(L, "time", (lua_Number)line->unix_s);
  core_set_text(L, "level", LEVELS[line->level]);
  lua_pushlstring(L, line->text, line->size);
  lua_setfield(L, -2, "text");
  if (line->version == 0) return;
  lua_pushfstring(L, "%d%s%s", (int)line->version, line->hash[0] != '\0' ? "." : "",
                  line->hash);
  lua_setfield(L, -2, "version");
}

// log_lines(least, count): returns at most `count` lines of the server's log with the
// level `least` or worse. These are the newest lines, in the order of time. Each line
// has time, level, text, version.
static int core_log_lines(lua_State *L) {
  LogLevel least = (LogLevel)luaL_checkint(L, 1);
  uint32_t wanted = core_id(L, 2), found = 0;
  LogLine line;
  char text[LOG_RING_BYTES + 1];
  uint64_t end = log_kept(), from = end;
  while (from > 0 && found < wanted && log_read_kept(from - 1, &line, text)) {
    from--;
    found += line.level >= least;
  }
  lua_createtable(L, (int)found, 0);
  for (int at = 1; from < end; from++) {
    if (!log_read_kept(from, &line, text) || line.level < least) continue;
    push_line(L, &line);
    lua_rawseti(L, -2, at++);
  }
  return 1;
}

// push_error(report): queues the event `error` with the number of a report
static int core_push_error(lua_State *L) {
  seam_push(core_host(L), (Event){.type = EVENT_ERROR, .a = core_id(L, 1)});
  return 0;
}

// report_failure(text): reports to the owner that a handler has failed
static int core_report_failure(lua_State *L) {
  const Host *host = core_host(L);
  if (host->events->failed != NULL)
    host->events->failed(host->events_data, luaL_checkstring(L, 1));
  return 0;
}

const luaL_Reg core_time_functions[] = {{"now", core_now},
                                        {"read_clock", core_read_clock},
                                        {"time", core_time},
                                        {"seed", core_seed},
                                        {"timer_set", core_timer_set},
                                        {"timer_cancel", core_timer_cancel},
                                        {"adopt", core_adopt},
                                        {"may_wait", core_may_wait},
                                        {"wait", core_wait},
                                        {"commit", core_commit},
                                        {"transaction", core_transaction},
                                        {"log", core_log},
                                        {"log_lines", core_log_lines},
                                        {"push_error", core_push_error},
                                        {"report_failure", core_report_failure},
                                        {NULL, NULL}};
