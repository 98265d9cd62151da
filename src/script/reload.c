// One event EVENT_RELOAD runs several steps, and no other handler runs between them.
// The relay holds the commands of the steps until the state machine commits them. After
// the last step, the relay discards the commands that were not committed.
#include "script/reload.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "os/child.h"
#include "script/core.h"

enum {
  CHECK_MS = 4000
};  // time limit of a check, below the time that a requester
    // waits for its answer

// --- Inputs ---

static const char *const NAMES[] = {
#define X(constant, name) [constant] = name,
    RELOAD_MAP(X)
#undef X
        NULL};

void reload_push(Host *host, ReloadInput input, uint32_t token) {
  seam_push(host, (Event){.type = EVENT_RELOAD, .a = token, .b = input});
}

static void on_again(void *data, uint64_t now_ms) {
  (void)now_ms;
  reload_push(data, RELOAD_AGAIN, 0);
}

static void on_expire(void *data, uint64_t now_ms) {
  (void)now_ms;
  reload_push(data, RELOAD_EXPIRE, 0);
}

static void on_parsed(void *data) { reload_push(data, RELOAD_AGAIN, 0); }

static ReloadInput check_input(lua_State *L) {
  return (ReloadInput)luaL_checkoption(L, 1, NULL, NAMES);
}

// reload(input): queues an input of the state machine
static int core_reload(lua_State *L) {
  reload_push(core_host(L), check_input(L), 0);
  return 0;
}

// reload_in(input, milliseconds): queues the input `again` or `expire` after a delay.
// Cancels the previous delay of the same input.
static int core_reload_in(lua_State *L) {
  Host *host = core_host(L);
  bool is_again = check_input(L) == RELOAD_AGAIN;
  timers_set(
      net_timers(host->net), is_again ? &host->reload.again : &host->reload.expire,
      net_now_ms(host->net) + core_id(L, 2), is_again ? on_again : on_expire, host);
  return 0;
}

static void on_checked(void *data, uint32_t token, int status, const char *text,
                       size_t size) {
  (void)token;
  if (status != 0 && status != 1) {
    log_warn("a reload could not check the game", log_num("status", status));
    size = 0;
  }
  const Host *host = data;
  seam_push(host, (Event){.type = EVENT_RELOAD,
                          .b = RELOAD_CHECKED,
                          .data = {text, (uint32_t)size}});
}

// check_game(): starts `perigee check`. When it ends, the input `checked` follows.
// Returns true, or false or nil if the check cannot run.
static int core_check_game(lua_State *L) {
  Host *host = core_host(L);
  if (!host->options.has_check) return 0;
  const char *arguments[] = {"check", host->options.game, "--for-reload", NULL};
  ChildStart start = {.arguments = arguments,
                      .timeout_ms = CHECK_MS,
                      .on_end = on_checked,
                      .data = host};
  int err = child_start(net_loop(host->net), &start);
  if (err != 0)
    log_warn("a reload could not check the game", log_str("error", err_text(err)));
  lua_pushboolean(L, err == 0);
  return 1;
}

void reload_init(Host *host) {
  parser_init(&host->parser, net_loop(host->net), on_parsed, host);
}

void reload_deinit(Host *host) {
  timers_stop(net_timers(host->net), &host->reload.again);
  timers_stop(net_timers(host->net), &host->reload.expire);
  parser_deinit(&host->parser);
}

// --- Steps ---

// Returns the step that follows a failed one.
static Event failed_step(const Host *host, const Event *step) {
  const char *fault = (const char *)host->fault.data;
  if (step->type == EVENT_RELOAD && step->b == RELOAD_FAILED) {
    log_error("a reload failed, and so did reporting it", log_str("error", fault));
    return (Event){0};
  }
  return (Event){.type = EVENT_RELOAD, .b = RELOAD_FAILED, .data = text_from(fault)};
}

void reload_handle(Host *host, const Event *event) {
  for (Event step = *event; step.type != 0;) {
    host_hold(host);
    HostOutcome outcome = host_call(host, &step);
    if (outcome == HOST_FAILED)
      step = failed_step(host, &step);
    else if (step.type == EVENT_RELOAD)  // the result is the next step's type, or 0
      step = (Event){.type = (uint8_t)lua_tointeger(host->results, 1)};
    else
      step = (Event){.type = EVENT_RELOAD, .b = RELOAD_ENDED};
    if (outcome == HOST_ENDED) host_done(host);
  }
  host_release(host);
}

// --- The end ---

// reloaded(is_good, report, tokens, is_rolled_back): logs the end of a reload and reports it to the
// owner, once for each requester, or once if nobody requested it
static int core_reloaded(lua_State *L) {
  Host *host = core_host(L);
  ScriptOutcome outcome = {.is_good = lua_toboolean(L, 1),
                           .report = luaL_checkstring(L, 2)};
  ReloadOutcome how = outcome.is_good ? RELOAD_TAKEN : RELOAD_REFUSED;
  host->reload.outcomes[lua_toboolean(L, 4) ? RELOAD_ROLLED_BACK : how]++;
  log_plain(outcome.is_good ? LOG_INFO : LOG_ERROR, outcome.report);
  int count = (int)lua_objlen(L, 3);
  for (int i = 1; i == 1 || i <= count; i++) {
    lua_rawgeti(L, 3, i);
    outcome.token = (uint32_t)lua_tonumber(L, -1);
    lua_pop(L, 1);
    host->events->reloaded(host->events_data, &outcome);
  }
  return 0;
}

// set_version(number, hash): sets the live version of the game
static int core_set_version(lua_State *L) {
  host_set_version(core_host(L), core_id(L, 1), luaL_checkstring(L, 2));
  return 0;
}

// forget(): discards all commands since the last commit
static int core_forget(lua_State *L) {
  host_forget(core_host(L));
  return 0;
}

const luaL_Reg core_reload_functions[] = {{"reload", core_reload},
                                          {"reload_in", core_reload_in},
                                          {"check_game", core_check_game},
                                          {"reloaded", core_reloaded},
                                          {"forget", core_forget},
                                          {"set_version", core_set_version},
                                          {NULL, NULL}};
